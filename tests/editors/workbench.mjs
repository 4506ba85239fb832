// A real VS Code and the hands of its user: code-server in Chromium with the packaged extension, its keys, its lists, its panels.
// Everything waits for conditions, never for a time. Deliberately absent: what is to be seen, which the stories say.

import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** Milliseconds that one condition may take on a slow, busy machine; less for who can try again. */
export const PATIENCE = Number(process.env.WARPWRIGHT_EDITOR_PATIENCE ?? 120_000);
const SERVER_LINE = /HTTP server listening on (http:\/\/127\.0\.0\.1:\d+)/;
/** What every script that starts an editor is told. */
export const OPTIONS = Object.fromEntries(["code-server", "node", "vsix", "project", "out", "screenshot", "chromium", "only"].map((name) => [name, { type: "string" }]));

function codeServer(options) {
  // The version of Node that code-server was built for comes first on PATH.
  const program = join(options["code-server"], "node_modules", "code-server", "out", "node", "entry.js");
  const node = join(options.node, "bin", "node");
  const env = { ...process.env, PATH: `${join(options.node, "bin")}:${process.env.PATH}`, EXTENSIONS_GALLERY: "{}" };
  return { program, node, env };
}

/** Installs the packaged extension. `home`: where all of this editor lies. */
export function install(options, home) {
  const { program, node, env } = codeServer(options);
  const args = [program, "--extensions-dir", join(home, "extensions"), "--user-data-dir", join(home, "install"), "--install-extension", options.vsix];
  const done = spawnSync(node, args, { env, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`installing the extension failed:\n${done.stdout}\n${done.stderr}`);
}

/** Starts an editor on a fresh copy of the project, runs the story in it, and leaves nothing running. */
export async function session(options, home, name, { trusted, keys = [] }, story) {
  const folder = join(home, name, "project");
  const data = join(home, name, "data");
  cpSync(options.project, folder, { recursive: true });
  mkdirSync(join(data, "User"), { recursive: true });
  writeFileSync(join(data, "User", "settings.json"), JSON.stringify(userSettings(), null, 2));
  writeFileSync(join(data, "User", "keybindings.json"), JSON.stringify(keys));
  const config = join(home, name, "config.yaml");
  writeFileSync(config, "bind-addr: 127.0.0.1:0\nauth: none\ncert: false\n");

  const { program, node, env } = codeServer(options);
  const args = [program, "--config", config, "--user-data-dir", data, "--extensions-dir", join(home, "extensions"), "--disable-telemetry", "--disable-update-check"];
  if (trusted) args.push("--disable-workspace-trust");
  const server = spawn(node, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const log = [];
  const address = await new Promise((resolve, reject) => {
    const hear = (chunk) => {
      log.push(chunk.toString());
      const line = SERVER_LINE.exec(log.join(""));
      if (line) resolve(line[1]);
    };
    server.stdout.on("data", hear);
    server.stderr.on("data", hear);
    server.on("exit", (code) => reject(new Error(`code-server ended with ${code}:\n${log.join("")}`)));
    setTimeout(() => reject(new Error(`code-server did not start:\n${log.join("")}`)), PATIENCE).unref();
  });
  const browser = await chromium.launch({
    executablePath: options.chromium ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1"],
  });
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 } });
  page.setDefaultTimeout(PATIENCE);
  try {
    await page.goto(`${address}/?folder=${encodeURIComponent(folder)}`);
    await story({ page, folder, data });
  } catch (e) {
    await page.screenshot({ path: join(options.out, `${name}-failure.png`) }).catch(() => undefined);
    writeFileSync(join(options.out, `${name}-code-server.log`), log.join(""));
    writeFileSync(join(options.out, `${name}-extension.log`), outputOf(data));
    throw e;
  } finally {
    await browser.close();
    const gone = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGTERM");
    await gone;
  }
}

/** The page of a result: the innermost of a webview's frames, whichever says this. */
export async function panel(page, words) {
  return until(`a result that says ${words}`, async () => {
    for (const frame of page.frames()) {
      const text = await textOf(frame);
      if (frame !== page.mainFrame() && words.test(text)) return frame;
    }
    return undefined;
  });
}

/** What a frame shows; nothing while it is being loaded. */
export function textOf(frame) {
  return frame.locator("body").innerText({ timeout: 2000 }).catch(() => "");
}

/** Closes what stands in the second column. */
export async function closeBeside(page) {
  const beside = page.locator(".editor-group-container").nth(1);
  await page.keyboard.press("Control+2");
  await choose(page, "View: Close All Editors in Group");
  await beside.waitFor({ state: "hidden" });
  await page.keyboard.press("Control+1");
}

/** `name`: what its tab says. */
export async function quickOpen(page, file, name = file) {
  const row = page.locator(".quick-input-widget .monaco-list-row.focused", { hasText: name }).first();
  await until(`${file} is found`, async () => {
    await fill(page, "Control+p", file);
    return row.waitFor({ timeout: PATIENCE / 10 }).then(() => true, () => false);
  });
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-widget").first().waitFor({ state: "hidden" });
  await page.locator(".editor-group-container.active .tab.active", { hasText: name }).first().waitFor();
}

/** Presses keys until what they open is there: on a busy machine a widget that opens too early is closed by what arrives. */
export async function press(page, keys, opened) {
  await until(`what ${keys.join(" ")} opens`, async () => {
    await page.keyboard.press("Escape");
    for (const key of keys) await page.keyboard.press(key);
    return opened.waitFor({ timeout: PATIENCE / 20 }).then(() => true, () => false);
  });
}

export async function open(page, file) {
  const row = page.locator(".explorer-folders-view .monaco-list-row", { hasText: file }).first();
  const tab = page.locator(".tab.active", { hasText: file }).first();
  await row.waitFor();
  await until(`${file} is opened`, async () => {
    // what a row says of itself while the mouse rests on it covers others
    await page.mouse.move(1, 1);
    const clicked = await row.dblclick({ timeout: PATIENCE / 10 }).then(() => true, () => false);
    return clicked && tab.waitFor({ timeout: PATIENCE / 10 }).then(() => true, () => false);
  });
  await page.locator(".monaco-editor .view-line").first().waitFor();
}

export async function palette(page, text) {
  await fill(page, "F1", `>${text}`);
}

/** Opens the quick input with a key and fills it, again if a widget that was still closing took the text with it. */
export async function fill(page, key, text) {
  const input = page.locator(".quick-input-widget input").first();
  await until(`the quick input holds ${text}`, async () => {
    await closed(page);
    await page.keyboard.press(key);
    return input
      .fill(text, { timeout: PATIENCE / 20 })
      .then(() => input.inputValue({ timeout: PATIENCE / 20 }))
      .then((value) => value === text && input.isVisible(), () => false);
  });
}

/** Waits until no quick input is open; one that stays is sent away. */
export async function closed(page) {
  const widget = page.locator(".quick-input-widget").first();
  await until("no quick input is open", async () => {
    if (!(await widget.isVisible())) return true;
    await page.keyboard.press("Escape");
    return widget.waitFor({ state: "hidden", timeout: PATIENCE / 20 }).then(() => true, () => false);
  });
}

/** Runs a command by its title, as people do; `asks` is the title of what it asks. */
export async function choose(page, title, asks) {
  const row = page.locator(".quick-input-widget .monaco-list-row.focused", { hasText: title }).first();
  await until(`the palette offers ${title}`, async () => {
    await palette(page, title);
    return row.waitFor({ timeout: PATIENCE / 10 }).then(() => true, () => false);
  });
  await page.keyboard.press("Enter");
  // What asks for a text does so where the palette was.
  if (asks !== undefined) await page.locator(".quick-input-title:visible", { hasText: asks }).first().waitFor();
  else await page.locator(".quick-input-widget").first().waitFor({ state: "hidden" });
}

export function rows(page) {
  return page.locator(".quick-input-widget .monaco-list-row").allInnerTexts();
}

export async function goTo(page, line, column) {
  const widget = page.locator(".quick-input-widget").first();
  await until(`the cursor goes to line ${line}`, async () => {
    await fill(page, "Control+g", `:${line}:${column}`);
    await page.keyboard.press("Enter");
    // The list shows the place while it is open: the status bar alone does not say that Enter was taken.
    return widget.waitFor({ state: "hidden", timeout: PATIENCE / 10 }).then(() => true, () => false);
  });
  // the status bar counts a tab as wide as it is shown
  await page.locator(".statusbar-item", { hasText: `Ln ${line}, Col ` }).first().waitFor();
}

export function lineOf(folder, file, text) {
  const line = read(folder, file).split("\n").findIndex((l) => l.includes(text));
  if (line < 0) throw new Error(`${file} has no line with ${text}`);
  return line + 1;
}

export function read(folder, file) {
  const path = join(folder, file);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/** Processes that run the program inside our own copy of the extension, which nothing else does. */
export function serverProcesses(home) {
  return readdirSync("/proc").filter((p) => /^\d+$/.test(p)).filter((pid) => {
    try {
      return [readlinkSync(`/proc/${pid}/exe`), ...readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")].some((s) => s.startsWith(join(home, "extensions")) && s.endsWith("/server/warpwright"));
    } catch {
      return false; // it ended meanwhile
    }
  }).map(Number);
}

export function nonEmpty(list) {
  return list.length > 0 ? list : undefined;
}

export async function until(what, condition) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** What the extension wrote to its output channels. */
export function outputOf(data) {
  const logs = join(data, "logs");
  if (!existsSync(logs)) return "";
  return readdirSync(logs, { recursive: true }).map(String).filter((f) => /warpwright/i.test(f) && f.endsWith(".log")).map((f) => `== ${f}\n${readFileSync(join(logs, f), "utf8")}`).join("\n");
}

export function userSettings() {
  return {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.colorTheme": "Default Dark Modern",
    "workbench.tips.enabled": false,
    "chat.disableAIFeatures": true,
    "security.workspace.trust.startupPrompt": "never",
    "security.workspace.trust.banner": "never",
    "editor.minimap.enabled": false,
    "editor.fontFamily": "DejaVu Sans Mono",
    "editor.fontSize": 12,
    "editor.autoClosingBrackets": "never",
    "editor.autoIndent": "none",
    "editor.hover.delay": 100,
    "editor.hover.sticky": true,
    "editor.hover.above": false,
    "editor.stickyScroll.enabled": false,
    "files.autoSave": "off",
    "telemetry.telemetryLevel": "off",
    "extensions.ignoreRecommendations": true,
    "window.commandCenter": false,
  };
}
