import assert from "node:assert/strict";
import * as path from "node:path";
import { describe, test } from "node:test";
import { Crashes, RESTARTS_IN_WINDOW, WINDOW_MS } from "../src/crashes";
import { documentFilters } from "../src/documents";
import { createdKernels, kernels } from "../src/kernels";
import { locateServer, type Surroundings } from "../src/locate";
import { byFile, byVerdict, isShown, summary, USUAL, type ListedFile, type Loop } from "../src/loops";
import { shown } from "../src/state";
import { needsTrust } from "../src/trust";

describe("what is opened beside a program", () => {
  test("the kernels of an edit, each once", () => {
    const uris = ["file:///p/a.c", "file:///p/f_i.cu", "file:///p/f_i.cu", "file:///p/g.hip", "file:///p/cu.h"];
    assert.deepEqual(kernels(uris), ["file:///p/f_i.cu", "file:///p/g.hip"]);
  });
  test("those that a command created, and nothing of other answers", () => {
    assert.deepEqual(createdKernels({ applied: true, created: ["file:///p/f_i.cu", 3] }), ["file:///p/f_i.cu"]);
    for (const other of [undefined, null, "created", { created: "x" }, { title: "t" }]) assert.deepEqual(createdKernels(other), []);
  });
});

describe("which server is started", () => {
  const around = (present: string[], more: Partial<Surroundings> = {}): Surroundings => ({
    configured: "",
    extensionFolder: "/ext",
    searchPath: ["/usr/bin", "bin", "/opt/bin"].join(path.delimiter),
    windows: false,
    home: "/home/u",
    isProgram: (f) => present.includes(f),
    ...more,
  });
  test("the configured one comes first", () => {
    const found = locateServer(around(["/ext/server/warpwright", "/x/w"], { configured: " /x/w " }));
    assert.deepEqual(found, { kind: "found", program: "/x/w", origin: "setting" });
  });
  test("~ is the home folder", () => {
    assert.deepEqual(locateServer(around(["/home/u/w"], { configured: "~/w" })), { kind: "found", program: "/home/u/w", origin: "setting" });
  });
  test("a wrong setting is reported, not worked around", () => {
    for (const configured of ["/not/there", "relative/w"]) {
      const found = locateServer(around(["/ext/server/warpwright"], { configured }));
      assert.equal(found.kind, "missing");
      assert.ok(found.kind === "missing" && found.message.includes("warpwright.server.path"));
    }
  });
  test("then the bundled one, then PATH", () => {
    assert.deepEqual(locateServer(around(["/ext/server/warpwright", "/usr/bin/warpwright"])), { kind: "found", program: "/ext/server/warpwright", origin: "bundled" });
    assert.deepEqual(locateServer(around(["/opt/bin/warpwright"])), { kind: "found", program: "/opt/bin/warpwright", origin: "PATH" });
  });
  test("a relative folder on PATH is never searched", () => {
    assert.equal(locateServer(around(["bin/warpwright"])).kind, "missing");
  });
  test("Windows has its own name", () => {
    assert.equal(locateServer(around(["/ext/server/warpwright.exe"], { windows: true })).kind, "found");
  });
});

describe("crashes", () => {
  test("a few are restarted, one more is not", () => {
    const crashes = new Crashes();
    for (let i = 0; i < RESTARTS_IN_WINDOW; i++) assert.equal(crashes.record(1000 + i), "restart");
    assert.equal(crashes.record(2000), "give-up");
  });
  test("old ones are forgotten", () => {
    const crashes = new Crashes();
    for (let i = 0; i < 100; i++) assert.equal(crashes.record((i * WINDOW_MS) / RESTARTS_IN_WINDOW), "restart");
  });
  test("a start by hand begins anew", () => {
    const crashes = new Crashes();
    for (let i = 0; i <= RESTARTS_IN_WINDOW; i++) crashes.record(i);
    crashes.forget();
    assert.equal(crashes.record(10), "restart");
  });
});

describe("documents", () => {
  test("files and unsaved documents of every language", () => {
    const filters = documentFilters();
    for (const language of ["c", "cpp", "cuda-cpp", "cuda"])
      for (const scheme of ["file", "untitled"]) assert.ok(filters.some((f) => f.language === language && f.scheme === scheme), `${language} ${scheme}`);
  });
});

describe("the rest", () => {
  test("running things needs trust, reading does not", () => {
    assert.ok(needsTrust("warpwright.verify"));
    assert.ok(needsTrust("warpwright.profile"));
    assert.ok(!needsTrust("warpwright.offload"));
  });
  test("every state has its words", () => {
    assert.match(shown({ kind: "running", version: "0.1.0" }, true).tooltip, /0\.1\.0 is running/);
    assert.match(shown({ kind: "running", version: "" }, false).tooltip, /not trusted/);
    assert.match(shown({ kind: "running", version: "" }, true, "C#").tooltip, /does not read C# yet/);
    assert.equal(shown({ kind: "crashed", restarting: false }, true).severity, "error");
    assert.equal(shown({ kind: "crashed", restarting: true }, true).severity, "warning");
    assert.equal(shown({ kind: "missing", message: "no server" }, true).tooltip, "no server");
  });
});

describe("the list of loops", () => {
  const loop = (key: string, more: Partial<Loop>): Loop => ({
    key, kind: "loop", range: { start: { line: 0, character: 0 }, end: { line: 0, character: 3 } }, function: "f", header: "for (;;)",
    verdict: "independent", words: "parallel", worth: "worth", reason: "", offload: true, mark: true, marked: false, ...more,
  });
  const loops = [loop("f#0", {}), loop("f#1", { worth: "inside" }), loop("f#2", { verdict: "sequential", worth: "open" }), loop("f#3", { worth: "small" }), loop("f#4", { worth: "small", marked: true })];
  const file: ListedFile = { uri: "file:///a.c", language: "C", text: "1", loops };
  const keys = (shown: readonly Loop[]): string => shown.map((l) => l.key.slice(2)).join("");

  test("each width shows less, and what is marked stays", () => {
    const of = (width: "all" | "usual" | "worth"): string => keys(loops.filter((l) => isShown(l, { ...USUAL, width })));
    assert.deepEqual([of("all"), of("usual"), of("worth")], ["01234", "024", "0"]);
    assert.equal(keys(loops.filter((l) => isShown(l, { width: "all", hidden: ["independent"] }))), "2");
  });
  test("groups come in one order, and empty ones not at all", () => {
    assert.deepEqual(byVerdict(loops).map(([verdict, of]) => `${verdict} ${keys(of)}`), ["independent 0134", "sequential 2"]);
  });
  test("what is chosen goes to the server file by file, each loop once", () => {
    const other: ListedFile = { ...file, uri: "file:///b.c", text: "2" };
    const chosen = [...loops.slice(0, 2).map((l) => ({ file, loop: l })), { file: other, loop: loop("g#0", {}) }, { file, loop: loop("f#0", {}) }];
    assert.deepEqual(byFile(chosen), [{ uri: "file:///a.c", text: "1", keys: ["f#0", "f#1"] }, { uri: "file:///b.c", text: "2", keys: ["g#0"] }]);
    assert.equal(summary(loops, loops.slice(0, 2)), "2 of 5, 1 worth an offload");
  });
});
