// Packages the extension with a server inside.
//
// Usage: node package.mjs --server PROGRAM --out FILE.vsix [--target linux-x64]
//
// Works on a copy, so that two packagings at once (a release and a test) do not meet, and no program is left in this folder.

import { createVSIX } from "@vscode/vsce";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({ options: { server: { type: "string" }, out: { type: "string" }, target: { type: "string", default: "linux-x64" } } });
if (options.server === undefined || options.out === undefined) throw new Error("usage: node package.mjs --server PROGRAM --out FILE.vsix");
const packagePath = resolve(options.out);
const program = resolve(options.server);
mkdirSync(dirname(packagePath), { recursive: true });

process.chdir(dirname(fileURLToPath(import.meta.url)));
await import("./esbuild.mjs");
const stage = mkdtempSync(join(tmpdir(), "warpwright-vsix-"));
try {
  for (const part of [".vscodeignore", "README.md", "LICENSE", "LICENSE-MIT", "LICENSE-APACHE", "dist", "media", "walkthrough"]) cpSync(part, join(stage, part), { recursive: true });
  // The bundle is made: nothing is left for the packager to run.
  const { scripts: _scripts, devDependencies: _dev, ...manifest } = JSON.parse(readFileSync("package.json", "utf8"));
  writeFileSync(join(stage, "package.json"), JSON.stringify(manifest, null, 2));
  mkdirSync(join(stage, "server"));
  const copy = join(stage, "server", options.target.startsWith("win32") ? "warpwright.exe" : "warpwright");
  // Symbols make up most of a debug build; what cannot be stripped (another system's program) is taken as it is.
  if (spawnSync("strip", ["-o", copy, program], { stdio: "ignore" }).status !== 0 || !existsSync(copy)) copyFileSync(program, copy);
  chmodSync(copy, 0o755);
  await createVSIX({ cwd: stage, packagePath, target: options.target, dependencies: false, allowMissingRepository: true });
  console.log(`packaged ${basename(packagePath)}`);
} finally {
  rmSync(stage, { recursive: true, force: true });
}
