// One walk through VS Code with a training script that runs compiled: `make test-ide`.
//
//     node ide.mjs VSIX PYTHON [--pictures FOLDER]
//
// VS Code and the browser are real. Each step says what a user would see, and fails if it is not there.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Editor, end, finished, freePort, run, until } from "./vscode.mjs";

const [vsix, python, flag, pictures] = process.argv.slice(2);
if (!vsix || !python || (flag && flag !== "--pictures")) {
  console.error("usage: node ide.mjs VSIX PYTHON [--pictures FOLDER]");
  process.exit(2);
}
// What is debugged: listens at the port of FLUVIAL_DEBUG, and waits there for the editor.
const COMMAND = process.env.FLUVIAL_IDE_COMMAND?.split(" ") ?? [path.resolve(python), "train.py"];
const MINUTES = 6;

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "fluvial-ide-"));
const folder = path.join(scratch, "project");
const script = fs.readFileSync(path.join(import.meta.dirname, "train.py"), "utf8").split("\n");
const lineOf = (text) => script.findIndex((line) => line.includes(text)) + 1;
let editor, program;

async function step(what, f) {
  const began = Date.now();
  try {
    await f();
  } catch (error) {
    await editor?.page?.screenshot({ path: path.join(os.tmpdir(), "fluvial-ide-failed.png") }).catch(() => {});
    error.message = `${what}: ${error.message}`;
    throw error;
  }
  console.log(`ok  ${what} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
}

async function picture(name) {
  if (flag) await editor.picture(path.join(pictures, `debugger-${name}.png`));
}

async function walk() {
  const [error, scale, loss] = ["error = guess - y", "scale = fl.sqrt", "loss = fl.mean"].map(lineOf);
  const port = await freePort();

  await step("the project opens in VS Code with the extension", async () => {
    fs.mkdirSync(path.join(folder, ".vscode"), { recursive: true });
    fs.writeFileSync(path.join(folder, "train.py"), script.join("\n"));
    const attach = { name: "Fluvial: attach", type: "fluvial", request: "attach", debugServer: port };
    const launch = { version: "0.2.0", configurations: [attach] };
    fs.writeFileSync(path.join(folder, ".vscode/launch.json"), JSON.stringify(launch, null, 2));
    editor = await Editor.open(folder, scratch, path.resolve(vsix));
    await editor.openFile("train.py");
  });

  await step("a breakpoint is set on a line of the compiled loop", async () => {
    await editor.toggleBreakpoint(error);
    await editor.see(".codicon-debug-breakpoint, .codicon-debug-breakpoint-unverified", "the red dot");
  });

  await step("the script starts and waits for the editor", async () => {
    const env = { ...process.env, FLUVIAL_DEBUG: `wait:${port}` };
    program = run(COMMAND[0], COMMAND.slice(1), { cwd: folder, env });
    await until("it listens", () => program.said.includes(`${port}`) || program.exitCode !== null, 60);
    if (program.exitCode !== null) throw new Error(`it has ended:\n${program.said}`);
  });

  await step("attached, it stops on the line, with the call stack", async () => {
    await editor.page.keyboard.press("F5");
    await editor.stopsAt(error);
    for (const part of ["error = sub(guess, y)", "step 0", "train"]) {
      await editor.read(".debug-call-stack .monaco-list-row", part);
    }
    await editor.fold("Watch");
    await editor.lower("Watch", 150);
  });

  await step("scopes show tensors with their types and ranges", async () => {
    await editor.variable("guess", "f32[16, 1]", "mean");
    await editor.read(".debug-variables .monaco-list-row", "Parameters");
    await editor.read(".debug-variables .monaco-list-row", "Optimizer");
    await editor.expand("guess", "f32[16, 1]");
    await editor.variable("[0]");
    await picture("breakpoint");
  });

  await step("step over goes to the next line", async () => {
    await editor.page.keyboard.press("F10");
    await editor.stopsAt(loss);
    await editor.variable("error", "f32[16, 1]", "mean");
  });

  await step("step back returns to the line before", async () => {
    await editor.press("step-back");
    await editor.stopsAt(error);
  });

  await step("an element of a tensor gets another value", async () => {
    await editor.expand("guess", "f32[16, 1]");
    const row = await editor.variable("[0]");
    await (await row.$(".value")).click({ count: 2 });
    await editor.see(".debug-variables .monaco-inputbox input", "a box for the value");
    await editor.page.keyboard.type("7.5");
    await editor.page.keyboard.press("Enter");
    await editor.variable("[0]", "7.5");
    await picture("set-value");
  });

  await step("the Debug Console evaluates expressions", async () => {
    await editor.evaluate("guess[0]");
    await editor.read(".repl .monaco-list-row", "7.5");
    await editor.evaluate("guess[0] > max(y)");
    await editor.read(".repl .monaco-list-row", "true");
    await picture("console");
  });

  await step("without the breakpoint it runs to the first NaN, which the editor explains", async () => {
    await editor.toggleBreakpoint(error);
    await editor.page.keyboard.press("F5");
    await editor.stopsAt(scale);
    await editor.read(".exception-widget", "NaN", "sqrt");
    await editor.read(".debug-call-stack .monaco-list-row", "step 4");
    await editor.variable("temperature", "-0.09");
    await editor.expand("Loop");
    await editor.variable("step", "4");
    await editor.expand("Parameters");
    await editor.variable("net.0.weight", "f32[8, 4] mean=");
    await picture("nan");
  });

  await step("a variable whose value is gone is computed again", async () => {
    await editor.evaluate("shape(error)");
    await editor.read(".repl .monaco-list-row", "i64[2] [16, 1]");
  });

  await step("it goes back to the beginning, keeps an edit, and stops at the NaN again", async () => {
    await editor.evaluate("goto 0");
    await editor.read(".debug-call-stack .monaco-list-row", "step 0");
    await editor.evaluate("net.0.bias = net.0.bias + 0.5");
    await editor.evaluate("edits");
    await editor.read(".repl .monaco-list-row", "edited at step 0: net.0.bias = ");
    await editor.page.keyboard.press("F5");
    await editor.stopsAt(scale);
    await editor.read(".exception-widget", "NaN", "sqrt");
    await editor.read(".debug-call-stack .monaco-list-row", "step 4");
  });

  await step("it goes on to the end", async () => {
    await editor.page.keyboard.press("F5");
    const said = await finished("the script", program);
    if (!said.includes("the last loss is")) throw new Error(`it has not come to its end:\n${said}`);
    await until("the session is over", async () => !(await editor.page.$(".debug-top-stack-frame-line")));
  });
}

if (flag) fs.mkdirSync(pictures, { recursive: true });
const late = setTimeout(() => {
  console.error(`FAILED: not done within ${MINUTES} minutes`);
  end(program);
  end(editor?.server);
  process.exit(1);
}, MINUTES * 60 * 1000);
try {
  await walk();
} catch (error) {
  console.error(`FAILED: ${error.message}`);
  process.exitCode = 1;
} finally {
  clearTimeout(late);
  end(program);
  await editor?.close();
  fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
}
