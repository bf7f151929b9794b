// The page: what there is to look at, on the left; one of its views beside it.
import { render } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ask, isExported, live, type Index } from "./api";
import { Memory } from "./memory";
import { ProgramView } from "./program";
import { Runs } from "./runs";
import { Tensors } from "./tensors";
import { Time } from "./time";
import { useKept } from "./util";
import "./style.css";

const VIEWS = [
  { name: "runs", title: "Runs", key: "1", icon: "M2 13 6 8l3 3 5-8" },
  { name: "program", title: "Program", key: "2", icon: "M3 2h4v4H3zM9 10h4v4H9zM5 6v6h4M11 10V4H7" },
  { name: "memory", title: "Memory", key: "3", icon: "M2 4h12v8H2zM5 4v8M8 4v8M11 4v8" },
  { name: "time", title: "Time", key: "4", icon: "M2 4h12M2 8h8M2 12h5" },
  { name: "tensors", title: "Tensors", key: "5", icon: "M2 14V9M5 14V5M8 14V2M11 14V6M14 14v-3" },
] as const;
type Name = (typeof VIEWS)[number]["name"];

const has: Record<Name, (index: Index) => number> = {
  runs: (index) => index.runs.length,
  program: (index) => index.programs.length,
  memory: (index) => index.programs.length,
  time: (index) => index.profiles.length,
  tensors: (index) => index.tensors.length,
};

function App() {
  const [index, setIndex] = useState<Index | null>(null);
  const [error, fail] = useState("");
  const [isOn, setOn] = useState(true);
  const [view, setView] = useState<Name | null>((location.hash.slice(1) as Name) || null);
  const [colours, setColours] = useKept<"auto" | "light" | "dark">("theme", "auto");
  const [isHelpOpen, openHelp] = useState(false);
  const pending = useRef(false);
  const again = useRef(false);

  const load = useCallback(() => {
    // What is told meanwhile is asked for afterwards.
    if (pending.current) { again.current = true; return; }
    pending.current = true;
    ask<Index>("index").then((index) => { setIndex(index); fail(""); }, (error: Error) => fail(error.message))
      .finally(() => {
        pending.current = false;
        if (again.current) { again.current = false; load(); }
      });
  }, []);
  useEffect(() => {
    load();
    const stop = live(load, setOn);
    // Whether a run is still under way is not told by the run.
    const timer = isExported ? undefined : setInterval(load, 15_000);
    return () => { stop(); clearInterval(timer); };
  }, []);

  const isDark = colours === "dark" || (colours === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";

  const first = index && (["runs", "program", "time", "tensors"] as const).find((name) => has[name](index) > 0);
  const shown: Name = view && VIEWS.some(({ name }) => name === view) ? view : first ?? "runs";
  const go = (name: Name) => {
    setView(name);
    // A page inside of another one has no address of its own.
    if (location.protocol !== "about:") history.replaceState(null, "", `#${name}`);
  };

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key === "Escape") { openHelp(false); target.blur(); return; }
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
      const chosen = VIEWS.find(({ key }) => key === event.key);
      if (chosen) go(chosen.name);
      else if (event.key === "/") document.querySelector<HTMLInputElement>("input.find")?.focus();
      else if (event.key === "d") setColours(isDark ? "light" : "dark");
      else if (event.key === "?") openHelp((open) => !open);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [isDark]);

  return (
    <div class="page">
      <nav class="rail" aria-label="Views">
        <div class="logo" title={`Fluvial ${index?.fluvial ?? ""}`}>
          <svg viewBox="0 0 16 16" width="26" height="26" aria-label="Fluvial"><path d="M1 5c3-4 5 4 8 1s4-2 6-1M1 11c3-4 5 4 8 1s4-2 6-1" /></svg>
        </div>
        {VIEWS.map(({ name, title, icon, key }) => (
          <button key={name} class={shown === name ? "on" : ""} aria-current={shown === name ? "page" : undefined} title={`${title} (${key})`}
            disabled={!index || (has[name](index) === 0 && name !== "runs")} onClick={() => go(name)}>
            <svg viewBox="0 0 16 16" width="19" height="19" aria-hidden="true"><path d={icon} /></svg>{title}
          </button>
        ))}
        <span class="grow" />
        <button title="Light or dark (d)" onClick={() => setColours(isDark ? "light" : "dark")}>{isDark ? "☀" : "☾"}<span class="sr">Light or dark</span></button>
        <button title="Keys (?)" aria-expanded={isHelpOpen} onClick={() => openHelp(!isHelpOpen)}>?<span class="sr">Keys</span></button>
      </nav>
      <main>
        {!isOn && <p class="banner" role="alert">`fluvial view` does not answer. What you see may be old; start it again, and open the address that it prints.</p>}
        {isExported && <p class="banner calm">An exported page: nothing is live.</p>}
        {!index && !error && <div class="empty big"><p>Reading …</p></div>}
        {error && !index && <div class="empty big"><h2>Nothing to show</h2><p>{error}</p></div>}
        {index && shown === "runs" && <Runs index={index} />}
        {index && shown === "program" && <ProgramView programs={index.programs} />}
        {index && shown === "memory" && <Memory programs={index.programs} />}
        {index && shown === "time" && <Time profiles={index.profiles} />}
        {index && shown === "tensors" && <Tensors files={index.tensors} />}
      </main>
      {isHelpOpen && (
        <div class="help card" role="dialog" aria-label="Keys">
          <h3>Keys</h3>
          <table><tbody>
            {VIEWS.map(({ title, key }) => <tr><td><kbd>{key}</kbd></td><td>{title}</td></tr>)}
            <tr><td><kbd>/</kbd></td><td>search</td></tr>
            <tr><td><kbd>↑</kbd> <kbd>↓</kbd></td><td>the call before or after, in a listing</td></tr>
            <tr><td><kbd>[</kbd> <kbd>]</kbd></td><td>the pass before or after</td></tr>
            <tr><td><kbd>d</kbd></td><td>light or dark</td></tr>
            <tr><td><kbd>Esc</kbd></td><td>close</td></tr>
          </tbody></table>
        </div>
      )}
    </div>
  );
}

render(<App />, document.getElementById("app")!);
