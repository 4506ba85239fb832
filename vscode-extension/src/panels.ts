// Results beside the program: pages that the server has made, shown as they are. They hold no scripts; their links are the two commands here.

import * as vscode from "vscode";

/** A line of a document, from 1: what links of results open. */
export const OPEN_PLACE = "warpwright.openPlace";
/** Work that goes on, by its token. */
export const CANCEL_WORK = "warpwright.cancelWork";

/** What the server sends with `warpwright/showPanel`. */
export interface Panel {
  readonly name: string;
  readonly title: string;
  readonly html: string;
  /** A panel that the user has closed stays closed. */
  readonly replaces: boolean;
}

export class Panels implements vscode.Disposable {
  readonly #open = new Map<string, vscode.WebviewPanel>();

  show(panel: Panel): void {
    const known = this.#open.get(panel.name);
    if (known === undefined && panel.replaces) return;
    const shown = known ?? this.#create(panel);
    if (known !== undefined && !panel.replaces) known.reveal(undefined, true);
    shown.title = panel.title;
    shown.webview.html = panel.html;
  }

  #create(panel: Panel): vscode.WebviewPanel {
    const made = vscode.window.createWebviewPanel(
      "warpwright.result",
      panel.title,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: false, enableCommandUris: [OPEN_PLACE, CANCEL_WORK], localResourceRoots: [] },
    );
    this.#open.set(panel.name, made);
    made.onDidDispose(() => this.#open.delete(panel.name));
    return made;
  }

  dispose(): void {
    for (const panel of this.#open.values()) panel.dispose();
    this.#open.clear();
  }
}

/** Goes to a line where its document is shown, else in the first column. */
export async function openPlace(uri: string, line: number): Promise<void> {
  const at = new vscode.Position(Math.max(0, line - 1), 0);
  const shown = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === vscode.Uri.parse(uri).toString());
  const viewColumn = shown?.viewColumn ?? vscode.ViewColumn.One;
  await vscode.window.showTextDocument(vscode.Uri.parse(uri), { viewColumn, selection: new vscode.Range(at, at) });
}
