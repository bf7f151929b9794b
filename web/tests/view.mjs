// The page in a real browser: `node tests/view.mjs FLUVIAL DEMO_RUNS [--pictures DIR]`.
// Given the command line and the maker of runs to look at, it opens each view, uses it, and prints what it measured.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const [fluvial, demoRuns] = process.argv.slice(2);
const at = process.argv.indexOf("--pictures");
const pictures = at > 0 ? process.argv[at + 1] : null;
const folder = mkdtempSync(join(tmpdir(), "fluvial-view-"));
const repository = fileURLToPath(new URL("../..", import.meta.url));
const children = [];
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

function serve(...paths) {
  const child = spawn(fluvial, ["view", ...paths, "--source", repository], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (text) => resolve(String(text).trim()));
    child.on("exit", (code) => reject(new Error(`fluvial view ended with ${code}`)));
  });
}

async function check(name, test) {
  const began = performance.now();
  await test();
  console.log(`ok   ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
}

/** Milliseconds that the page's own thread has worked. */
async function worked(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find((metric) => metric.name === "TaskDuration").value * 1000;
}

let context;
try {
  execFileSync(demoRuns, [folder]);
  const loop = join(repository, "programs/while.fl");
  execFileSync(fluvial, ["run", "-q", loop, "--set", "x=1", "--set", "w=1.01", "--profile", "trace.json", "--log", "logged/first"], { cwd: folder, stdio: "ignore" });
  context = await chromium.launchPersistentContext(join(folder, "browser"), { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags, viewport: { width: 1440, height: 900 }, acceptDownloads: true });
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  const picture = (name) => pictures && page.screenshot({ path: join(pictures, `${name}.png`) });
  const url = await serve("runs", "logged", "step.flb", "small.flb", "trace.json");

  await check("curves are drawn, and show their numbers", async () => {
    await page.goto(url);
    const chart = page.locator('[data-tag="train/loss"]');
    await chart.locator("canvas").waitFor();
    await page.waitForTimeout(600);
    const drawn = await chart.locator("canvas").evaluate((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((_, i) => i % 4 === 3).filter((alpha) => alpha > 0).length;
    });
    assert.ok(drawn > 1000, `${drawn} pixels`);
    await chart.locator(".u-over").hover();
    await chart.locator(".tip").waitFor();
    assert.match(await chart.locator(".tip").innerText(), /step \d+[^]*rate 0\.1/);
    assert.match(await page.locator(".alarm").innerText(), /NaN at step 1200/);
  });

  await check("brush, reset, log, smoothing, time", async () => {
    const chart = page.locator('[data-tag="train/loss"]');
    const box = await chart.locator(".u-over").boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 5 });
    const asked = page.waitForResponse((response) => response.url().includes("from="));
    await page.mouse.up();
    assert.equal((await asked).status(), 200);
    await chart.getByText("reset zoom").click();
    await page.getByLabel("log y").check();
    const smooth = page.waitForResponse((response) => response.url().includes("smooth=") && response.url().includes("tag=train%2Floss"));
    await page.getByLabel("Smoothing", { exact: true }).fill("0.6");
    assert.ok((await (await smooth).json()).smooth.length > 100);
    const time = page.waitForResponse((response) => response.url().includes("by=time"));
    await page.getByRole("button", { name: "time", exact: true }).click();
    assert.equal((await time).status(), 200);
    await page.getByRole("button", { name: "step", exact: true }).click();
    await page.getByLabel("log y").uncheck();
    await page.waitForTimeout(700);
    await picture("view-runs");
  });

  await check("downloads", async () => {
    const chart = page.locator('[data-tag="train/loss"]');
    for (const kind of ["CSV", "PNG", "SVG"]) {
      await chart.getByLabel("Download train/loss").click();
      const [saved] = await Promise.all([page.waitForEvent("download"), chart.getByRole("menuitem", { name: kind, exact: true }).click()]);
      const bytes = readFileSync(await saved.path());
      assert.ok(bytes.length > 1000, `${kind}: ${bytes.length} bytes`);
      if (kind === "PNG") assert.equal(bytes.subarray(1, 4).toString(), "PNG");
    }
  });

  await check("histograms, images, texts, settings, events", async () => {
    await page.getByRole("tab", { name: /histograms/i }).click();
    await page.locator(".ridge").first().waitFor();
    await page.getByRole("tab", { name: /images/i }).click();
    await page.waitForFunction(() => [...document.querySelectorAll("img.image")].some((image) => image.naturalWidth === 1));
    await page.getByRole("tab", { name: /texts/i }).click();
    await page.getByText("A run to look at.").first().waitFor();
    await page.getByRole("tab", { name: /settings/i }).click();
    await page.getByLabel("differences only").check();
    assert.ok((await page.locator(".settings tbody tr th").allInnerTexts()).includes("rate"));
    await page.getByLabel("differences only").uncheck();
    await page.getByRole("tab", { name: /events/i }).click();
    assert.ok((await page.locator("tbody tr.bad").count()) > 0);
    await page.getByRole("tab", { name: /curves/i }).click();
  });

  await check("a run under way appears and grows", async () => {
    const writer = spawn(demoRuns, [folder, "--live", "60"]);
    children.push(writer);
    const entry = page.locator(".runlist li", { hasText: "live" }).first();
    await entry.waitFor({ timeout: 10_000 });
    const step = async () => Number((await entry.innerText()).match(/step (\d+)/)?.[1] ?? 0);
    const first = await step();
    await page.waitForFunction((first) => {
      const item = [...document.querySelectorAll(".runlist li")].find((item) => item.querySelector(".name").textContent.endsWith("live"));
      return Number(item.textContent.match(/step (\d+)/)?.[1] ?? 0) > first + 10;
    }, first, { timeout: 15_000 });
    await page.getByLabel("Filter runs").fill("live");
    await page.locator('[data-tag="train/loss"] canvas').waitFor();
    await page.getByLabel("Filter runs").fill("");
  });

  await check("others see nothing", async () => {
    const { port } = new URL(url);
    for (const path of ["/", "/api/index", `/${"0".repeat(32)}/`]) {
      assert.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 403, path);
    }
    assert.ok((await fetch(`${url}%2e%2e/%2e%2e/etc/passwd`)).status >= 400);
    assert.equal((await fetch(`${url}api/source?file=/etc/passwd&line=1`)).status, 404);
    assert.equal((await fetch(`${url}api/index`, { headers: { origin: "http://evil.example" } })).status, 403);
  });

  await check("a program: search, choose, passes, differences", async () => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("2");
    await page.locator(".listing .row").first().waitFor();
    await page.getByLabel("Program", { exact: true }).selectOption("step.flb");
    await page.locator(".graph .node").first().waitFor();
    await page.getByLabel("Search").fill("relu");
    await page.getByRole("button", { name: "next", exact: true }).click();
    assert.match(await page.locator(".details h2").innerText(), /relu/);
    assert.match(await page.locator(".details").innerText(), /\w+\.rs:\d+/);
    await page.getByLabel("Search").fill("");
    await page.locator(".graph .node.call").first().click();
    assert.equal(await page.locator(".listing .row.selected").count(), 1);
    await page.waitForTimeout(500);
    await picture("view-program");
    const written = await page.locator(".tools").innerText();
    const n = await page.getByLabel("Passes").getAttribute("max");
    await page.getByLabel("Passes").fill(n);
    await page.getByLabel("compare with").selectOption("before");
    await page.waitForTimeout(400);
    assert.notEqual(await page.locator(".tools").innerText(), written);
    const last = await page.locator(".listing").innerText();
    assert.match(last, /adam_update|fused|matmul/);
    await page.getByLabel("Search").fill("fused");
    if (await page.getByRole("button", { name: "next", exact: true }).count()) {
      await page.getByRole("button", { name: "next", exact: true }).click();
      await page.locator(".kernel").first().waitFor();
    }
    await page.getByLabel("Search").fill("");
    await page.getByLabel("Passes").fill("0");
    await page.getByLabel("compare with").selectOption("small.flb");
    await page.locator(".listing .row.new").first().waitFor();
    await page.getByLabel("compare with").selectOption("");
  });

  await check("memory and time", async () => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("3");
    await page.locator("canvas.memory").waitFor();
    await page.getByLabel("Program", { exact: true }).selectOption("step.flb");
    const planned = page.waitForResponse((response) => response.url().includes("size.batch=256"));
    await page.getByLabel("batch").fill("256");
    await page.getByLabel("batch").press("Enter");
    assert.ok((await (await planned).json()).peak_bytes > 1e5);
    await page.waitForTimeout(400);
    await page.locator("canvas.memory").hover();
    await picture("view-memory");
    await page.keyboard.press("Escape");
    await page.keyboard.press("4");
    await page.locator(".flame g").first().waitFor();
    assert.match(await page.locator("table.data").innerText(), /while|add|mul/);
  });

  await check("dark, keys, no faults", async () => {
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("d");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await page.keyboard.press("d");
    assert.deepEqual(faults, []);
  });

  await check("a million points and 10,000 calls", async () => {
    const large = await serve("long", "long.flb");
    await page.goto(large);
    const before = await worked(session);
    await page.locator('[data-tag="walk"] canvas').waitFor();
    await page.waitForTimeout(500);
    const curve = await worked(session);
    console.log(`     a curve of 1,000,000 points: ${(curve - before).toFixed(0)} ms of the page's thread`);
    await page.keyboard.press("2");
    await page.locator(".graph .node").first().waitFor();
    await page.waitForTimeout(500);
    const graph = await worked(session);
    console.log(`     a program of 10,000 calls: ${(graph - curve).toFixed(0)} ms of the page's thread`);
    await page.locator(".listing").evaluate((element) => { element.scrollTop = 100_000; });
    await page.waitForTimeout(200);
    console.log(`     scrolling its listing: ${((await worked(session)) - graph).toFixed(0)} ms`);
    assert.ok((await page.locator(".listing .row").count()) < 200);
  });

  await check("an exported page needs nobody", async () => {
    execFileSync(fluvial, ["view", "runs", "step.flb", "trace.json", "--export", "page.html"], { cwd: folder, stdio: "ignore" });
    await page.goto("about:blank");
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`file://${join(folder, "page.html")}`);
    await page.locator('[data-tag="train/loss"] canvas').waitFor();
    await page.keyboard.press("2");
    await page.locator(".graph .node").first().waitFor();
    await page.keyboard.press("3");
    await page.locator("canvas.memory").waitFor();
    assert.deepEqual(asked.filter((address) => !address.startsWith("file:") && !address.startsWith("data:")), []);
  });

  await check("a notebook shows a page inside of its own", async () => {
    const inside = readFileSync(join(folder, "page.html"), "utf8").replaceAll("&", "&amp;").replaceAll('"', "&quot;");
    writeFileSync(join(folder, "notebook.html"), `<iframe sandbox="allow-scripts" style="width: 100%; height: 700px" srcdoc="${inside}"></iframe>`);
    await page.goto(`file://${join(folder, "notebook.html")}`);
    const frame = page.frameLocator("iframe");
    await frame.getByRole("button", { name: "Program" }).click();
    await frame.locator(".graph .node").first().waitFor();
    await frame.locator(".listing .row").nth(3).click();
    await frame.locator(".details h2").waitFor();
  });
  assert.deepEqual(faults, []);
} finally {
  await context?.close();
  children.forEach((child) => child.kill());
  rmSync(folder, { recursive: true, force: true });
}
