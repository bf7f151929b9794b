// Builds the page into crates/view/page; `--check` says whether what is there is what the sources give.
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const folder = new URL("../crates/view/page/", import.meta.url);

async function licences() {
  const { dependencies } = JSON.parse(await readFile("package.json", "utf8"));
  const texts = Object.entries(dependencies).map(async ([name, version]) => {
    const text = await readFile(`node_modules/${name}/LICENSE`, "utf8");
    return `${name} ${version}\n\n${text.trim()}`;
  });
  return `/*!\nThis page contains:\n\n${(await Promise.all(texts)).join("\n\n").replaceAll("*/", "* /")}\n*/\n`;
}

const built = await build({
  entryPoints: { app: "src/main.tsx" },
  bundle: true,
  minify: true,
  write: false,
  outdir: "out",
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
});
const files = new Map(built.outputFiles.map((file) => [file.path.split("/").at(-1), file.text]));
files.set("app.js", (await licences()) + files.get("app.js"));
files.set("index.html", await readFile("src/index.html", "utf8"));

let stale = false;
for (const [name, text] of files) {
  const path = new URL(name, folder);
  if (process.argv.includes("--check")) {
    if ((await readFile(path, "utf8").catch(() => "")) !== text) {
      console.error(`crates/view/page/${name} is not what web/src gives; run \`make web\``);
      stale = true;
    }
  } else {
    await writeFile(path, text);
    console.log(`${name}: ${(Buffer.byteLength(text) / 1024).toFixed(0)} KB`);
  }
}
process.exit(stale ? 1 : 0);
