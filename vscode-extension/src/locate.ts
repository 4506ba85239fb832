// Which program to start. Pure but for the question whether a file is there, which the caller answers.

import * as path from "node:path";

export interface Surroundings {
  /** The setting `warpwright.server.path`; the editor has already dropped a workspace's value where it is not trusted. */
  readonly configured: string;
  readonly extensionFolder: string;
  /** The environment variable PATH. */
  readonly searchPath: string;
  readonly windows: boolean;
  readonly home: string;
  readonly isProgram: (file: string) => boolean;
}

export type Located =
  | { readonly kind: "found"; readonly program: string; readonly origin: "setting" | "bundled" | "PATH" }
  | { readonly kind: "missing"; readonly message: string };

export function locateServer(s: Surroundings): Located {
  const configured = s.configured.trim();
  if (configured !== "") {
    const program = configured.startsWith("~/") ? path.join(s.home, configured.slice(2)) : configured;
    if (!path.isAbsolute(program)) {
      return { kind: "missing", message: `The setting warpwright.server.path is "${configured}", which is not an absolute path. Write the whole path, or leave it empty for the server that came with the extension.` };
    }
    if (!s.isProgram(program)) {
      return { kind: "missing", message: `The setting warpwright.server.path names ${program}, which is not a program. Correct it, or leave it empty for the server that came with the extension.` };
    }
    return { kind: "found", program, origin: "setting" };
  }
  const name = s.windows ? "warpwright.exe" : "warpwright";
  const bundled = path.join(s.extensionFolder, "server", name);
  if (s.isProgram(bundled)) return { kind: "found", program: bundled, origin: "bundled" };
  for (const folder of s.searchPath.split(path.delimiter)) {
    // A relative entry would start whatever the opened folder holds.
    if (!path.isAbsolute(folder)) continue;
    const program = path.join(folder, name);
    if (s.isProgram(program)) return { kind: "found", program, origin: "PATH" };
  }
  return { kind: "missing", message: "This build of the extension carries no server for this system, and no warpwright program is on PATH. Build one with `cargo build --release` and name it in the setting warpwright.server.path." };
}
