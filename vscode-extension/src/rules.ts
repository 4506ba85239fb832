// Rewrite rules: choose a system, see what would become of the file, then apply it. The server makes and checks the result.

import * as vscode from "vscode";

interface System {
  system: string;
  title: string;
  about: string;
  /** Whether it is the user's own. */
  own: boolean;
  trust: string | null;
}

interface Told {
  title: string;
  checked: string;
  /** The whole file afterwards. */
  text: string;
  /** The files that come with it. */
  files: { name: string; text: string }[];
}

type Scope = "loop" | "function" | "file";

/** Scheme of the documents that show what would become of a file. */
const PREVIEW = "warpwright-preview";

export function registerRules(context: vscode.ExtensionContext): void {
  const previews = new Previews();
  context.subscriptions.push(
    vscode.workspace.registerTextDocumentContentProvider(PREVIEW, previews),
    vscode.workspace.onDidCloseTextDocument((document) => previews.forget(document.uri)),
    vscode.commands.registerCommand("warpwright.applyRulesAtCursor", () => reported(() => applyRules(previews))),
    vscode.commands.registerCommand("warpwright.newRulePage", () => reported(newRulePage)),
  );
}

class Previews implements vscode.TextDocumentContentProvider {
  readonly #texts = new Map<string, string>();
  #count = 0;

  add(name: string, text: string): vscode.Uri {
    this.#count += 1;
    const uri = vscode.Uri.from({ scheme: PREVIEW, path: `/${this.#count}/${name}` });
    this.#texts.set(uri.toString(), text);
    return uri;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? "";
  }

  forget(uri: vscode.Uri): void {
    this.#texts.delete(uri.toString());
  }
}

async function applyRules(previews: Previews): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    void vscode.window.showInformationMessage("Open a file and put the cursor where the rules are to be applied.");
    return;
  }
  const { document } = editor;
  const uri = document.uri.toString();
  const { line, character } = editor.selection.active;
  const { systems } = await vscode.commands.executeCommand<{ systems: System[] }>("warpwright.listRules", { uri });
  const own = systems.filter((s) => s.own);
  const ordered = [...own, ...systems.filter((s) => !s.own)];
  const chosen = await vscode.window.showQuickPick(
    ordered.map((s) => ({ label: s.title, description: [s.system, s.trust].join(", "), detail: s.about, system: s.system })),
    { title: "Apply Rewrite Rules", placeHolder: "What is to be done", matchOnDescription: true },
  );
  if (chosen === undefined) return;
  const scopes: { label: string; scope: Scope }[] = [
    { label: "the loop at the cursor", scope: "loop" },
    { label: "the function at the cursor", scope: "function" },
    { label: "the whole file", scope: "file" },
  ];
  const where = await vscode.window.showQuickPick(scopes, { title: chosen.label, placeHolder: "Where" });
  if (where === undefined) return;
  const version = document.version;
  const request = { uri, version, system: chosen.system, scope: where.scope, position: { line, character } };
  const told = await vscode.commands.executeCommand<Told>("warpwright.applyRules", { ...request, preview: true });
  const preview = previews.add(document.uri.path.split("/").pop() ?? "file", told.text);
  await vscode.commands.executeCommand("vscode.diff", document.uri, preview, `${told.title} (preview)`, { preview: true });
  for (const file of told.files) {
    const shown = previews.add(file.name, file.text);
    await vscode.commands.executeCommand("vscode.open", shown, { viewColumn: vscode.ViewColumn.Beside, preview: false });
  }
  for (;;) {
    const answer = await vscode.window.showInformationMessage(`${told.title}. ${told.checked}`, "Apply", "Explain This Rewrite");
    if (answer === "Apply") {
      await vscode.commands.executeCommand("warpwright.applyRules", request);
      return;
    }
    if (answer !== "Explain This Rewrite") return;
    await vscode.commands.executeCommand("warpwright.applyRules", { ...request, preview: true, explain: true });
  }
}

/** A page to begin with, in the folder where the server looks for pages. */
async function newRulePage(): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  if (folder === undefined) {
    void vscode.window.showInformationMessage("Open a folder first: its pages are in .warpwright/rules.");
    return;
  }
  const name = await vscode.window.showInputBox({
    title: "Write a Page of Rewrite Rules",
    prompt: "Its name",
    value: "squares",
    validateInput: (text) => (/^[A-Za-z][\w-]*$/.test(text) ? undefined : "Letters, digits, - and _."),
  });
  if (name === undefined) return;
  const uri = vscode.Uri.joinPath(folder.uri, ".warpwright", "rules", `${name}.md`);
  try {
    await vscode.workspace.fs.stat(uri);
  } catch {
    await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(beginning(name)));
  }
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
}

function beginning(name: string): string {
  const fence = "```";
  return `# Write squares as products

A call of \`pow\` with the exponent 2 takes longer than a product.

Trust: reassociates

${fence}rules ${name} BottomUp
square: c\`pow($x, 2)\` [pure($x), type($x, double)] -> c\`$x * $x\`
${fence}

${fence}c example
#include <math.h>
double f(double x) { return pow(x, 2); }
${fence}
${fence}c result
#include <math.h>
double f(double x) { return x * x; }
${fence}

${fence}c refused
#include <math.h>
double f(double x) { return pow(x++, 2); }
${fence}
`;
}

/** The server refuses in sentences: what is in the way, and what would help. */
async function reported(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (e) {
    void vscode.window.showWarningMessage(e instanceof Error ? e.message : String(e));
  }
}
