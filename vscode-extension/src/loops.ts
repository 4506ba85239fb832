// What of the workspace's loops and kernels is shown, and how it is ordered: data in, rows out. The server says what each one is.

export interface Position {
  readonly line: number;
  readonly character: number;
}

export type Worth = "worth" | "open" | "inside" | "small";

/** A loop of the host, or a kernel, as `warpwright/loops` lists it. */
export interface Loop {
  readonly key: string;
  readonly kind: "loop" | "kernel";
  readonly range: { readonly start: Position; readonly end: Position };
  readonly function: string;
  readonly header: string;
  readonly verdict: string;
  readonly words: string;
  readonly worth: Worth;
  readonly reason: string;
  readonly offload: boolean;
  readonly mark: boolean;
  readonly marked: boolean;
}

export interface ListedFile {
  readonly uri: string;
  readonly language: string | null;
  /** Names the text that was listed. */
  readonly text: string;
  readonly loops: readonly Loop[];
}

export const VERDICTS = ["independent", "reduction", "sequential", "unknown", "race-free", "race"] as const;
/** From all there is to what pays: each shows less than the one before. */
export const WIDTHS = ["all", "usual", "worth"] as const;
export type Width = (typeof WIDTHS)[number];

export interface Filter {
  readonly width: Width;
  /** Verdicts that are not shown. */
  readonly hidden: readonly string[];
}

export const USUAL: Filter = { width: "usual", hidden: [] };

export type Grouping = "line" | "verdict";

export function isShown(loop: Loop, filter: Filter): boolean {
  if (filter.hidden.includes(loop.verdict)) return false;
  switch (filter.width) {
    case "all":
      return true;
    case "usual":
      return loop.marked || loop.worth === "worth" || loop.worth === "open";
    case "worth":
      return loop.worth === "worth";
  }
}

/** The loops of a file by verdict, in the order of [`VERDICTS`]. */
export function byVerdict(loops: readonly Loop[]): [string, Loop[]][] {
  const groups = VERDICTS.map((verdict): [string, Loop[]] => [verdict, loops.filter((l) => l.verdict === verdict)]);
  return groups.filter(([, of]) => of.length > 0);
}

/** `2 of 5 worth it`, of a file. */
export function summary(all: readonly Loop[], shown: readonly Loop[]): string {
  const worth = all.filter((l) => l.kind === "loop" && l.worth === "worth").length;
  const count = shown.length === all.length ? `${all.length}` : `${shown.length} of ${all.length}`;
  return worth > 0 ? `${count}, ${worth} worth an offload` : count;
}

/** What commands on several loops are told: the loops of each file together. */
export function byFile(chosen: readonly { readonly file: ListedFile; readonly loop: Loop }[]): { uri: string; text: string; keys: string[] }[] {
  const files = new Map<string, { uri: string; text: string; keys: string[] }>();
  for (const { file, loop } of chosen) {
    const of = files.get(file.uri) ?? { uri: file.uri, text: file.text, keys: [] };
    if (!of.keys.includes(loop.key)) of.keys.push(loop.key);
    files.set(file.uri, of);
  }
  return [...files.values()];
}
