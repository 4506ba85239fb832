// Every action and lens of somebody else's loops, clicked in a real VS Code: which of them end in nothing?
// One session for a program; after each click everything is put back. What was seen of each is a line of JSON, with a picture in
// `--out`. What could not be clicked is tried again, in a session of its own at last, and told as that: it says nothing of the click.
//
// Usage: node clicks.mjs --code-server DIR --node DIR --vsix FILE --project DIR --out DIR --only JSON
// `--only`: [[file, [line, …]], …], files as seen from the project.

import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { OPTIONS, PATIENCE, goTo, install, press, quickOpen, session, until } from "./workbench.mjs";

const { values: options } = parseArgs({ options: OPTIONS });
/** What a click leaves in the window for less than this is not seen by a person. */
const SETTLED = 400;
/** What comes within so many milliseconds of what came before belongs to the same click. */
const AFTER = 1500;
/** Milliseconds after which nothing is to be expected of a click that shows no progress. */
const NOTHING = 15_000;
/** Milliseconds that a click may take which shows progress. */
const AT_WORK = 240_000;
/** Sessions of one program. */
const SESSIONS = 4;
/** Puts everything back without asking. */
const KEYS = [
  { key: "ctrl+alt+q", command: "workbench.action.revertAndCloseActiveEditor" },
  { key: "ctrl+alt+n", command: "notifications.clearAll" },
  { key: "ctrl+alt+p", command: "workbench.action.closePanel" },
];
const ACTION = ".action-widget .monaco-list-row.action";

mkdirSync(options.out, { recursive: true });
const home = mkdtempSync(join(tmpdir(), "warpwright-clicks-"));
/** Loops that are left, and how often each was begun. */
const left = JSON.parse(options.only).flatMap(([file, lines]) => lines.map((line) => ({ file, line, tries: 0, clicked: new Set() })));
try {
  install(options, home);
  for (let k = 0; k < SESSIONS && left.length > 0; k += 1) {
    await session(options, home, `clicks-${k}`, { trusted: true, keys: KEYS }, clicks).catch((e) => note(`the session ended: ${e}`));
  }
  for (const { file, line } of left) told({ file, line, what: "all", changed: [], says: "the sessions ended before it", lost: true });
} finally {
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}

/** Goes through the loops that are left. */
async function clicks({ page, folder }) {
  const files = new Set(listed(folder));
  while (left.length > 0) {
    const loop = left[0];
    loop.tries += 1;
    if (loop.tries > 2) {
      told({ file: loop.file, line: loop.line, what: "all", changed: [], says: "the loop was not reached", lost: true });
      left.shift();
      continue;
    }
    await atLoop(page, folder, files, loop);
    left.shift();
  }
}

/** Clicks everything that is at a loop and was not clicked yet. */
async function atLoop(page, folder, files, loop) {
  await at(page, loop);
  const all = await settledList(page, async () => [...(await actionsListed(page)).map((title) => ["action", title]), ...(await lensesHere(page)).map((title) => ["lens", title])]);
  note(`${loop.file}:${loop.line}: ${all.length} to be clicked`);
  for (const [kind, title] of all) {
    const what = `${kind}: ${title}`;
    if (loop.clicked.has(what)) continue;
    const click = kind === "action" ? () => clickAction(page, title) : () => clickLens(page, title);
    let seen = await one(page, folder, files, loop, what, click);
    if (seen.lost) {
      await restore(page, folder, files);
      seen = await one(page, folder, files, loop, what, click);
    }
    loop.clicked.add(what);
    told(seen);
    await restore(page, folder, files);
  }
}

async function clickAction(page, title) {
  // the thorough analysis may still be on its way, and with it entries
  const there = await settled(async () => (await listedActions(page)).includes(title));
  if (!there) return `the list is another now: ${(await listedActions(page)).join(", ")}`;
  const titles = await page.locator(ACTION).allInnerTexts();
  await page.locator(ACTION).nth(titles.findIndex((t) => t.trim() === title)).click();
  return undefined;
}

async function clickLens(page, title) {
  let link;
  const there = await settled(async () => {
    for (const l of await lensLinks(page)) if ((await l.innerText()) === title) link = l;
    return link !== undefined;
  });
  if (!there) return "the lens is gone";
  await link.click();
  return undefined;
}

/** Clicks and sees what comes of it. `lost`: it was not clicked. */
async function one(page, folder, files, loop, what, click) {
  const { file, line } = loop;
  const seen = { file, line, what, changed: [], says: "", lost: false, seconds: 0 };
  try {
    await at(page, loop);
    const before = await shown(page);
    const trouble = await click();
    if (trouble !== undefined) {
      seen.says = trouble;
      seen.lost = true;
    } else {
      const begin = Date.now();
      for (let now = before; ; ) {
        await page.waitForTimeout(SETTLED);
        now = await shown(page);
        const busy = await isBusy(page);
        if (!busy && differing(before, now).some((part) => part !== "text")) break;
        if (Date.now() - begin > (busy ? AT_WORK : NOTHING)) break;
      }
      seen.seconds = Math.round((Date.now() - begin) / 100) / 10;
      const last = await still(page);
      seen.changed = differing(before, last);
      seen.says = [last.toasts, last.dialog].filter((text) => text !== "").join(" | ").slice(0, 400);
      const made = listed(folder).filter((f) => !files.has(f));
      if (made.length > 0) seen.changed.push(`files: ${made.map((f) => basename(f)).join(", ")}`);
    }
  } catch (e) {
    seen.says = String(e).split("\n")[0];
    seen.lost = true;
  }
  seen.picture = join(options.out, `${basename(file, ".c")}-${line}-${what.replace(/\W+/g, "-").slice(0, 50)}.png`);
  await page.screenshot({ path: seen.picture }).catch(() => undefined);
  return seen;
}

/** What is seen when nothing more comes of a click. */
async function still(page) {
  let now = await shown(page);
  for (const end = Date.now() + NOTHING; Date.now() < end; ) {
    const before = now;
    await page.waitForTimeout(AFTER);
    now = await shown(page);
    if (differing(before, now).length === 0) break;
  }
  return now;
}

function differing(before, now) {
  return Object.keys(now).filter((part) => now[part] !== before[part]);
}

function told(seen) {
  console.log(JSON.stringify(seen));
}

/** What became of the session itself, for who looks for a fault of this script. */
function note(what) {
  console.error(`${new Date().toISOString().slice(11, 19)} ${what}`);
}

/** What a person sees beside the cursor, by place. */
async function shown(page) {
  const window = await page.evaluate(() => {
    const text = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility()).map((e) => e.innerText).join("\n");
    const tabs = [...document.querySelectorAll(".tab")].map((e) => `${e.innerText}${e.classList.contains("dirty") ? "*" : ""}`).join("\n");
    return {
      text: text(".monaco-editor .view-lines"),
      tabs,
      list: text(".quick-input-widget"),
      toasts: text(".notification-toast"),
      dialog: text(".monaco-dialog-box"),
      preview: text(".bulk-edit-panel"),
      peek: text(".peekview-widget"),
      tree: text(".part.panel .monaco-list"),
      cursor: text(".statusbar-item[id='status.editor.selection']"),
    };
  });
  return { ...window, panels: String(page.frames().length) };
}

/** Whether the window shows that something is going on: in the status bar, or as a bar over the editor. */
async function isBusy(page) {
  return page.evaluate(() => {
    const visible = (selector) => [...document.querySelectorAll(selector)].some((e) => e.checkVisibility());
    return visible(".statusbar-item[id='status.progress']") || visible(".editor-group-container > .monaco-progress-container.active");
  });
}

/** Goes to a loop; where a widget took the keys, from the beginning, and at last in a window that was loaded anew. */
async function at(page, loop) {
  for (let tries = 0; tries < 3; tries += 1) {
    try {
      return await go(page, loop.file, loop.line);
    } catch (e) {
      note(`${loop.file}:${loop.line} was not reached: ${String(e).split("\n")[0]}`);
      await page.screenshot({ path: join(options.out, `lost-${basename(loop.file, ".c")}-${loop.line}-${tries}.png`) }).catch(() => undefined);
      for (const key of ["Escape", "Escape", "Control+Alt+q"]) await page.keyboard.press(key);
      if (tries === 1) {
        await page.reload();
        await page.locator(".explorer-folders-view .monaco-list-row").first().waitFor();
      }
    }
  }
  return go(page, loop.file, loop.line);
}

async function go(page, file, line) {
  if ((await page.locator(".tab.active", { hasText: basename(file) }).count()) === 0) await quickOpen(page, file, basename(file));
  await goTo(page, line, columnOf(file, line));
  // lenses and light bulb follow the thorough analysis
  await until("the file is analyzed", async () => /Warpwright(?!.*(analyz|…))/i.test(await page.locator(".statusbar-item", { hasText: "Warpwright" }).first().innerText()));
}

/** The first column that is no blank, from 1. */
function columnOf(file, line) {
  const text = readFileSync(join(options.project, file), "latin1").split("\n")[line - 1] ?? "";
  return text.length - text.trimStart().length + 1;
}

/** The titles of the light bulb's list, which stays open. */
async function listedActions(page) {
  await press(page, ["Control+."], page.locator(ACTION).first());
  return (await page.locator(ACTION).allInnerTexts()).map((t) => t.trim());
}

async function actionsListed(page) {
  const titles = await listedActions(page);
  await page.keyboard.press("Escape");
  return titles;
}

/** A list when it no longer changes: twice the same, some time apart. */
async function settledList(page, list) {
  let now = await list();
  await settled(async () => {
    const before = now;
    await page.waitForTimeout(3 * SETTLED);
    now = await list();
    return JSON.stringify(now) === JSON.stringify(before);
  });
  return now;
}

/** Whether a condition comes to hold before nothing more is to be expected. */
async function settled(condition) {
  const end = Date.now() + NOTHING;
  do {
    if (await condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, SETTLED));
  } while (Date.now() < end);
  return false;
}

/** The links of the lens right above the cursor's line. */
async function lensLinks(page) {
  const cursor = await page.locator(".monaco-editor .cursor").first().boundingBox();
  const links = await page.locator(".codelens-decoration a").all();
  const out = [];
  for (const link of links) {
    const box = await link.boundingBox({ timeout: PATIENCE / 60 }).catch(() => null);
    if (cursor !== null && box !== null && box.y < cursor.y && box.y > cursor.y - 1.8 * cursor.height) out.push(link);
  }
  return out;
}

async function lensesHere(page) {
  return Promise.all((await lensLinks(page)).map((l) => l.innerText({ timeout: PATIENCE / 60 }).catch(() => "")));
}

/** Closes all that was opened and takes back all that was written. */
async function restore(page, folder, files) {
  await until("everything is closed", async () => {
    for (const key of ["Escape", "Escape", "Control+Alt+n", "Control+Alt+p"]) await page.keyboard.press(key);
    for (const f of listed(folder).filter((f) => !files.has(f))) rmSync(join(folder, f), { force: true });
    if ((await page.locator(".tab").count()) === 0) return true;
    await page.locator(".tab").first().click({ timeout: PATIENCE / 60 }).catch(() => undefined);
    await page.keyboard.press("Control+Alt+q");
    await page.waitForTimeout(100);
    return false;
  });
  for (const f of files) {
    if (/\.(c|h|cu|cuh)$/.test(f) && readFileSync(join(folder, f), "latin1") !== readFileSync(join(options.project, f), "latin1")) copyFileSync(join(options.project, f), join(folder, f));
  }
}

function listed(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((e) => e.isFile()).map((e) => join(e.parentPath, e.name).slice(folder.length + 1));
}
