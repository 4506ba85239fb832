// Which files an edit brings that are to be seen beside the program: kernels, by the names that targets give their files.

const KERNEL = /\.(cu|hip)$/;

/** Those of these files that are kernels, each once. */
export function kernels(uris: readonly string[]): string[] {
  return [...new Set(uris)].filter((uri) => KERNEL.test(uri));
}

/** The kernels that a command of the server says it has created: `{ applied, created }`. */
export function createdKernels(answer: unknown): string[] {
  if (typeof answer !== "object" || answer === null || !("created" in answer) || !Array.isArray(answer.created)) return [];
  return kernels(answer.created.filter((uri): uri is string => typeof uri === "string"));
}
