// The item in the status bar: a state, and a click that opens the menu.

import * as vscode from "vscode";
import { NOT_READ } from "./documents";
import { shown, type ServerState } from "./state";

export class Status implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("warpwright.status", vscode.StatusBarAlignment.Left, 0);
  #state: ServerState = { kind: "stopped" };

  constructor() {
    this.#item.name = "Warpwright";
    this.#item.command = "warpwright.menu";
    this.#draw();
    this.#item.show();
  }

  get state(): ServerState {
    return this.#state;
  }

  set(state: ServerState): void {
    this.#state = state;
    this.#draw();
  }

  refresh(): void {
    this.#draw();
  }

  #draw(): void {
    const { text, tooltip, severity } = shown(this.#state, vscode.workspace.isTrusted, NOT_READ[vscode.window.activeTextEditor?.document.languageId ?? ""]);
    this.#item.text = text;
    this.#item.tooltip = tooltip;
    this.#item.accessibilityInformation = { label: tooltip };
    this.#item.backgroundColor = severity === "normal" ? undefined : new vscode.ThemeColor(`statusBarItem.${severity}Background`);
    void vscode.commands.executeCommand("setContext", "warpwright.running", this.#state.kind === "running");
  }

  dispose(): void {
    this.#item.dispose();
  }
}
