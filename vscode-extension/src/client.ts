// The life of the server process: found, started, restarted after a crash, stopped.

import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, LanguageClient, ProgressType, RevealOutputChannelOn, State, TransportKind } from "vscode-languageclient/node";
import { Crashes, RESTARTS_IN_WINDOW } from "./crashes";
import { documentFilters } from "./documents";
import { createdKernels, kernels } from "./kernels";
import { locateServer } from "./locate";
import type { ListedFile } from "./loops";
import type { Panel, Panels } from "./panels";
import type { Status } from "./status";
import type { TraceChannel } from "./trace";
import { needsTrust } from "./trust";

/** Extensions that give C and CUDA an outline and a call hierarchy. */
const OUTLINERS = ["llvm-vs-code-extensions.vscode-clangd", "ms-vscode.cpptools"];

export class Server {
  readonly #crashes = new Crashes();
  #client: LanguageClient | undefined;
  /** Of answers in pieces that were asked for. */
  #tokens = 0;
  /** Told each time the server runs. */
  onRunning: (() => void) | undefined;
  /** Kernels that actions bring whose edits were handed out: they are shown when they come into being. */
  readonly #awaited = new Set<string>();
  /** Starts and stops run one after the other, whatever the order and number of clicks. */
  #queue: Promise<void> = Promise.resolve();

  readonly #context: vscode.ExtensionContext;
  readonly #status: Status;
  readonly #output: vscode.LogOutputChannel;
  readonly #trace: TraceChannel;
  readonly #panels: Panels;

  constructor(context: vscode.ExtensionContext, status: Status, output: vscode.LogOutputChannel, trace: TraceChannel, panels: Panels) {
    this.#context = context;
    this.#status = status;
    this.#output = output;
    this.#trace = trace;
    this.#panels = panels;
    // A command that an action carries would not do: editors drop it when a list took its place while the edit was made.
    const shown = vscode.workspace.onDidCreateFiles(({ files }) => openBeside(files.map((uri) => uri.toString()).filter((uri) => this.#awaited.delete(uri))));
    context.subscriptions.push(shown);
  }

  /** Calls off what the server works on. */
  async cancel(token: string): Promise<void> {
    await this.#client?.sendNotification("window/workDoneProgress/cancel", { token });
  }

  /** Asks for the loops of these files, or of all in the workspace; they come in pieces. What was not looked at, in words. */
  async loops(uris: readonly string[] | undefined, cancel: vscode.CancellationToken, piece: (files: readonly ListedFile[]) => void): Promise<string | undefined> {
    const client = this.#client;
    if (client === undefined || !client.isRunning()) throw new Error("The server is not running.");
    this.#tokens += 1;
    const token = `loops-${this.#tokens}`;
    const pieces = client.onProgress(new ProgressType<ListedFile[]>(), token, piece);
    try {
      const answer = await client.sendRequest<{ files: ListedFile[]; note: string | null }>("warpwright/loops", { uris, partialResultToken: token }, cancel);
      return answer.note ?? undefined;
    } finally {
      pieces.dispose();
    }
  }

  start(): Promise<void> {
    return this.#enqueue(() => this.#start());
  }

  stop(): Promise<void> {
    return this.#enqueue(() => this.#stop());
  }

  restart(): Promise<void> {
    return this.#enqueue(async () => {
      this.#crashes.forget();
      await this.#stop();
      await this.#start();
    });
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(work).catch((e: unknown) => this.#output.error(String(e)));
    return this.#queue;
  }

  async #start(): Promise<void> {
    const located = locateServer({
      configured: vscode.workspace.getConfiguration("warpwright").get("server.path", ""),
      extensionFolder: this.#context.extensionPath,
      searchPath: process.env["PATH"] ?? "",
      windows: process.platform === "win32",
      home: homedir(),
      isProgram,
    });
    if (located.kind === "missing") {
      this.#status.set({ kind: "missing", message: located.message });
      this.#output.error(located.message);
      void this.#tell(located.message, "Open Settings");
      return;
    }
    this.#output.info(`starting ${located.program} (${located.origin})`);
    this.#status.set({ kind: "starting" });
    const client = this.#create(located.program);
    this.#client = client;
    try {
      await client.start();
    } catch (e) {
      // The library has shown the reason and written it to the channel.
      this.#output.error(`the server did not start: ${String(e)}`);
      this.#status.set({ kind: "crashed", restarting: false });
    }
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    try {
      await client.dispose();
    } catch (e) {
      this.#output.warn(`the server did not stop in order: ${String(e)}`);
    }
    this.#status.set({ kind: "stopped" });
  }

  #create(program: string): LanguageClient {
    const client: LanguageClient = new LanguageClient(
      "warpwright",
      "Warpwright",
      { command: program, args: ["lsp"], transport: TransportKind.stdio },
      {
        documentSelector: documentFilters().map((f) => ({ ...f })) as { scheme: string; language: string }[],
        outputChannel: this.#output,
        traceOutputChannel: this.#trace.channel,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        // The server reads rule pages of a folder only if the user trusts it.
        initializationOptions: () => ({ ...plain(vscode.workspace.getConfiguration("warpwright")), trusted: vscode.workspace.isTrusted, panels: true, outlinedElsewhere: OUTLINERS.some((id) => vscode.extensions.getExtension(id) !== undefined) }),
        synchronize: { configurationSection: "warpwright" },
        diagnosticCollectionName: "warpwright",
        // A hover's way to the rest is a command of ours, and no other is followed.
        markdown: { isTrusted: { enabledCommands: ["warpwright.explain"] } },
        errorHandler: {
          error: (error, _message, count) => {
            this.#output.warn(`the connection reported ${error.message}`);
            return { action: (count ?? 0) <= 3 ? ErrorAction.Continue : ErrorAction.Shutdown, handled: true };
          },
          closed: () => this.#closed(),
        },
        middleware: {
          executeCommand: (command, args, next) => {
            if (needsTrust(command) && !vscode.workspace.isTrusted) {
              void askForTrust();
              return undefined;
            }
            return Promise.resolve(next(command, args)).then(async (answer: unknown) => {
              await openBeside(createdKernels(answer));
              return answer;
            });
          },
          // The server shows why an action comes to nothing; what comes with one that does is opened beside it.
          resolveCodeAction: async (item, token, next) => {
            const action = await next(item, token);
            const made = kernels(action?.edit?.entries().map(([uri]) => uri.toString()) ?? []);
            for (const uri of made) this.#awaited.add(uri);
            return action;
          },
        },
      },
    );
    client.onNotification("warpwright/showPanel", (panel: Panel) => this.#panels.show(panel));
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) {
        this.#status.set({ kind: "running", version: client.initializeResult?.serverInfo?.version ?? "" });
        this.onRunning?.();
      } else if (newState === State.Starting && this.#status.state.kind !== "crashed") {
        this.#status.set({ kind: "starting" });
      }
    });
    return client;
  }

  #closed(): { action: CloseAction; handled: true } {
    if (this.#crashes.record(Date.now()) === "restart") {
      this.#status.set({ kind: "crashed", restarting: true });
      this.#output.warn("the server ended unexpectedly and is being started again");
      return { action: CloseAction.Restart, handled: true };
    }
    this.#status.set({ kind: "crashed", restarting: false });
    const message = `The Warpwright server ended unexpectedly ${RESTARTS_IN_WINDOW + 1} times in a short while, so it was left stopped. Your files are untouched. The output says what it was doing.`;
    this.#output.error(message);
    void this.#tell(message, "Restart the Server");
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  async #tell(message: string, remedy: "Open Settings" | "Restart the Server"): Promise<void> {
    const answer = await vscode.window.showErrorMessage(message, remedy, "Show Output");
    if (answer === "Open Settings") await vscode.commands.executeCommand("warpwright.openSettings");
    if (answer === "Restart the Server") await vscode.commands.executeCommand("warpwright.restart");
    if (answer === "Show Output") this.#output.show();
  }
}

/** Shows new kernels beside the program that they come from, which keeps the focus. */
async function openBeside(uris: readonly string[]): Promise<void> {
  for (const uri of uris) {
    await vscode.window.showTextDocument(vscode.Uri.parse(uri), { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false });
  }
}

/** Settings without the functions that come with them. */
function plain(settings: vscode.WorkspaceConfiguration): object {
  return JSON.parse(JSON.stringify(settings)) as object;
}

async function askForTrust(): Promise<void> {
  const manage = "Manage Workspace Trust";
  const answer = await vscode.window.showWarningMessage("Verifying and profiling run code of this folder, which is not trusted. Analysis goes on.", manage);
  if (answer === manage) await vscode.commands.executeCommand("workbench.trust.manage");
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
