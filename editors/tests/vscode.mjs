// Drives VS Code in a browser without a screen: what a person does with keys and mouse, and reads.

import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import puppeteer from "puppeteer-core";

const CODE = path.join(import.meta.dirname, "node_modules/code-server/out/node/entry.js");
const BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const SETTINGS = {
  "debug.onTaskErrors": "abort",
  "debug.toolBarLocation": "floating",
  "editor.minimap.enabled": false,
  "extensions.ignoreRecommendations": true,
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "window.commandCenter": false,
  "workbench.colorTheme": "Default Light Modern",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
};

/// Waits until `ask` gives something true, and returns that.
export async function until(what, ask, seconds = 30) {
  const end = Date.now() + seconds * 1000;
  let last;
  while (Date.now() < end) {
    try {
      last = await ask();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${what}: not within ${seconds} s (last seen: ${last})`);
}

/// A port that nobody listens at.
export function freePort() {
  return new Promise((done, fail) => {
    const server = net.createServer().on("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

function browser() {
  for (const name of BROWSERS) {
    for (const folder of process.env.PATH.split(path.delimiter)) {
      if (fs.existsSync(path.join(folder, name))) return path.join(folder, name);
    }
  }
  throw new Error(`no browser (${BROWSERS.join(", ")}): apt install chromium-headless-shell`);
}

export class Editor {
  /// Starts VS Code with an extension on a folder. `scratch` is a folder for what it writes.
  static async open(folder, scratch, vsix) {
    const data = ["--user-data-dir", path.join(scratch, "user"), "--extensions-dir", path.join(scratch, "extensions")];
    fs.mkdirSync(path.join(scratch, "user/User"), { recursive: true });
    fs.writeFileSync(path.join(scratch, "user/User/settings.json"), JSON.stringify(SETTINGS));
    const editor = new Editor();
    try {
      await finished("installing the extension", start([CODE, ...data, "--install-extension", vsix]));
      const port = await freePort();
      const options = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry",
        "--disable-update-check", "--disable-workspace-trust", "--disable-getting-started-override"];
      editor.server = start([CODE, ...data, ...options]);
      await until("VS Code answers", async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok, 60);
      editor.browser = await puppeteer.launch({
        executablePath: browser(),
        args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        defaultViewport: { width: 1160, height: 820 },
      });
      editor.page = await editor.browser.newPage();
      await editor.page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}`);
      await editor.see(".explorer-folders-view .monaco-list-row", "the files", 90);
      await editor.widenSideBar(460);
    } catch (error) {
      await editor.close();
      throw error;
    }
    return editor;
  }

  async close() {
    await this.browser?.close().catch(() => {});
    end(this.server);
  }

  /// Drags the border of the side bar, so that values of variables can be read.
  async widenSideBar(right) {
    const bar = await this.page.$eval("#workbench\\.parts\\.sidebar", (element) => {
      return element.getBoundingClientRect().right;
    });
    await this.page.mouse.move(bar, 400);
    await this.page.mouse.down();
    await this.page.mouse.move(right, 400, { steps: 5 });
    await this.page.mouse.up();
  }

  /// Closes a part of the side bar, to make room for the others.
  async fold(title) {
    const header = `.pane-header[aria-label^="${title}"][aria-expanded="true"]`;
    await (await this.see(header, title)).click();
    await until(`${title} is closed`, async () => !(await this.page.$(header)));
  }

  /// Drags the upper border of a part of the side bar down.
  async lower(title, distance) {
    const header = await this.see(`.pane-header[aria-label^="${title}"]`, title);
    const top = await header.evaluate((element) => element.getBoundingClientRect().top);
    await this.page.mouse.move(200, top);
    await this.page.mouse.down();
    await this.page.mouse.move(200, top + distance, { steps: 5 });
    await this.page.mouse.up();
  }

  /// Waits for an element.
  async see(selector, what = selector, seconds = 30) {
    return until(what, () => this.page.$(selector), seconds);
  }

  /// The texts of all elements, without those that are empty.
  async texts(selector) {
    const found = await this.page.$$eval(selector, (all) => all.map((element) => element.innerText));
    return found.map((text) => text.replace(/\s+/g, " ").trim()).filter(Boolean);
  }

  /// Waits for an element whose text has all of `parts`, and returns the text.
  async read(selector, ...parts) {
    const fits = (text) => parts.every((part) => text.includes(part));
    const ask = async () => (await this.texts(selector)).find(fits);
    try {
      return await until(`${selector} with ${parts.join(", ")}`, ask);
    } catch (error) {
      throw new Error(`${error.message}; there is: ${(await this.texts(selector)).join(" | ")}`);
    }
  }

  /// Runs a command of the palette; texts like `:12` go to a line. Commands appear as VS Code loads.
  async command(text) {
    const input = ".quick-input-widget:not([style*='display: none']) input";
    const focused = ".quick-input-list .monaco-list-row.focused";
    const isFound = async () => (await this.texts(focused)).some((row) => row.includes(text));
    const isClosed = async () => !(await this.page.$(input));
    const type = async () => {
      await this.page.keyboard.press("F1");
      await this.see(input, "the palette");
      await this.page.keyboard.down("Control");
      await this.page.keyboard.press("a");
      await this.page.keyboard.up("Control");
      await this.page.keyboard.type(text.startsWith(":") ? text : `>${text}`);
      if (text.startsWith(":")) return true;
      return until(text, isFound, 3).catch(async () => {
        await this.page.keyboard.press("Escape");
        await until("the palette is closed", isClosed);
        return false;
      });
    };
    await until(`the command ${text}`, type, 60);
    await this.page.keyboard.press("Enter");
    await until("the palette is closed", isClosed);
  }

  async openFile(name) {
    const row = await this.see(`.explorer-folders-view .monaco-list-row[aria-label^="${name}"]`, name);
    await row.click({ count: 2 });
    await this.see(".editor-instance .view-lines .view-line", `the text of ${name}`);
  }

  /// Sets or removes a breakpoint on a line of the open file.
  async toggleBreakpoint(line) {
    await this.command(`:${line}`);
    await this.see(".editor-instance .monaco-editor.focused", "the text");
    await this.command("Debug: Toggle Breakpoint");
  }

  /// The line of the open file that is marked as the place where the program stopped.
  async stoppedLine() {
    return this.page.evaluate(() => {
      const mark = document.querySelector(".debug-top-stack-frame-line, .debug-focused-stack-frame-line");
      const top = mark?.getBoundingClientRect().top;
      const rows = [...document.querySelectorAll(".editor-instance .line-numbers")];
      const row = rows.find((each) => Math.abs(each.getBoundingClientRect().top - top) < 4);
      return row ? Number(row.innerText) : null;
    });
  }

  /// Waits until the program is shown as stopped at a line.
  async stopsAt(line) {
    await until(`a stop at line ${line}`, async () => (await this.stoppedLine()) === line, 60);
  }

  /// Presses a button of the bar for debugging, given by its icon.
  async press(icon) {
    await (await this.see(`.debug-toolbar .codicon-debug-${icon}`, `the button ${icon}`)).click();
  }

  /// Waits for a row of the variables with these texts.
  async variable(...parts) {
    await this.read(".debug-variables .monaco-list-row", ...parts);
    for (const row of await this.page.$$(".debug-variables .monaco-list-row")) {
      const text = (await row.evaluate((element) => element.innerText)).replace(/\s+/g, " ");
      if (parts.every((part) => text.includes(part))) return row;
    }
    throw new Error(`the variable ${parts} is gone`);
  }

  /// Shows what is inside of a variable.
  async expand(...parts) {
    const row = await this.variable(...parts);
    if ((await row.evaluate((element) => element.getAttribute("aria-expanded"))) === "true") return;
    await row.click();
    await this.page.keyboard.press("ArrowRight");
  }

  /// Types a line into the Debug Console.
  async evaluate(text) {
    await this.command("Debug Console: Focus on Debug Console View");
    await this.see(".repl-input-wrapper .monaco-editor.focused", "the Debug Console");
    await this.page.keyboard.type(text);
    await this.page.keyboard.press("Escape");
    await this.page.keyboard.press("Enter");
  }

  async picture(file) {
    await this.page.mouse.move(600, 3);
    await new Promise((done) => setTimeout(done, 700));
    await this.page.screenshot({ path: file });
  }
}

/// Starts Node in a process group of its own, so that all that comes of it can be ended.
function start(command) {
  const env = { ...process.env, VSCODE_PROXY_URI: "" };
  return run(process.execPath, command, { env });
}

/// Starts a program in a process group of its own, and keeps what it writes in `said`.
export function run(program, args, options = {}) {
  const child = spawn(program, args, { detached: true, stdio: ["ignore", "pipe", "pipe"], ...options });
  child.said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => (child.said += text));
  }
  child.done = new Promise((done) => child.on("close", done));
  child.on("error", (error) => (child.said += error));
  return child;
}

/// Waits until a program has ended well.
export async function finished(what, child, seconds = 60) {
  const late = setTimeout(() => end(child), seconds * 1000);
  const code = await child.done;
  clearTimeout(late);
  if (code !== 0) throw new Error(`${what} failed with ${code ?? "a signal"}:\n${child.said}`);
  return child.said;
}

/// Ends a program and what it started.
export function end(child) {
  if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
