// Bundles the extension, or with --tests its unit tests, into plain CommonJS files that Node runs.
import { build } from "esbuild";
import { readdirSync } from "node:fs";

const tests = process.argv.includes("--tests");
await build({
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
  legalComments: "linked",
  logLevel: "warning",
});
