// The view "Loops and Kernels": what the server lists of the workspace's files, as a tree. It asks when the view is first seen, after a
// file was saved, and when it is told to; never while somebody types.

import { posix } from "node:path";
import * as vscode from "vscode";
import type { Server } from "./client";
import { tellRefusal } from "./commands";
import { LANGUAGES } from "./documents";
import { byFile, byVerdict, isShown, summary, USUAL, VERDICTS, type Filter, type Grouping, type ListedFile, type Loop, type Width } from "./loops";

export const VIEW = "warpwright.loops";

interface FileNode {
  readonly kind: "file";
  readonly file: ListedFile;
}
interface VerdictNode {
  readonly kind: "verdict";
  readonly file: ListedFile;
  readonly verdict: string;
  readonly loops: readonly Loop[];
}
interface LoopNode {
  readonly kind: "loop";
  readonly file: ListedFile;
  readonly loop: Loop;
}
type Node = FileNode | VerdictNode | LoopNode;

interface Edited {
  readonly applied: boolean;
  readonly created: readonly string[];
  readonly left_out: readonly string[];
}

/** Milliseconds in which pieces of an answer are gathered before they are drawn. */
const GATHER = 150;

export class LoopTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #server: Server;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly #view: vscode.TreeView<Node>;
  readonly #memory: vscode.Memento;
  readonly #files = new Map<string, ListedFile>();
  readonly #nodes = new Map<string, FileNode>();
  #asked: vscode.CancellationTokenSource | undefined;
  #filter: Filter;
  #grouping: Grouping;
  #known = false;
  #drawing: NodeJS.Timeout | undefined;
  readonly #subscriptions: vscode.Disposable[] = [];

  readonly onDidChangeTreeData = this.#changed.event;

  constructor(server: Server, memory: vscode.Memento) {
    this.#server = server;
    this.#memory = memory;
    this.#filter = memory.get<Filter>("loops.filter", USUAL);
    this.#grouping = memory.get<Grouping>("loops.grouping", "line");
    this.#view = vscode.window.createTreeView(VIEW, { treeDataProvider: this, canSelectMany: true, showCollapseAll: true });
    this.#describe();
    const add = (id: string, run: (...given: never[]) => unknown): void => void this.#subscriptions.push(vscode.commands.registerCommand(id, run));
    add("warpwright.loops.refresh", () => this.refresh());
    add("warpwright.loops.filter", () => this.#chooseFilter());
    add("warpwright.loops.groupByVerdict", () => this.#group("verdict"));
    add("warpwright.loops.groupByLine", () => this.#group("line"));
    add("warpwright.loops.offload", (node?: Node, all?: readonly Node[]) => this.#edit("offload", node, all));
    add("warpwright.loops.mark", (node?: Node, all?: readonly Node[]) => this.#edit("mark", node, all));
    add("warpwright.showLoops", () => vscode.commands.executeCommand(`${VIEW}.focus`));
    this.#subscriptions.push(
      this.#view.onDidChangeVisibility(({ visible }) => {
        if (visible && !this.#known) void this.refresh();
      }),
      vscode.workspace.onDidSaveTextDocument((document) => {
        if (this.#known) void this.#saved(document);
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.#again()),
    );
  }

  /** The server is new: what it said before is not known to it. */
  serverStarted(): void {
    this.#again();
  }

  #again(): void {
    this.#known = false;
    if (this.#view.visible) void this.refresh();
  }

  async #saved(document: vscode.TextDocument): Promise<void> {
    if (!LANGUAGES.includes(document.languageId)) return;
    const uri = document.uri.toString();
    const read = await this.refresh([uri]);
    // A header is no file of the list: all may be others now.
    if (!read.includes(uri)) await this.refresh();
  }

  /** Asks for all files, or for these. Those that are read. */
  async refresh(uris?: readonly string[]): Promise<string[]> {
    if (uris === undefined) {
      this.#asked?.cancel();
      this.#known = true;
    }
    const asked = new vscode.CancellationTokenSource();
    if (uris === undefined) this.#asked = asked;
    const seen = new Set<string>();
    const read: string[] = [];
    try {
      const note = await vscode.window.withProgress({ location: { viewId: VIEW } }, () =>
        this.#server.loops(uris, asked.token, (files) => {
          for (const file of files) {
            const uri = vscode.Uri.parse(file.uri).toString();
            seen.add(uri);
            if (file.language !== null) read.push(uri);
            this.#take({ ...file, uri });
          }
          this.#draw();
        }),
      );
      if (uris === undefined) {
        for (const uri of [...this.#files.keys()]) if (!seen.has(uri)) this.#forget(uri);
        this.#say(note ?? (this.#shownFiles().length === 0 ? this.#nothing() : ""));
      }
    } catch (e) {
      if (!asked.token.isCancellationRequested && uris === undefined) {
        this.#known = false;
        this.#say(e instanceof Error ? e.message : String(e));
      }
    } finally {
      if (this.#asked === asked) this.#asked = undefined;
      asked.dispose();
      this.#draw();
    }
    return read;
  }

  /** Above the tree; an empty text takes what stands there away. */
  #say(words: string): void {
    this.#view.message = words;
  }

  #nothing(): string {
    return this.#files.size === 0 ? "No loops in the files of the workspace's folders." : "The filter hides all loops and kernels.";
  }

  #take(file: ListedFile): void {
    // What is saved and is no program, or holds none, takes no place.
    if (file.loops.length === 0) return this.#forget(file.uri);
    this.#files.set(file.uri, file);
    this.#nodes.set(file.uri, { kind: "file", file });
  }

  #forget(uri: string): void {
    this.#files.delete(uri);
    this.#nodes.delete(uri);
  }

  #draw(): void {
    this.#drawing ??= setTimeout(() => {
      this.#drawing = undefined;
      this.#changed.fire(undefined);
    }, GATHER);
  }

  #shown(file: ListedFile): Loop[] {
    return file.loops.filter((l) => isShown(l, this.#filter));
  }

  #shownFiles(): FileNode[] {
    const nodes = [...this.#nodes.values()].filter((n) => this.#shown(n.file).length > 0);
    return nodes.sort((a, b) => (a.file.uri < b.file.uri ? -1 : 1));
  }

  getChildren(node?: Node): Node[] {
    if (node === undefined) {
      if (!this.#known && this.#view.visible) void this.refresh();
      return this.#shownFiles();
    }
    const loop = (l: Loop): LoopNode => ({ kind: "loop", file: node.file, loop: l });
    if (node.kind === "verdict") return node.loops.map(loop);
    if (node.kind === "loop") return [];
    const shown = this.#shown(node.file);
    if (this.#grouping === "line") return shown.map(loop);
    return byVerdict(shown).map(([verdict, loops]) => ({ kind: "verdict", file: node.file, verdict, loops }));
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case "file":
        return fileItem(node.file, this.#shown(node.file));
      case "verdict":
        return verdictItem(node);
      case "loop":
        return loopItem(node);
    }
  }

  #group(by: Grouping): void {
    this.#grouping = by;
    void this.#memory.update("loops.grouping", by);
    this.#describe();
    this.#changed.fire(undefined);
  }

  async #chooseFilter(): Promise<void> {
    type Pick = vscode.QuickPickItem & { width?: Width; verdict?: string };
    const pick = vscode.window.createQuickPick<Pick>();
    const title = (kind: string): Pick => ({ label: kind, kind: vscode.QuickPickItemKind.Separator });
    const small: Pick = { label: "Small loops and loops inside parallel ones", description: "and loops that print, look for something or only fill arrays", width: "all" };
    const open: Pick = { label: "What is not worth an offload as it stands", description: "sequential, unknown or without a kernel; kernels without findings", width: "usual" };
    const verdicts = VERDICTS.map((verdict): Pick => ({ label: titled(verdict), verdict }));
    pick.title = "Loops and Kernels: What Is Shown";
    pick.placeholder = "What is worth an offload is shown, and:";
    pick.canSelectMany = true;
    pick.items = [title("worth"), small, open, title("verdicts"), ...verdicts];
    const { width, hidden } = this.#filter;
    pick.selectedItems = [...(width === "all" ? [small] : []), ...(width === "worth" ? [] : [open]), ...verdicts.filter((v) => !hidden.includes(v.verdict ?? ""))];
    const accepted = new Promise<readonly Pick[] | undefined>((resolve) => {
      pick.onDidAccept(() => resolve(pick.selectedItems));
      pick.onDidHide(() => resolve(undefined));
    });
    pick.show();
    const chosen = await accepted;
    pick.dispose();
    if (chosen === undefined) return;
    const has = (item: Pick): boolean => chosen.includes(item);
    this.#filter = {
      width: has(small) ? "all" : has(open) ? "usual" : "worth",
      hidden: verdicts.filter((v) => !has(v)).map((v) => v.verdict ?? ""),
    };
    void this.#memory.update("loops.filter", this.#filter);
    this.#describe();
    this.#say(this.#shownFiles().length === 0 ? this.#nothing() : "");
    this.#changed.fire(undefined);
  }

  #describe(): void {
    const { width, hidden } = this.#filter;
    const parts = [width === "all" ? "all" : width === "worth" ? "worth an offload" : "", hidden.length > 0 ? "some verdicts" : ""];
    this.#view.description = parts.filter((p) => p !== "").join(", ");
    void vscode.commands.executeCommand("setContext", "warpwright.loops.byVerdict", this.#grouping === "verdict");
  }

  /** Offloads or marks what is selected, or what was clicked, in one edit that is shown before. */
  async #edit(verb: "offload" | "mark", clicked: Node | undefined, all: readonly Node[] | undefined): Promise<void> {
    const nodes = all ?? (clicked === undefined ? this.#view.selection : [clicked]);
    const chosen = nodes.flatMap((n) => this.#loopsOf(n)).filter(({ loop }) => loop[verb] && (nodes.length === 1 || loop.kind === "loop"));
    if (chosen.length === 0) {
      const what = verb === "offload" ? "offloaded" : "marked";
      void vscode.window.showInformationMessage(`None of these can be ${what} as it stands. The loop's hover says why.`);
      return;
    }
    const files = byFile(chosen);
    try {
      const done = await vscode.commands.executeCommand<Edited | undefined>(`warpwright.${verb}`, { files });
      if (done === undefined || !done.applied) return;
      await this.refresh([...files.map((f) => f.uri), ...done.created]);
    } catch (e) {
      tellRefusal(e);
    }
  }

  /** Of a file or a verdict: the loops that are shown below it. */
  #loopsOf(node: Node): { file: ListedFile; loop: Loop }[] {
    const file = node.file;
    switch (node.kind) {
      case "loop":
        return [{ file, loop: node.loop }];
      case "verdict":
        return node.loops.map((loop) => ({ file, loop }));
      case "file":
        return this.#shown(file).map((loop) => ({ file, loop }));
    }
  }

  dispose(): void {
    clearTimeout(this.#drawing);
    this.#asked?.cancel();
    this.#view.dispose();
    this.#changed.dispose();
    for (const s of this.#subscriptions) s.dispose();
  }
}

function titled(verdict: string): string {
  return verdict === "race" ? "Kernels with races" : verdict === "race-free" ? "Kernels without races" : verdict.charAt(0).toUpperCase() + verdict.slice(1);
}

function fileItem(file: ListedFile, shown: readonly Loop[]): vscode.TreeItem {
  const uri = vscode.Uri.parse(file.uri);
  const item = new vscode.TreeItem(uri, vscode.TreeItemCollapsibleState.Expanded);
  item.id = file.uri;
  const folder = posix.dirname(vscode.workspace.asRelativePath(uri));
  item.description = [folder === "." ? "" : folder, summary(file.loops, shown)].filter((p) => p !== "").join("  ");
  item.contextValue = contextOf(shown);
  item.tooltip = uri.fsPath;
  item.iconPath = vscode.ThemeIcon.File;
  return item;
}

function verdictItem(node: VerdictNode): vscode.TreeItem {
  const item = new vscode.TreeItem(titled(node.verdict), vscode.TreeItemCollapsibleState.Expanded);
  item.id = `${node.file.uri} ${node.verdict}`;
  item.description = `${node.loops.length}`;
  item.iconPath = iconOf(node.verdict);
  item.contextValue = contextOf(node.loops);
  return item;
}

function loopItem({ file, loop }: LoopNode): vscode.TreeItem {
  const { start, end } = loop.range;
  const item = new vscode.TreeItem(loop.kind === "kernel" ? loop.header : `${loop.function}: ${start.line + 1}`, vscode.TreeItemCollapsibleState.None);
  item.id = `${file.uri} ${loop.kind} ${loop.key} ${start.line}`;
  item.description = `${loop.marked ? "marked, " : ""}${loop.words}`;
  const words = new vscode.MarkdownString();
  words.appendCodeblock(loop.kind === "kernel" ? `__global__ ${loop.header}` : loop.header, "c");
  words.appendMarkdown([loop.words, loop.reason].filter((p) => p !== "").join("\n\n"));
  item.tooltip = words;
  item.iconPath = iconOf(loop.verdict);
  item.contextValue = contextOf([loop]);
  const selection = new vscode.Range(start.line, start.character, end.line, end.character);
  item.command = { title: "Go to It", command: "vscode.open", arguments: [vscode.Uri.parse(file.uri), { selection: new vscode.Range(selection.start, selection.start), preserveFocus: false }] };
  item.accessibilityInformation = { label: `${loop.kind} in ${loop.function}, line ${start.line + 1}: ${loop.words}` };
  return item;
}

/** What the menus ask: `offload mark`. */
function contextOf(loops: readonly Loop[]): string {
  return [loops.some((l) => l.offload) ? "offload" : "", loops.some((l) => l.mark) ? "mark" : ""].filter((p) => p !== "").join(" ");
}

function iconOf(verdict: string): vscode.ThemeIcon {
  const icon = (name: string, color: string): vscode.ThemeIcon => new vscode.ThemeIcon(name, new vscode.ThemeColor(color));
  switch (verdict) {
    case "independent":
      return icon("zap", "testing.iconPassed");
    case "reduction":
      return icon("combine", "testing.iconPassed");
    case "sequential":
      return icon("arrow-down", "editorInfo.foreground");
    case "race-free":
      return icon("circuit-board", "testing.iconPassed");
    case "race":
      return icon("warning", "editorWarning.foreground");
    default:
      return icon("question", "descriptionForeground");
  }
}
