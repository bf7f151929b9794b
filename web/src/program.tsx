// A program: listing, graph and the user's lines beside each other, pass by pass.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Graph } from "./graph";
import { difference, outputs, placeText, rows, valueName, type Call, type Named, type Overview, type Pass, type Row, type Stage } from "./model";
import { bytes, useAsk, useSize } from "./util";

const HEIGHT = 22;

export function ProgramView({ programs }: { programs: string[] }) {
  const [chosen, choose] = useState("");
  const [number, setNumber] = useState(0);
  const [against, setAgainst] = useState("");
  const [words, search] = useState("");
  const [selected, select] = useState<string | null>(null);
  const [tab, setTab] = useState<"call" | "program" | "pass">("program");
  const name = programs.includes(chosen) ? chosen : programs[0];
  const overview = useAsk<Overview>("program", { program: name }, [name]);
  const stages = overview.data?.stages ?? [];
  const stageNumber = Math.min(number, Math.max(0, stages.length - 1));
  const stage = useAsk<Stage>("stage", { program: name, stage: stageNumber }, [name, stageNumber]);
  const isBefore = against === "before";
  const other = useAsk<Stage>(against && !(isBefore && stageNumber === 0) ? "stage" : null,
    isBefore ? { program: name, stage: stageNumber - 1 } : { program: against, stage: 0 }, [name, stageNumber, against]);

  const all = useMemo(() => (stage.data ? rows(stage.data) : []), [stage.data]);
  const compared = useMemo(() => (against && other.data ? difference(rows(other.data), all) : all), [all, other.data, against]);
  const changed = useMemo(() => new Set(compared.filter((row) => row.mark === "new").map((row) => row.path)), [compared]);
  const found = useMemo(() => {
    const wanted = words.toLowerCase();
    if (!wanted) return null;
    return new Set(all.filter((row) => row.kind === "call" && searchable(stage.data!, row).includes(wanted)).map((row) => row.path));
  }, [all, words]);

  const go = (step: number) => setNumber(Math.max(0, Math.min(stages.length - 1, stageNumber + step)));
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (/^(INPUT|SELECT)$/.test((event.target as HTMLElement).tagName)) return;
      if (event.key === "[") go(-1);
      if (event.key === "]") go(1);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  useEffect(() => { select(null); setNumber(0); setTab("program"); }, [name]);
  const pick = (path: string) => { select(path); setTab("call"); };
  const row = all.find((row) => row.path === selected);
  const nextFound = () => {
    if (!found?.size) return;
    const list = [...found];
    pick(list[(list.indexOf(selected ?? "") + 1) % list.length]);
  };

  return (
    <div class="program">
      <div class="tools">
        <select aria-label="Program" value={name} onChange={(e) => choose(e.currentTarget.value)}>{programs.map((p) => <option>{p}</option>)}</select>
        <input type="search" class="find" placeholder="Search op, name, type, layer, line (/)" aria-label="Search" value={words} onInput={(e) => search(e.currentTarget.value)} onKeyDown={(e) => e.key === "Enter" && nextFound()} />
        {found && <span class="faint">{found.size} found{found.size > 0 && <>, <button class="link" onClick={nextFound}>next</button></>}</span>}
        <label>compare with <select value={against} onChange={(e) => setAgainst(e.currentTarget.value)}>
          <option value="">nothing</option><option value="before">the pass before</option>
          {programs.filter((p) => p !== name).map((p) => <option value={p}>{p}</option>)}
        </select></label>
        {against && <span class="faint"><b class="plus">+{compared.filter((r) => r.mark === "new").length}</b> <b class="minus">−{compared.filter((r) => r.mark === "gone").length}</b></span>}
        <span class="grow" />
        {overview.data && <span class="faint">{stages[stageNumber]?.n_calls ?? overview.data.n_calls} calls</span>}
      </div>
      {stages.length > 1 && (
        <div class="passes">
          <button class="icon" aria-label="The pass before" disabled={stageNumber === 0} onClick={() => go(-1)}>‹</button>
          <input type="range" min={0} max={stages.length - 1} value={stageNumber} aria-label="Passes" aria-valuetext={stages[stageNumber].name} onInput={(e) => setNumber(Number(e.currentTarget.value))} list="ticks" />
          <button class="icon" aria-label="The next pass" disabled={stageNumber === stages.length - 1} onClick={() => go(1)}>›</button>
          <span class="pass"><b>{stageNumber === 0 ? "as written" : `${stageNumber}. ${stages[stageNumber].name}`}</b> <span class="faint">{stages[stageNumber].why}</span></span>
          <div class="bars" aria-hidden="true">{stages.map((pass, i) => (
            <i class={`${i === stageNumber ? "on" : ""} ${pass.patches.length ? "did" : ""}`} title={`${pass.name}: ${pass.n_calls} calls, ${pass.patches.length} changes`}
              style={{ height: `${4 + (22 * pass.n_calls) / Math.max(...stages.map((p) => p.n_calls))}px` }} onClick={() => setNumber(i)} />
          ))}</div>
        </div>
      )}
      {(overview.data?.fault || overview.error || stage.error || other.error) && <p class="fault">{overview.data?.fault ?? overview.error ?? stage.error ?? other.error}</p>}
      {!stage.data && !stage.error && <p class="empty">Reading …</p>}
      {stage.data && <div class="three">
        <Listing stage={stage.data} rows={compared} selected={selected} found={found} onSelect={pick} />
        <Graph stage={stage.data} selected={selected} changed={changed} onSelect={pick} />
        <aside class="details" aria-label="Details">
          <nav class="tabs" role="tablist">{(["program", "pass", "call"] as const).map((kind) => (
            <button role="tab" aria-selected={tab === kind} class={tab === kind ? "on" : ""} disabled={kind === "call" && !row} onClick={() => setTab(kind)}>{kind}</button>
          ))}</nav>
          <div class="scroll">
            {tab === "call" && row && <CallDetails stage={stage.data} row={row} all={all} states={overview.data?.states ?? []} onSelect={pick} />}
            {(tab === "program" || (tab === "call" && !row)) && overview.data && <About overview={overview.data} />}
            {tab === "pass" && stages[stageNumber] && <PassDetails pass={stages[stageNumber]} before={stages[stageNumber - 1]} />}
          </div>
        </aside>
      </div>}
    </div>
  );
}

const searchable = (stage: Stage, row: Row) => {
  const block = stage.blocks[row.block], call = block.calls[row.call];
  const place = call.at === undefined ? undefined : stage.places[call.at];
  const types = outputs(call).map((id) => stage.types[block.types[id]]?.text).join(" ");
  return `${row.text} ${types} ${placeText(place)} ${place?.layer ?? ""} ${place?.phase ?? ""} ${place?.function ?? ""}`.toLowerCase();
};

/** All lines, of which those in sight are drawn. */
function Listing({ stage, rows: all, selected, found, onSelect }: {
  stage: Stage; rows: Row[]; selected: string | null; found: Set<string> | null; onSelect: (path: string) => void;
}) {
  const [folded, fold] = useState<Set<string>>(new Set());
  const [box, { height }] = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const rows = useMemo(() => {
    let hidden: string | null = null;
    return all.filter((row) => {
      if (hidden !== null && row.path.startsWith(`${hidden}:`)) return false;
      hidden = folded.has(row.path) ? row.path : null;
      return true;
    });
  }, [all, folded]);
  useEffect(() => {
    const at = rows.findIndex((row) => row.path === selected);
    const element = box.current;
    if (at < 0 || !element) return;
    if (at * HEIGHT < element.scrollTop || (at + 1) * HEIGHT > element.scrollTop + element.clientHeight) element.scrollTop = at * HEIGHT - element.clientHeight / 2;
  }, [selected]);
  const first = Math.max(0, Math.floor(top / HEIGHT) - 10);
  const shown = rows.slice(first, first + Math.ceil((height || 600) / HEIGHT) + 20);
  const move = (step: number) => {
    const calls = rows.filter((row) => row.kind === "call" && row.mark !== "gone");
    const at = calls.findIndex((row) => row.path === selected);
    const next = calls[Math.max(0, Math.min(calls.length - 1, at + step))];
    if (next) onSelect(next.path);
  };
  return (
    <div class="listing" ref={box} tabIndex={0} role="listbox" aria-label="Listing" onScroll={(e) => setTop(e.currentTarget.scrollTop)} onKeyDown={(e) => {
      if (e.key === "ArrowDown" || e.key === "ArrowUp") { move(e.key === "ArrowDown" ? 1 : -1); e.preventDefault(); }
    }}>
      <div style={{ height: `${rows.length * HEIGHT}px`, position: "relative" }}>
        {shown.map((row, i) => {
          const call: Call | undefined = row.mark === "gone" ? undefined : stage.blocks[row.block]?.calls[row.call];
          const place = call?.at === undefined ? undefined : stage.places[call.at];
          const isFound = found === null || found.has(row.path);
          return (
            <div key={`${row.path}${row.mark ?? ""}`} role="option" aria-selected={row.path === selected} style={{ top: `${(first + i) * HEIGHT}px` }}
              class={`row ${row.kind} ${row.mark ?? ""} ${row.path === selected ? "selected" : ""} ${found && isFound && row.kind === "call" ? "found" : ""} ${place?.phase ?? ""}`}
              onClick={() => row.kind === "call" && row.mark !== "gone" && onSelect(row.path)}>
              <span class="mark">{row.mark === "gone" ? "−" : row.mark === "new" ? "+" : ""}</span>
              <span style={{ width: `${row.depth * 14}px`, flex: "none" }} />
              {call?.blocks ? <button class="link" aria-label={folded.has(row.path) ? "Open" : "Fold"} onClick={(e) => { e.stopPropagation(); const next = new Set(folded); if (!next.delete(row.path)) next.add(row.path); fold(next); }}>{folded.has(row.path) ? "▸" : "▾"}</button> : null}
              <Text text={row.text} op={row.kind === "call" ? call?.op : undefined} />
              {call && <span class="type">{outputs(call).map((id) => stage.types[stage.blocks[row.block].types[id]]?.text).join(", ")}</span>}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** A line with its op in bold. */
function Text({ text, op }: { text: string; op?: string }) {
  const at = op === undefined ? -1 : text.indexOf(op, text.indexOf(" = ") + 1);
  if (op === undefined || at < 0) return <span class="code">{text}</span>;
  return <span class="code">{text.slice(0, at)}<b>{op}</b>{text.slice(at + op.length)}</span>;
}

function CallDetails({ stage, row, all, states, onSelect }: { stage: Stage; row: Row; all: Row[]; states: Named[]; onSelect: (path: string) => void }) {
  const block = stage.blocks[row.block], call = block.calls[row.call];
  const place = call.at === undefined ? undefined : stage.places[call.at];
  const maker = (id: number) => all.find((other) => other.block === row.block && other.kind === "call" && outputs(block.calls[other.call]).includes(id));
  const users = all.filter((other) => other.block === row.block && other.kind === "call" && block.calls[other.call].in.some((id) => outputs(call).includes(id)));
  // What a gradient does with a line stands at the same line, in another phase.
  const twins = place ? all.filter((other) => {
    if (other.kind !== "call" || other.path === row.path) return false;
    const at = stage.blocks[other.block].calls[other.call].at;
    const theirs = at === undefined ? undefined : stage.places[at];
    return theirs && theirs.file === place.file && theirs.line === place.line && theirs.layer === place.layer && theirs.phase !== place.phase;
  }).slice(0, 12) : [];
  const state = call.attrs?.find(([name]) => name === "state")?.[1];
  const link = (other: Row) => <button class="link code" onClick={() => onSelect(other.path)}>{other.text}</button>;
  return <>
    <h2>{call.op}</h2>
    <p class="chips">{place && place.phase !== "forward" && <span class={`chip ${place.phase}`}>{place.phase}</span>}{place?.layer && <span class="chip">{place.layer}</span>}{call.kernel && <span class="chip">{call.kernel.length - 1} instructions</span>}</p>
    {place && <SourceLines file={place.file} line={place.line} about={place.function ? `in ${place.function}` : ""} from={place.from} />}
    {call.attrs && <Section title="Attributes"><table class="data plain"><tbody>{call.attrs.map(([name, value]) => <tr><th>{name}</th><td><code>{value}</code></td></tr>)}</tbody></table></Section>}
    {state && <Section title="State">{states.filter((s) => s.name === state).map((s) => <p><code>{s.type}</code> {s.role} · {bytes(s.bytes)}</p>)}</Section>}
    <Section title="Inputs"><table class="data plain"><tbody>{call.in.map((id) => {
      const made = maker(id), type = stage.types[block.types[id]];
      return <tr><td>{made ? <button class="link code" onClick={() => onSelect(made.path)}>{valueName(block, id)}</button> : <code>{valueName(block, id)}</code>}</td><td><code>{type?.text}</code></td><td class="number faint">{bytes(type?.bytes)}</td></tr>;
    })}</tbody></table></Section>
    <Section title="Outputs"><table class="data plain"><tbody>{outputs(call).map((id) => {
      const type = stage.types[block.types[id]];
      return <tr><td><code>{valueName(block, id)}</code></td><td><code>{type?.text}</code></td><td class="number faint">{bytes(type?.bytes)}</td></tr>;
    })}</tbody></table></Section>
    {users.length > 0 && <Section title={`Used by ${users.length}`}>{users.slice(0, 12).map((other) => <p>{link(other)}</p>)}</Section>}
    {twins.length > 0 && <Section title="At the same line, in other phases">{twins.map((other) => <p>{link(other)}</p>)}</Section>}
    {call.kernel && <Section title="Kernel"><pre class="kernel">{call.kernel.join("\n")}</pre></Section>}
    {call.parts !== undefined && <Section title="Made of"><pre class="kernel">{partsText(stage, call.parts)}</pre></Section>}
  </>;
}

const partsText = (stage: Stage, number: number) => {
  const block = stage.blocks[number];
  return block.calls.map((call) => `${outputs(call).map((id) => valueName(block, id)).join(", ")} = ${call.op}(${call.in.map((id) => valueName(block, id)).join(", ")})${call.at === undefined ? "" : `   ${placeText(stage.places[call.at])}`}`).join("\n");
};

const Section = ({ title, children }: { title: string; children: preact.ComponentChildren }) => <section><h4>{title}</h4>{children}</section>;

function SourceLines({ file, line, about, from }: { file: string; line: number; about: string; from: string[] }) {
  const { data, error } = useAsk<{ first: number; lines: string[] }>("source", { file, line }, [file, line]);
  const at = useRef<HTMLDivElement>(null);
  useEffect(() => { at.current?.scrollIntoView({ block: "center" }); }, [data]);
  return (
    <section>
      <h4>{file.split("/").at(-1)}:{line} <span class="faint">{about}</span></h4>
      {data && <div class="source">{data.lines.map((text, i) => <div ref={data.first + i === line ? at : undefined} class={data.first + i === line ? "here" : ""}><i>{data.first + i}</i>{text || " "}</div>)}</div>}
      {error && <p class="faint">{error}</p>}
      {from.length > 0 && <p class="faint">called from {from.map((place) => place.split("/").at(-1)).join(" ‹ ")}</p>}
    </section>
  );
}

function About({ overview }: { overview: Overview }) {
  const roles = new Map<string, { n: number; bytes: number }>();
  for (const state of overview.states) {
    const sum = roles.get(state.role!) ?? { n: 0, bytes: 0 };
    roles.set(state.role!, { n: sum.n + 1, bytes: sum.bytes + (state.bytes ?? 0) });
  }
  const list = (all: Named[]) => <table class="data plain"><tbody>{all.map((item) => <tr><td><code>{item.name}</code></td><td><code>{item.type}</code></td><td class="number faint">{bytes(item.bytes)}</td></tr>)}</tbody></table>;
  return <>
    <h2>{overview.name.split("/").at(-1)}</h2>
    <div class="facts small">
      <div class="fact"><b>{overview.n_calls}</b><span>calls written</span></div>
      <div class="fact"><b>{overview.stages.at(-1)?.n_calls ?? "–"}</b><span>calls compiled</span></div>
      {[...roles].map(([role, { n, bytes: size }]) => <div class="fact"><b>{bytes(size)}</b><span>{n} {role}</span></div>)}
    </div>
    {overview.inputs.length > 0 && <Section title="Inputs">{list(overview.inputs)}</Section>}
    {overview.outputs.length > 0 && <Section title="Outputs">{list(overview.outputs)}</Section>}
    {overview.states.length > 0 && <Section title={`States (${overview.states.length})`}>{list(overview.states)}</Section>}
  </>;
}

function PassDetails({ pass, before }: { pass: Pass; before?: Pass }) {
  return <>
    <h2>{pass.name}</h2>
    {pass.why && <p class="faint">{pass.why}</p>}
    {before && <p>{before.n_calls} → <b>{pass.n_calls}</b> calls, {pass.patches.length} changes</p>}
    {before && pass.patches.length === 0 && <p class="faint">It found nothing to do.</p>}
    <table class="data plain"><tbody>{pass.patches.slice(0, 500).map((patch) => <tr><td>{patch.what}</td><td class="faint">{patch.line?.split("/").at(-1)}</td></tr>)}</tbody></table>
  </>;
}
