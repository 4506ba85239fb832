// The editor's side of Warpwright: starts the server and shows what it says. Computes nothing itself.

import * as vscode from "vscode";
import { Server } from "./client";
import { registerCommands } from "./commands";
import { Panels } from "./panels";
import { registerRules } from "./rules";
import { Status } from "./status";
import { traceChannel } from "./trace";
import { LoopTree } from "./tree";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("Warpwright", { log: true });
  const trace = traceChannel("Warpwright Trace");
  const status = new Status();
  const panels = new Panels();
  const running = new Server(context, status, output, trace, panels);
  server = running;
  context.subscriptions.push(
    output,
    trace.channel,
    status,
    panels,
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("warpwright.trace.server")) trace.refresh();
      if (change.affectsConfiguration("warpwright.server.path")) void running.restart();
    }),
    vscode.window.onDidChangeActiveTextEditor(() => status.refresh()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      status.refresh();
      void running.restart();
    }),
  );
  registerCommands(context, running, output, trace.channel);
  registerRules(context);
  const tree = new LoopTree(running, context.workspaceState);
  context.subscriptions.push(tree);
  running.onRunning = () => tree.serverStarted();
  await running.start();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
