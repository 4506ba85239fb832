// Commands of the editor. Those "at the cursor" are the server's own commands, told where the cursor is.

import * as vscode from "vscode";
import type { Server } from "./client";
import { CANCEL_WORK, OPEN_PLACE, openPlace } from "./panels";

/** The server's commands that act on the loop around a place, or on its file: `warpwright.offload` and so on. */
const AT_CURSOR = ["offload", "mark", "unmark", "verify", "explain", "simulate", "analyzeFully", "showDependences", "showCallGraph", "showTerms"] as const;

export function registerCommands(context: vscode.ExtensionContext, server: Server, output: vscode.LogOutputChannel, trace: vscode.LogOutputChannel): void {
  const add = (id: string, run: () => unknown): void => {
    context.subscriptions.push(vscode.commands.registerCommand(id, run));
  };
  for (const name of AT_CURSOR) add(`warpwright.${name}AtCursor`, () => atCursor(name));
  context.subscriptions.push(
    vscode.commands.registerCommand(OPEN_PLACE, openPlace),
    vscode.commands.registerCommand(CANCEL_WORK, (token: string) => server.cancel(token)),
  );
  context.subscriptions.push(vscode.commands.registerCommand("warpwright.addIncludePath", addIncludePath));
  add("warpwright.restart", () => server.restart());
  add("warpwright.showOutput", () => output.show());
  add("warpwright.showTrace", () => trace.show());
  add("warpwright.openSettings", () => vscode.commands.executeCommand("workbench.action.openSettings", `@ext:${context.extension.id}`));
  add("warpwright.openWalkthrough", () => vscode.commands.executeCommand("workbench.action.openWalkthrough", `${context.extension.id}#start`, false));
  add("warpwright.openExample", openExample);
  add("warpwright.menu", menu);
}

/** Adds a folder of headers to the setting: of the workspace folder that holds the document, below that if it lies there. */
async function addIncludePath(uri: string, path: string): Promise<void> {
  const document = vscode.Uri.parse(uri);
  const folder = vscode.workspace.getWorkspaceFolder(document);
  const place = folder && vscode.Uri.file(path).path.startsWith(`${folder.uri.path}/`) ? vscode.Uri.file(path).path.slice(folder.uri.path.length + 1) : path;
  const settings = vscode.workspace.getConfiguration("warpwright", document);
  const known = settings.get<string[]>("includePaths", []);
  if (known.includes(place)) return;
  const target = folder === undefined ? vscode.ConfigurationTarget.Global : vscode.ConfigurationTarget.Workspace;
  await settings.update("includePaths", [...known, place], target);
}

async function atCursor(name: (typeof AT_CURSOR)[number]): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    void vscode.window.showInformationMessage("Open a file and put the cursor on a loop.");
    return;
  }
  const { line, character } = editor.selection.active;
  const place = { uri: editor.document.uri.toString(), position: { line, character } };
  try {
    await vscode.commands.executeCommand(`warpwright.${name}`, place);
  } catch (e) {
    tellRefusal(e);
  }
}

/** The server refuses in sentences: what is in the way, and what would help. Who called something off needs not be told. */
export function tellRefusal(e: unknown): void {
  if (e instanceof vscode.CancellationError || (e instanceof Error && e.message === "Canceled")) return;
  void vscode.window.showWarningMessage(e instanceof Error ? e.message : String(e));
}

async function menu(): Promise<void> {
  const entries: (vscode.QuickPickItem & { run?: string })[] = [
    { label: "$(zap) Offload the loop at the cursor to the GPU", run: "warpwright.offloadAtCursor" },
    { label: "$(bookmark) Mark the loop at the cursor", run: "warpwright.markAtCursor" },
    { label: "$(check) Verify the loop at the cursor", run: "warpwright.verifyAtCursor" },
    { label: "$(question) Explain the verdict at the cursor", run: "warpwright.explainAtCursor" },
    { label: "$(graph) Show the dependences of the loop at the cursor", run: "warpwright.showDependencesAtCursor" },
    { label: "$(wand) Apply rewrite rules…", run: "warpwright.applyRulesAtCursor" },
    { label: "Server", kind: vscode.QuickPickItemKind.Separator },
    { label: "$(debug-restart) Restart the server", run: "warpwright.restart" },
    { label: "$(output) Show output", run: "warpwright.showOutput" },
    { label: "$(list-flat) Show protocol trace", run: "warpwright.showTrace" },
    { label: "$(gear) Open settings", run: "warpwright.openSettings" },
    { label: "$(book) Open walkthrough", run: "warpwright.openWalkthrough" },
  ];
  const picked = await vscode.window.showQuickPick(entries, { title: "Warpwright" });
  if (picked?.run !== undefined) await vscode.commands.executeCommand(picked.run);
}

async function openExample(): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: "c", content: EXAMPLE });
  await vscode.window.showTextDocument(document);
}

const EXAMPLE = `// Point at a "for" to read its verdict; put the cursor on it and press Ctrl+. to offload it.

void saxpy(int n, float a, const float *restrict x, float *restrict y) {
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

float dot(int n, const float *x, const float *y) {
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

void prefix_sum(int n, float *a) {
    for (int i = 1; i < n; i++)
        a[i] = a[i] + a[i - 1];
}
`;
