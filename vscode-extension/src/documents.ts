// Which documents the server is told about. The server tells languages apart by extension and content as well;
// this list only has to be wide enough.

export const LANGUAGES: readonly string[] = ["c", "cpp", "cuda-cpp", "cuda", "csharp"];

/** Languages, by the editor's name, that people may take for read: the status item says that they are not. */
export const NOT_READ: Readonly<Record<string, string>> = {};

const SCHEMES = ["file", "untitled"] as const;

export interface DocumentFilter {
  readonly scheme: string;
  readonly language?: string;
  readonly pattern?: string;
}

/** One filter for each language and scheme, one for CUDA files in editors that know no CUDA language, one for rule pages. */
export function documentFilters(): DocumentFilter[] {
  const byLanguage = LANGUAGES.flatMap((language) => SCHEMES.map((scheme) => ({ scheme, language })));
  return [...byLanguage, { scheme: "file", pattern: "**/*.{cu,cuh}" }, { scheme: "file", pattern: "**/.warpwright/rules/*.md" }];
}
