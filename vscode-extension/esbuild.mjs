// Bundles the extension, or with --tests its unit tests, into plain CommonJS files that Node runs.
import { build } from "esbuild";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const tests = process.argv.includes("--tests");
const { metafile } = await build({
  entryPoints: tests ? readdirSync("test").filter((f) => f.endsWith(".test.ts")).map((f) => `test/${f}`) : ["src/extension.ts"],
  outdir: tests ? "out/test" : "dist",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  // Tests cover the files that never import the editor; importing it by accident fails there, as it should.
  external: ["vscode"],
  minify: !tests,
  sourcemap: tests ? "inline" : false,
  metafile: true,
  logLevel: "warning",
});
if (!tests) writeFileSync("dist/THIRD-PARTY-NOTICES.txt", notices(metafile));

// The licenses of the packages inside the bundle ask that their texts travel with it.
function notices(meta) {
  const folders = new Set(Object.keys(meta.inputs).flatMap((f) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(f)?.[1] ?? []));
  return [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
    const text = file !== undefined && existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8") : "";
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  }).join(`\n${"-".repeat(80)}\n\n`);
}
