// Runs: curves, histograms, images, texts, settings and events, overlaid.
import { useMemo, useState } from "preact/hooks";
import { isExported, type Index, type RunInfo } from "./api";
import { Chart, type Axes } from "./chart";
import { Histogram, Images } from "./histogram";
import { bytes, colourOf, short, span, useKept } from "./util";

const TABS = ["curves", "histograms", "images", "texts", "settings", "events"] as const;
type Tab = (typeof TABS)[number];

const fits = (text: string, words: string) => {
  try {
    return new RegExp(words, "i").test(text);
  } catch {
    return text.includes(words);
  }
};

/** The time of a day, with the day if it is another one. */
const when = (time: number) => {
  const [at, now] = [new Date(time * 1000), new Date()];
  const isToday = at.toDateString() === now.toDateString();
  return isToday ? at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : at.toLocaleDateString();
};

export function Runs({ index }: { index: Index }) {
  const [tab, setTab] = useState<Tab>("curves");
  const [chosen, hide] = useKept<string[] | null>("hidden", null);
  const [words, search] = useState("");
  const [runWords, searchRuns] = useState("");
  const [axes, setAxes] = useKept<Axes>("axes", { by: "step", logX: false, logY: false, smoothing: 0, marks: true });
  const [folded, fold] = useState<string[]>([]);
  const [big, enlarge] = useState("");
  const all = index.runs.map((run, i) => ({ run, colour: colourOf(i) }));
  // Of very many runs, the latest are enough to begin with.
  const latest = index.runs.toSorted((a, b) => b.last - a.last).slice(0, 16).map((run) => run.name);
  const hidden = chosen ?? all.map(({ run }) => run.name).filter((name) => !latest.includes(name));
  const listed = all.filter(({ run }) => fits(run.name, runWords));
  const shown = listed.filter(({ run }) => !hidden.includes(run.name));
  const set = (part: Partial<Axes>) => setAxes({ ...axes, ...part });

  const groups = useMemo(() => {
    const tags = new Map<string, Set<string>>();
    for (const { run } of shown) {
      for (const { tag } of run.scalars) {
        if (!fits(tag, words)) continue;
        const group = tag.includes("/") ? tag.slice(0, tag.indexOf("/")) : "";
        tags.set(group, (tags.get(group) ?? new Set()).add(tag));
      }
    }
    return [...tags].sort(([a], [b]) => a.localeCompare(b)).map(([name, set]) => ({ name, tags: [...set].sort() }));
  }, [index.version, words, runWords, hidden.join()]);

  const toggle = (name: string) => hide(hidden.includes(name) ? hidden.filter((n) => n !== name) : [...hidden, name]);
  const only = (name: string) => hide(all.map(({ run }) => run.name).filter((n) => n !== name));
  const count = (of: (run: RunInfo) => unknown[]) => shown.reduce((n, { run }) => n + of(run).length, 0);
  const counts: Record<Tab, number> = {
    curves: new Set(shown.flatMap(({ run }) => run.scalars.map((s) => s.tag))).size,
    histograms: count((r) => r.histograms), images: count((r) => r.images), texts: count((r) => r.texts),
    settings: shown.filter(({ run }) => run.config).length, events: count((r) => r.events),
  };

  if (index.runs.length === 0 && index.is_behind) return <div class="empty big"><p>Reading …</p></div>;
  if (index.runs.length === 0) return <NoRuns folders={index.folders} />;
  return (
    <div class="split runs">
      <aside class="side" aria-label="Runs">
        <input type="search" placeholder="Filter runs" aria-label="Filter runs" value={runWords} onInput={(e) => searchRuns(e.currentTarget.value)} />
        <div class="row small">
          <button class="small" onClick={() => hide([])}>all</button>
          <button class="small" onClick={() => hide(all.map(({ run }) => run.name))}>none</button>
          <span class="grow" /><span class="faint">{shown.length} of {all.length}</span>
        </div>
        <ul class="runlist">
          {listed.map(({ run, colour }) => (
            <li key={run.name} class={hidden.includes(run.name) ? "off" : ""}>
              <label title={run.folder}>
                <input type="checkbox" checked={!hidden.includes(run.name)} onChange={() => toggle(run.name)} style={{ accentColor: colour }} />
                <i class="dot" style={{ background: colour }} />
                <span class="name">{run.name}</span>
                {run.is_live && <span class="live" title="It has told something just now">live</span>}
              </label>
              <div class="about">
                {run.began ? `${when(run.began)} · ${span(run.last - run.began)}` : "nothing yet"}
                {run.scalars.length > 0 && ` · step ${Math.max(...run.scalars.map((s) => s.step ?? 0))}`}
                <button class="link" onClick={() => only(run.name)}>only</button>
              </div>
              {run.events.some((e) => e.tag === "nan" || e.tag === "damaged") && (
                <button class="alarm" onClick={() => setTab("events")}>⚠ {run.events.find((e) => e.tag === "nan" || e.tag === "damaged")!.text}</button>
              )}
            </li>
          ))}
        </ul>
        {index.is_behind && <p class="faint">Reading …</p>}
        {index.has_more && <p class="fault">There are more than 1000 runs; the first ones are shown. Name a folder further down.</p>}
      </aside>
      <section class="main">
        <nav class="tabs" role="tablist">
          {TABS.map((name) => (
            <button role="tab" aria-selected={tab === name} class={tab === name ? "on" : ""} disabled={counts[name] === 0 && tab !== name} onClick={() => setTab(name)}>
              {name} <span class="faint">{counts[name] || ""}</span>
            </button>
          ))}
        </nav>
        {tab === "curves" && <>
          <div class="tools">
            <input type="search" placeholder="Filter curves (/)" aria-label="Filter curves" class="find" value={words} onInput={(e) => search(e.currentTarget.value)} />
            <span class="switch" role="group" aria-label="Horizontal axis">
              {(["step", "time"] as const).map((by) => <button class={axes.by === by ? "on" : ""} aria-pressed={axes.by === by} onClick={() => set({ by })}>{by}</button>)}
            </span>
            <label class="check"><input type="checkbox" checked={axes.logX} onChange={() => set({ logX: !axes.logX })} />log x</label>
            <label class="check"><input type="checkbox" checked={axes.logY} onChange={() => set({ logY: !axes.logY })} />log y</label>
            <label class="check"><input type="checkbox" checked={axes.marks} onChange={() => set({ marks: !axes.marks })} />events</label>
            {!isExported && <label class="slide">smoothing <output>{axes.smoothing ? axes.smoothing.toFixed(3) : "off"}</output>
              <input type="range" min={0} max={1} step={0.01} aria-label="Smoothing" value={axes.smoothing ? 1 - (1 - axes.smoothing) ** (1 / 3) : 0}
                onInput={(e) => set({ smoothing: Math.round((1 - (1 - Number(e.currentTarget.value)) ** 3) * 1000) / 1000 })} />
            </label>}
          </div>
          {groups.length === 0 && <p class="empty">{shown.length ? "No curve fits the filter." : "Choose runs on the left."}</p>}
          {groups.map(({ name, tags }) => (
            <section class="group" key={name}>
              {(name || groups.length > 1) && (
                <button class="fold" aria-expanded={!folded.includes(name)} onClick={() => fold(folded.includes(name) ? folded.filter((n) => n !== name) : [...folded, name])}>
                  <b>{folded.includes(name) ? "▸" : "▾"} {name || "others"}</b> <span class="faint">{tags.length}</span>
                </button>
              )}
              {!folded.includes(name) && (
                <div class="cards">
                  {tags.map((tag) => (
                    <Chart key={tag} tag={tag} axes={axes} height={big === tag ? 440 : 210} isBig={big === tag} onBig={() => enlarge(big === tag ? "" : tag)}
                      curves={shown.filter(({ run }) => run.scalars.some((s) => s.tag === tag)).map(({ run, colour }) => (
                        { run: run.name, colour, n: run.scalars.find((s) => s.tag === tag)!.n, events: run.events }
                      ))} />
                  ))}
                </div>
              )}
            </section>
          ))}
        </>}
        {tab === "histograms" && <div class="cards">
          {shown.flatMap(({ run, colour }) => run.histograms.map(({ tag, n }) => <Histogram key={`${run.name} ${tag}`} run={run.name} tag={tag} n={n} colour={colour} />))}
        </div>}
        {tab === "images" && <div class="cards">
          {isExported ? <p class="empty">Images are not part of an exported page; `fluvial view` shows them.</p>
            : shown.flatMap(({ run }) => run.images.map(({ tag, n }) => <Images key={`${run.name} ${tag}`} run={run.name} tag={tag} n={n} />))}
        </div>}
        {tab === "texts" && shown.flatMap(({ run, colour }) => run.texts.map((text) => (
          <article class="card text"><header><i class="dot" style={{ background: colour }} /><h3>{text.tag}</h3><span class="grow" /><span class="faint">{run.name} · step {text.step}</span></header><pre>{text.text}</pre></article>
        )))}
        {tab === "settings" && <Settings runs={shown} />}
        {tab === "events" && <Events runs={shown} />}
      </section>
    </div>
  );
}

function NoRuns({ folders }: { folders: string[] }) {
  return (
    <div class="empty big">
      <h2>No runs yet</h2>
      <p>{folders.length ? <>Nothing is logged below <code>{folders.join(", ")}</code>. It appears here as soon as there is something.</> : "No folder of runs was named."}</p>
      <pre>{`fluvial run train.py --log runs/first

with fl.summary.Writer("runs/first") as log:
    log.scalar("loss", loss, step)`}</pre>
    </div>
  );
}

/** Nested settings as rows of dotted names. */
function flat(value: unknown, name = ""): [string, string][] {
  if (value === null || value === undefined) return [];
  if (typeof value === "object" && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, inner]) => flat(inner, name ? `${name}.${key}` : key));
  }
  if (Array.isArray(value) && value.length === 0) return [];
  const isBytes = name.endsWith("memory_bytes") && typeof value === "number";
  return [[name, isBytes ? bytes(value as number) : typeof value === "string" ? value : JSON.stringify(value)]];
}

function Settings({ runs }: { runs: { run: RunInfo; colour: string }[] }) {
  const [onlyDifferent, setOnly] = useKept("different", false);
  const tables = runs.map(({ run }) => new Map([...flat(run.config), ...flat(run.machine, "machine")]));
  const names = [...new Set(tables.flatMap((table) => [...table.keys()]))];
  const rows = names.map((name) => ({ name, values: tables.map((table) => table.get(name)) }))
    .map((row) => ({ ...row, differs: new Set(row.values).size > 1 }));
  if (runs.length === 0 || names.length === 0) {
    return <p class="empty">No run here has told its settings. <code>fluvial run --log</code> writes them; in Python, <code>log.config({"{…}"})</code>.</p>;
  }
  return (
    <article class="card">
      <header><h3>Settings</h3><span class="grow" />
        <label class="check"><input type="checkbox" checked={onlyDifferent} onChange={() => setOnly(!onlyDifferent)} />differences only</label></header>
      <div class="scroll"><table class="data settings">
        <thead><tr><th /> {runs.map(({ run, colour }) => <th><i class="dot" style={{ background: colour }} />{run.name}</th>)}</tr></thead>
        <tbody>{rows.filter((row) => row.differs || !onlyDifferent).map((row) => (
          <tr class={row.differs ? "differs" : ""}><th>{row.name}</th>{row.values.map((value) => <td>{value ?? <span class="faint">–</span>}</td>)}</tr>
        ))}</tbody>
      </table></div>
    </article>
  );
}

function Events({ runs }: { runs: { run: RunInfo; colour: string }[] }) {
  const all = runs.flatMap(({ run, colour }) => run.events.map((event) => ({ run, colour, event }))).sort((a, b) => b.event.time - a.event.time);
  return (
    <article class="card"><div class="scroll"><table class="data">
      <thead><tr><th>when</th><th>run</th><th>step</th><th>what</th><th /></tr></thead>
      <tbody>{all.map(({ run, colour, event }) => (
        <tr class={event.tag === "nan" || event.tag === "damaged" ? "bad" : ""}>
          <td>{event.time ? new Date(event.time * 1000).toLocaleTimeString() : "–"}</td><td><i class="dot" style={{ background: colour }} />{run.name}</td>
          <td class="number">{short(event.step)}</td><td><span class="chip">{event.tag}</span></td><td>{event.text}</td>
        </tr>
      ))}</tbody>
    </table></div></article>
  );
}
