// The whole way in a real VS Code: code-server in Chromium, the packaged extension, the real server.
// Opens a C file, reads the squiggle and the hover, applies "Offload to GPU", finds the new .cu file, kills the server
// and sees it come back; then once more in a folder that is not trusted. Waits for conditions, never for a time.
//
// Usage: node vscode.mjs --code-server DIR --node DIR --vsix FILE --project DIR --out DIR [--screenshot FILE] [--only STORY]

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  OPTIONS, PATIENCE, choose, closeBeside, goTo, install, lineOf, nonEmpty, open, outputOf, palette, panel, press, quickOpen, read, rows, serverProcesses, session,
  textOf, until,
} from "./workbench.mjs";

const { values: options } = parseArgs({ options: OPTIONS });
const out = options.out;
mkdirSync(out, { recursive: true });
const home = mkdtempSync(join(tmpdir(), "warpwright-vscode-"));
let failed = true;
try {
  install(options, home);
  step("the packaged extension is installed");
  const stories = { trusted: offloadStory, workspace: workspaceStory, long: longStory, rules: rulesStory, restricted: restrictedStory };
  for (const [name, story] of Object.entries(stories)) {
    if (options.only === undefined || options.only === name) await session(options, home, name, { trusted: name !== "restricted" }, story);
  }
  failed = false;
} finally {
  if (failed) console.error(`logs and screenshots of the failure: ${out}`);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}

async function offloadStory({ page, folder }) {
  await open(page, "loops.c");
  await page.locator(".squiggly-info").first().waitFor();
  step("a loop that is not independent is underlined");
  await page.locator(".squiggly-hint").first().waitFor();
  step("a loop that can run on the GPU carries a hint");
  await page.locator(".statusbar-item", { hasText: "Warpwright" }).first().waitFor();
  step("the status item is there");

  const line = lineOf(folder, "loops.c", "for (int i = 0; i < n; i++)");
  await goTo(page, line, 5);
  // The hover shows the finding's message at once and the server's own words, with the verdict in bold, a moment later.
  const verdict = page.locator("strong", { hasText: /independent/i });
  const hover = page.locator(".monaco-hover:visible", { has: verdict }).first();
  await press(page, ["Control+k", "Control+i"], hover);
  step(`the hover says: ${await hover.locator("strong").first().innerText()}`);
  await page.screenshot({ path: join(out, "hover.png") });
  await page.keyboard.press("Escape");
  await hover.waitFor({ state: "hidden" });

  const mark = page.locator(".view-line", { hasText: "warpwright: offload" }).first();
  await goTo(page, line, 5);
  await choose(page, "Warpwright: Mark the Loop at the Cursor");
  await mark.waitFor();
  await goTo(page, line + 1, 5);
  await choose(page, "Warpwright: Remove the Mark");
  await mark.waitFor({ state: "hidden" });
  step("the loop was marked and the mark removed");
  await goTo(page, line, 5);
  await resultsStory({ page, folder });
  await goTo(page, line, 5);

  const action = page.locator(".action-widget .monaco-list-row", { hasText: /Offload to (the )?GPU/i }).first();
  await press(page, ["Control+."], action);
  await page.screenshot({ path: join(out, "actions.png") });
  await action.click();
  const kernel = page.locator(".explorer-folders-view .monaco-list-row", { hasText: /\.cu$/ }).first();
  await kernel.waitFor();
  const name = (await kernel.innerText()).trim();
  step(`the action made ${name}`);
  // who opens it before that has it where it was opened
  const beside = page.locator(".editor-group-container").nth(1);
  await beside.locator(".tab", { hasText: name }).first().waitFor();
  step("the kernel was opened beside the C file");
  await open(page, name);
  await page.locator(".view-line", { hasText: "__global__" }).first().waitFor();
  step("the new file holds a kernel");
  await page.screenshot({ path: join(out, "kernel.png") });
  await page.keyboard.press("Control+k");
  await page.keyboard.press("s");
  const original = readFileSync(join(options.project, "loops.c"), "utf8");
  await until("both files are saved", () => read(folder, name).includes("__global__") && read(folder, "loops.c") !== original);
  step("both files are on the disk, and the C file changed");
  await page.keyboard.press("Control+2");
  await palette(page, "View: Close All Editors in Group");
  await page.keyboard.press("Enter");
  await beside.waitFor({ state: "hidden" });

  await simulationStory(page, folder);
  if (options.screenshot !== undefined) await picture(page, folder, name);

  const [before] = await until("the server's process", () => nonEmpty(serverProcesses(home)));
  process.kill(before, "SIGKILL");
  await until("another server's process", () => nonEmpty(serverProcesses(home).filter((pid) => pid !== before)));
  await open(page, "loops.c");
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("\nvoid again(int n, float *a) {\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1] * 2;\n}\n");
  // The last two functions of the file are in view; only a living server underlines the one just typed.
  await until("a squiggle under what was typed after the crash", async () => (await page.locator(".squiggly-info").count()) >= 2);
  step("a killed server is started again and reads what is typed");
  await page.screenshot({ path: join(out, "after-crash.png") });
}

/** Results in panels beside the program: tables, bars, the graph, links into the source, in dark and light; and no toast. */
async function resultsStory({ page, folder }) {
  const line = lineOf(folder, "loops.c", "for (int i = 0; i < n; i++)");
  await goTo(page, line, 5);
  await choose(page, "Warpwright: Verify the Loop");
  const verified = await panel(page, /Same results/);
  step(`verifying says: ${(await verified.locator("p").first().innerText()).trim()}`);
  if ((await verified.locator("table").count()) < 3 || (await verified.locator(".bar").count()) < 3) throw new Error("the result has no tables with bars");
  if ((await verified.locator("script").count()) > 1) throw new Error("the result has scripts");
  await page.screenshot({ path: join(out, "verify.png") });
  await verified.locator("a", { hasText: `line ${line}` }).first().click();
  await page.locator(".statusbar-item", { hasText: `Ln ${line}, Col 1` }).first().waitFor();
  step("a link of the result goes to its line");
  await choose(page, "Preferences: Toggle between Light/Dark Themes");
  await verified.locator("body.vscode-light").waitFor();
  await page.screenshot({ path: join(out, "verify-light.png") });
  const sequential = lineOf(folder, "loops.c", "for (int i = 1;");
  await goTo(page, sequential, 5);
  await choose(page, "Warpwright: Show the Dependences");
  const graph = await panel(page, /Dependences of loop/);
  await graph.locator("svg path").first().waitFor();
  await page.screenshot({ path: join(out, "dependences-light.png") });
  await choose(page, "Preferences: Toggle between Light/Dark Themes");
  await graph.locator("body.vscode-dark").waitFor();
  await page.screenshot({ path: join(out, "dependences.png") });
  step("the dependences are drawn");
  await goTo(page, sequential, 5);
  await choose(page, "Warpwright: Explain the Verdict");
  await panel(page, /Why is loop i sequential/);
  await page.screenshot({ path: join(out, "explain.png") });
  step("the verdict is explained");
  if ((await page.locator(".notification-toast").count()) > 0) throw new Error("a result came as a toast");
  await closeBeside(page);
  step("results close without asking");
}

/** Work that takes long is called off in its own panel; how a rewrite came about is one, too. */
async function longStory({ page, folder }) {
  writeFileSync(
    join(folder, "settle.c"),
    `#include <string.h>

double table[900000];

void settle(int n, double *restrict a, const double *restrict b)
{
    for (int r = 0; r < 2000; r++)
        memset(table, r, sizeof table);
    for (int i = 0; i < n; i++)
        a[i] = 0.5 * b[i];
}
`,
  );
  writeFileSync(join(folder, "norm.c"), "#include <math.h>\n\ndouble norm(double x, double y) {\n    return sqrt(pow(x, 2) + pow(y, 2));\n}\n");
  await open(page, "settle.c");
  await page.locator(".squiggly-hint").first().waitFor();
  await goTo(page, 9, 5);
  await choose(page, "Warpwright: Verify the Loop");
  await panel(page, /Verifying the kernel/);
  await page.screenshot({ path: join(out, "working.png") });
  // the editor may still be putting the page in its place: a click that it swallows is made again
  await until("the work is called off", async () => {
    for (const frame of page.frames().filter((f) => f !== page.mainFrame())) {
      if (/Called off; nothing was found out/.test(await textOf(frame))) return true;
      await frame.locator("a", { hasText: "Cancel" }).first().click({ timeout: 1000 }).catch(() => undefined);
    }
    return false;
  });
  await page.screenshot({ path: join(out, "called-off.png") });
  if ((await page.locator(".notification-toast").count()) > 0) throw new Error("calling it off brought a message");
  step("long work is called off in its panel");
  await closeBeside(page);
  await open(page, "norm.c");
  await goTo(page, 4, 18);
  await choose(page, "Warpwright: Apply Rewrite Rules", "Apply Rewrite Rules");
  const row = (words) => page.locator(".quick-input-widget .monaco-list-row", { hasText: words }).first();
  await page.keyboard.type("powers");
  await row(/power/i).click();
  await row("the whole file").click();
  const explain = page.locator(".notification-toast .monaco-button", { hasText: "Explain This Rewrite" }).first();
  await explain.click();
  const derivation = await panel(page, /rule and place/);
  await derivation.locator("table").first().waitFor();
  await page.screenshot({ path: join(out, "derivation.png") });
  await choose(page, "Preferences: Toggle between Light/Dark Themes");
  await derivation.locator("body.vscode-light").waitFor();
  await page.screenshot({ path: join(out, "derivation-light.png") });
  step("how a rewrite came about is a panel");
}

/** Counts of a kernel in a panel and behind its lines. */
async function simulationStory(page, folder) {
  const kernel = "columns.cu";
  writeFileSync(
    join(folder, kernel),
    "// warpwright: launch(2, 64, n = 128)\n__global__ void columns(const float *a, float *b, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i % 3 == 0)\n        b[i] = a[i * 32 % n];\n}\n",
  );
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: kernel }).first().waitFor();
  await open(page, kernel);
  await goTo(page, lineOf(folder, kernel, "__global__"), 5);
  await choose(page, "Warpwright: Simulate the Kernel");
  const counts = await panel(page, /in the simulator/);
  await counts.locator("table .bar").first().waitFor();
  await page.locator(".view-line", { hasText: /\d+.sectors/ }).first().waitFor();
  await page.screenshot({ path: join(out, "simulate.png") });
  step("the kernel's counts are in a panel and behind its lines");
  await closeBeside(page);
}

/** The tree of the folder's loops and kernels: listed, filtered, grouped, a click, and two loops of two files offloaded with one preview. */
async function workspaceStory({ page, folder }) {
  mkdirSync(join(folder, "solver"));
  writeFileSync(
    join(folder, "solver", "heat.c"),
    `void step(int n, double *restrict out, const double *restrict in)
{
    for (int i = 1; i < n - 1; i++)
        out[i] = in[i] + 0.25 * (in[i - 1] - 2.0 * in[i] + in[i + 1]);
}

void sweep(int n, double *a)
{
    for (int i = 1; i < n; i++)
        a[i] = 0.5 * (a[i] + a[i - 1]);
}

void corners(double *a)
{
    for (int i = 0; i < 4; i++)
        a[i] = 0.0;
}
`,
  );
  writeFileSync(
    join(folder, "solver", "scale.cu"),
    `__global__ void scale(float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] *= 2.0f;
}

void run(float *a, int n)
{
    scale<<<(n + 255) / 256, 256>>>(a, n);
}
`,
  );
  await open(page, "loops.c");
  await page.locator(".squiggly-info").first().waitFor();
  await choose(page, "Warpwright: Show the Loops and Kernels");
  const view = page.locator(".part.sidebar");
  const row = (words) => view.locator(".monaco-list-row", { hasText: words }).first();
  await row(/saxpy: \d+.*parallel/).waitFor();
  await row(/step: 3.*parallel/).waitFor();
  await row(/scale.*no races/).waitFor();
  if ((await row(/corners/).count()) > 0) throw new Error("a loop of four rounds is listed");
  await page.screenshot({ path: join(out, "tree.png") });
  step("the folder's loops and kernels are listed by file");

  await row(/sweep: 9/).click();
  await page.locator(".tab.active", { hasText: "heat.c" }).first().waitFor();
  await page.locator(".statusbar-item", { hasText: "Ln 9, Col 5" }).first().waitFor();
  step("a click goes to the loop");

  const title = async (label) => {
    await view.locator(`.action-label[aria-label^="${label}"]`).first().click();
  };
  await title("Group by Verdict");
  await row(/^Sequential/).waitFor();
  await title("Choose What Is Shown");
  const pick = page.locator(".quick-input-widget .monaco-list-row", { hasText: "not worth an offload" }).first();
  await pick.waitFor();
  await page.screenshot({ path: join(out, "tree-filter.png") });
  await pick.click();
  await page.keyboard.press("Enter");
  await row(/sweep: 9/).waitFor({ state: "hidden" });
  await row(/step: 3/).waitFor();
  step("what is shown is chosen, and grouped by verdict");
  await choose(page, "Preferences: Toggle between Light/Dark Themes");
  await page.locator(".monaco-workbench.vs").first().waitFor();
  await page.screenshot({ path: join(out, "tree-light.png") });
  await choose(page, "Preferences: Toggle between Light/Dark Themes");
  await page.locator(".monaco-workbench.vs-dark").first().waitFor();

  const before = [read(folder, "loops.c"), read(folder, join("solver", "heat.c"))];
  await row(/saxpy: \d+/).click();
  await row(/step: 3/).click({ modifiers: ["Control"] });
  const offer = page.locator(".context-view .action-label", { hasText: "Offload to the GPU" }).first();
  await until("the menu of the tree", async () => {
    await row(/step: 3/).click({ button: "right" });
    return offer.waitFor({ timeout: PATIENCE / 20 }).then(() => true, () => false);
  });
  // A menu takes no click in the moment in which it opens.
  await until("the menu's answer", async () => {
    await offer.click({ timeout: PATIENCE / 20 }).catch(() => undefined);
    return offer.waitFor({ state: "hidden", timeout: PATIENCE / 60 }).then(() => true, () => false);
  });
  const apply = page.locator(".bulk-edit-panel .monaco-button", { hasText: "Apply" }).first();
  await apply.waitFor();
  const changes = page.locator(".bulk-edit-panel .monaco-list-row");
  await page.screenshot({ path: join(out, "tree-preview.png") });
  // VS Code shows what needs a look without a tick: each file gets one, and is closed.
  await changes.first().click();
  for (let files = 0; files < 4; files += 1) for (const key of ["Space", "ArrowLeft", "ArrowDown"]) await page.keyboard.press(key);
  await until("the files without their changes", async () => (await changes.count()) === 4);
  const shown = (await changes.allInnerTexts()).join("\n");
  await page.screenshot({ path: join(out, "tree-preview-ticked.png") });
  if (!/loops\.c/.test(shown) || !/heat\.c/.test(shown)) throw new Error(`the preview shows not both files:\n${shown}`);
  if (before[0] !== read(folder, "loops.c") || before[1] !== read(folder, join("solver", "heat.c"))) throw new Error("a file changed before the preview was applied");
  step("two loops of two files are shown in one preview");
  await apply.click();
  await row(/step: 3/).waitFor({ state: "hidden" });
  await choose(page, "File: Save All");
  await until("both files are saved", () => ["loops.c", join("solver", "heat.c")].every((file) => /_on_gpu\(/.test(read(folder, file))));
  await page.screenshot({ path: join(out, "tree-after.png") });
  step("both were offloaded, and the tree says what is left");
}

/** A page of rewrite rules: begun by a command, broken, mended, used without a restart. */
async function rulesStory({ page, folder, data }) {
  writeFileSync(join(folder, "norm.c"), "#include <math.h>\n\ndouble norm(double x, double y) {\n    return sqrt(pow(x, 2) + pow(y, 2));\n}\n");
  await open(page, "loops.c");
  await page.locator(".squiggly-info").first().waitFor();
  await choose(page, "Warpwright: Write a Page of Rewrite Rules", "Write a Page of Rewrite Rules");
  await page.keyboard.press("Enter");
  const file = join(".warpwright", "rules", "squares.md");
  await page.locator(".tab.active", { hasText: "squares.md" }).first().waitFor();
  await until("the page is on the disk", () => read(folder, file).includes("rules squares"));
  step("a page was begun");
  const line = lineOf(folder, file, "pure(");
  await goTo(page, line, read(folder, file).split("\n")[line - 1].indexOf("pure") + 5);
  await page.keyboard.press("Backspace");
  await page.locator(".squiggly-error").first().waitFor();
  await page.screenshot({ path: join(out, "rule-page.png") });
  step("what is wrong with it is underlined");
  await page.keyboard.press("Control+z");
  await page.locator(".squiggly-error").first().waitFor({ state: "hidden" });
  step("and is right again");
  await open(page, "norm.c");
  await goTo(page, 4, 18);
  const action = page.locator(".action-widget .monaco-list-row", { hasText: /Write squares as products/ }).first();
  await press(page, ["Control+."], action);
  await page.screenshot({ path: join(out, "rules-action.png") });
  await action.click();
  await page.locator(".view-line", { hasText: /sqrt\(x.\*.x.\+.y.\*.y\)/ }).first().waitFor();
  step("the page's action rewrote the line");
  await ownCalls(page, folder, data);
}

/** A page of the user's in place of one that ships: what is offloaded from then on is written his way. */
async function ownCalls(page, folder, data) {
  const shipped = readFileSync(join(import.meta.dirname, "..", "..", "rules", "cuda-calls.md"), "utf8");
  const theirs = shipped
    .replace("_Must($ok,$call) -> Assignment($ok,$ok && Equals($call,cudaSuccess))", '_Must($ok,$call) -> MethodCall(CHECK,$call) [Include("check.h")]')
    .replace(/Assignment\(ok,And\(ok,Equals\((.*?),cudaSuccess\)\)\)/g, "MethodCall(CHECK,$1)");
  writeFileSync(join(folder, "check.h"), "#include <stdio.h>\n#include <stdlib.h>\n#define CHECK(call) do { if (call) { fprintf(stderr, \"%s\\n\", #call); exit(1); } } while (0)\n");
  writeFileSync(join(folder, ".warpwright", "rules", "cuda-calls.md"), theirs);
  // The editor tells of files that others write when it comes to that, and sometimes not at all; a save finds them.
  await until("the page is in use", async () => {
    await page.keyboard.press("Control+s");
    await page.waitForTimeout(500);
    return /in use beside the shipped ones: .*cuda-calls/.test(outputOf(data));
  });
  await open(page, "loops.c");
  await goTo(page, lineOf(folder, "loops.c", "for (int i = 0; i < n; i++)"), 5);
  const kernel = page.locator(".explorer-folders-view .monaco-list-row", { hasText: /\.cu$/ }).first();
  const action = page.locator(".action-widget .monaco-list-row", { hasText: /Offload to (the )?GPU/i }).first();
  await press(page, ["Control+."], action);
  await action.click();
  await kernel.waitFor();
  await open(page, (await kernel.innerText()).trim());
  await goTo(page, 30, 1);
  await page.locator(".view-line", { hasText: /CHECK\(cudaMalloc\(/ }).first().waitFor();
  await page.screenshot({ path: join(out, "own-calls.png") });
  step("a page that stands in for a shipped one writes the calls of an offload");
}

/** The picture of the README: what is left to say of the C file beside the kernel that was made. */
async function picture(page, folder, kernel) {
  const group = (n) => page.locator(".editor-group-container").nth(n);
  const size = page.viewportSize();
  await page.setViewportSize({ width: 1200, height: 860 });
  await page.keyboard.press("Control+b");
  await page.locator(".explorer-folders-view").waitFor({ state: "hidden" });
  await quickOpen(page, "loops.c");
  await page.keyboard.press("Control+\\");
  await group(1).waitFor();
  await quickOpen(page, kernel);
  await group(1).locator(".view-line", { hasText: "__global__" }).first().waitFor();
  await page.keyboard.press("Control+1");
  await goTo(page, lineOf(folder, "loops.c", "for (int i = 1;"), 5);
  const verdict = page.locator("strong", { hasText: /sequential/i });
  await press(page, ["Control+k", "Control+i"], page.locator(".monaco-hover:visible", { has: verdict }).first());
  await page.screenshot({ path: options.screenshot });
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+2");
  await palette(page, "View: Close All Editors in Group");
  await page.keyboard.press("Enter");
  await group(1).waitFor({ state: "hidden" });
  await page.keyboard.press("Control+b");
  await page.locator(".explorer-folders-view").waitFor();
  await page.setViewportSize(size);
}

async function restrictedStory({ page }) {
  await open(page, "loops.c");
  await page.locator(".squiggly-info").first().waitFor();
  step("a folder that is not trusted is analyzed");
  await palette(page, "Warpwright: Explain the Verdict");
  await until("the command that needs no trust", async () => (await rows(page)).some((r) => r.includes("Explain the Verdict")));
  await palette(page, "Warpwright: Verify the Loop");
  const settled = await until("the answer of the palette", async () => {
    const shown = await rows(page);
    return shown.some((r) => r.includes("Explain the Verdict")) ? undefined : nonEmpty(shown);
  });
  if (settled.some((r) => r.includes("Verify the Loop"))) throw new Error("verifying is offered in a folder that is not trusted");
  step("there, verifying is not offered");
  await page.screenshot({ path: join(out, "restricted.png") });
}

function step(text) {
  console.log(`vscode: ${text}`);
}
