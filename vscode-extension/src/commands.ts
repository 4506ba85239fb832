// Commands of the editor. Those "at the cursor" ask the server for its code actions there and run the one that is meant.

import * as vscode from "vscode";
import { choose, WISHES, type Wish } from "./actions";
import type { Server } from "./client";

/** At most this many actions are resolved, which is more than a line ever has. */
const RESOLVE_AT_MOST = 20;

export function registerCommands(context: vscode.ExtensionContext, server: Server, output: vscode.LogOutputChannel, trace: vscode.LogOutputChannel): void {
  const add = (id: string, run: () => unknown): void => {
    context.subscriptions.push(vscode.commands.registerCommand(id, run));
  };
  for (const [name, wish] of Object.entries(WISHES)) add(`warpwright.${name}AtCursor`, () => atCursor(wish));
  add("warpwright.restart", () => server.restart());
  add("warpwright.showOutput", () => output.show());
  add("warpwright.showTrace", () => trace.show());
  add("warpwright.openSettings", () => vscode.commands.executeCommand("workbench.action.openSettings", `@ext:${context.extension.id}`));
  add("warpwright.openWalkthrough", () => vscode.commands.executeCommand("workbench.action.openWalkthrough", `${context.extension.id}#start`, false));
  add("warpwright.openExample", openExample);
  add("warpwright.menu", menu);
}

async function atCursor(wish: Wish): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    void vscode.window.showInformationMessage(`Open a file and put the cursor on the loop to ${wish.verb}.`);
    return;
  }
  const actions = await vscode.commands.executeCommand<(vscode.CodeAction | vscode.Command)[]>("vscode.executeCodeActionProvider", editor.document.uri, editor.selection, undefined, RESOLVE_AT_MOST);
  const choice = choose(actions.filter(isAction), wish);
  switch (choice.kind) {
    case "none":
      void vscode.window.showInformationMessage(choice.message);
      return;
    case "one":
      return apply(choice.action);
    case "several": {
      const picked = await vscode.window.showQuickPick(choice.actions.map((action) => ({ label: action.title, action })), { title: "Warpwright" });
      if (picked !== undefined) await apply(picked.action);
    }
  }
}

function isAction(a: vscode.CodeAction | vscode.Command): a is vscode.CodeAction {
  return typeof a.command !== "string";
}

async function apply(action: vscode.CodeAction): Promise<void> {
  if (action.edit !== undefined && !(await vscode.workspace.applyEdit(action.edit))) {
    void vscode.window.showWarningMessage(`"${action.title}" could not be applied: the document changed meanwhile. Try again.`);
    return;
  }
  if (action.command !== undefined) await vscode.commands.executeCommand(action.command.command, ...(action.command.arguments ?? []));
}

async function menu(): Promise<void> {
  const entries: (vscode.QuickPickItem & { run?: string })[] = [
    { label: "$(zap) Offload the loop at the cursor to the GPU", run: "warpwright.offloadAtCursor" },
    { label: "$(bookmark) Mark the loop at the cursor", run: "warpwright.markAtCursor" },
    { label: "$(check) Verify the loop at the cursor", run: "warpwright.verifyAtCursor" },
    { label: "$(question) Explain the verdict at the cursor", run: "warpwright.explainAtCursor" },
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
