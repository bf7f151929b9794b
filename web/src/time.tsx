// Where time goes: a flame graph by layer, line or op, the timeline, and two profiles beside each other.
import { useMemo, useRef, useState } from "preact/hooks";
import { colourOfText, micros, useAsk, useSize } from "./util";

interface Sum { path: string[]; us: number; n: number }
interface Step { name: string; thread: string; begin: number; us: number; own: number; depth: number; line: string | null; layer: string | null; phase: string | null; bytes: number | null }
interface Profile { n: number; us: number; steps: Step[]; by_layer: Sum[]; by_line: Sum[]; by_op: Sum[] }
interface Flame { name: string; us: number; n: number; children: Map<string, Flame> }
type By = "layer" | "line" | "op";

const sums = (profile: Profile, by: By) => ({ layer: profile.by_layer, line: profile.by_line, op: profile.by_op })[by];

function flame(list: Sum[]): Flame {
  const root: Flame = { name: "all", us: 0, n: 0, children: new Map() };
  for (const { path, us, n } of list) {
    let at = root;
    at.us += us; at.n += n;
    for (const name of path) {
      if (!at.children.has(name)) at.children.set(name, { name, us: 0, n: 0, children: new Map() });
      at = at.children.get(name)!;
      at.us += us; at.n += n;
    }
  }
  return root;
}

export function Time({ profiles }: { profiles: string[] }) {
  const [chosen, choose] = useState("");
  const [other, compare] = useState("");
  const [by, setBy] = useState<By>("layer");
  const [path, zoom] = useState<string[]>([]);
  const [over, hover] = useState<{ text: string } | null>(null);
  const [box, { width }] = useSize<HTMLDivElement>();
  const name = profiles.includes(chosen) ? chosen : profiles[0];
  const { data, error } = useAsk<Profile>("profile", { profile: name }, [name]);
  const second = useAsk<Profile>(other ? "profile" : null, { profile: other }, [other]);

  const root = useMemo(() => data && flame(sums(data, by)), [data, by]);
  let at = root;
  for (const part of path) at = at?.children.get(part) ?? at;
  const bars: { node: Flame; x: number; w: number; depth: number; path: string[] }[] = [];
  const lay = (node: Flame, x: number, w: number, depth: number, path: string[]) => {
    if (w < 1.5 || depth > 12) return;
    bars.push({ node, x, w, depth, path });
    let from = x;
    for (const child of [...node.children.values()].sort((a, b) => b.us - a.us)) {
      const part = (child.us / (node.us || 1)) * w;
      lay(child, from, part, depth + 1, [...path, child.name]);
      from += part;
    }
  };
  if (at && width) lay(at, 0, width, 0, path);
  const deepest = Math.max(0, ...bars.map((bar) => bar.depth));
  const total = data ? data.by_op.reduce((all, row) => all + row.us, 0) : 1;
  const rows = data ? sums(data, by === "layer" ? "op" : by) : [];
  const theirs = new Map((second.data ? sums(second.data, by === "layer" ? "op" : by) : []).map((row) => [row.path.join(" "), row]));

  return (
    <div class="main wide">
      <div class="tools">
        <select aria-label="Profile" value={name} onChange={(e) => { choose(e.currentTarget.value); zoom([]); }}>{profiles.map((p) => <option>{p}</option>)}</select>
        <span class="switch" role="group" aria-label="Sum up by">
          {(["layer", "line", "op"] as const).map((kind) => <button class={by === kind ? "on" : ""} aria-pressed={by === kind} onClick={() => { setBy(kind); zoom([]); }}>{kind}</button>)}
        </span>
        {path.length > 0 && <button class="small" onClick={() => zoom([])}>show all</button>}
        {profiles.length > 1 && <label>compare with <select value={other} onChange={(e) => compare(e.currentTarget.value)}><option value="">nothing</option>{profiles.filter((p) => p !== name).map((p) => <option>{p}</option>)}</select></label>}
        <span class="grow" />
        {data && <span class="faint">{data.n} steps, {micros(data.us)}</span>}
      </div>
      {(error || second.error) && <p class="fault">{error ?? second.error}</p>}
      {!data && !error && <p class="empty">Reading …</p>}
      <article class="card">
        <header><h3>Flame graph by {by}</h3><span class="grow" /><span class="faint line">{over?.text ?? "click to zoom"}</span></header>
        <div class="plot" ref={box}>
          <svg width={width} height={(deepest + 1) * 24} role="img" aria-label={`Flame graph by ${by}`} onMouseLeave={() => hover(null)} class="flame">
            {bars.map(({ node, x, w, depth, path }) => (
              <g transform={`translate(${x.toFixed(1)},${depth * 24})`} onClick={() => zoom(path)} tabIndex={w > 40 ? 0 : undefined} role="button" aria-label={`${node.name}, ${micros(node.us)}`}
                onKeyDown={(e) => e.key === "Enter" && zoom(path)}
                onMouseEnter={() => hover({ text: `${path.join(" › ") || "all"}: ${micros(node.us)}, ${((100 * node.us) / total).toFixed(1)} %, ${node.n} steps` })}>
                <rect width={Math.max(0.5, w - 1)} height="22" rx="3" fill={depth === 0 ? "var(--faint)" : colourOfText(path[0] + node.name, 55, 55)} />
                {w > 46 && <text x="6" y="15">{clip(depth === 0 ? `all · ${micros(node.us)}` : `${node.name} ${((100 * node.us) / total).toFixed(1)} %`, w)}</text>}
              </g>
            ))}
          </svg>
        </div>
      </article>
      {data && <Timeline profile={data} />}
      <article class="card"><header><h3>By {by === "layer" ? "op" : by}</h3></header><div class="scroll"><table class="data">
        <thead><tr><th>what</th><th class="number">time</th><th class="number">%</th><th /><th class="number">steps</th><th class="number">each</th>{second.data && <><th class="number">{other}</th><th class="number">change</th></>}</tr></thead>
        <tbody>{rows.slice(0, 200).map((row) => {
          const their = theirs.get(row.path.join(" "));
          const change = their ? (their.us / row.us - 1) * 100 : null;
          return (
            <tr><td>{row.path.join(" · ")}</td><td class="number">{micros(row.us)}</td><td class="number">{((100 * row.us) / total).toFixed(1)}</td>
              <td class="meter"><i style={{ width: `${(100 * row.us) / (rows[0]?.us || 1)}%` }} /></td><td class="number">{row.n}</td><td class="number">{micros(row.us / row.n)}</td>
              {second.data && <><td class="number">{their ? micros(their.us) : "–"}</td><td class={`number ${change !== null && change > 5 ? "worse" : change !== null && change < -5 ? "better" : ""}`}>{change === null ? "" : `${change > 0 ? "+" : ""}${change.toFixed(0)} %`}</td></>}
            </tr>
          );
        })}</tbody>
      </table></div></article>
    </div>
  );
}

const clip = (text: string, width: number) => (text.length * 6.4 > width - 10 ? `${text.slice(0, Math.max(1, Math.floor((width - 16) / 6.4)))}…` : text);

function Timeline({ profile }: { profile: Profile }) {
  const [box, { width }] = useSize<HTMLDivElement>();
  const all: [number, number] = [0, Math.max(...profile.steps.map((s) => s.begin + s.us), 1)];
  const [range, zoom] = useState<[number, number] | null>(null);
  const [over, hover] = useState<Step | null>(null);
  const drag = useRef<number | null>(null);
  const [from, to] = range ?? all;
  const threads = [...new Set(profile.steps.map((step) => step.thread))];
  const depths = threads.map((thread) => 1 + Math.max(...profile.steps.filter((s) => s.thread === thread).map((s) => s.depth)));
  const tops = depths.map((_, i) => depths.slice(0, i).reduce((sum, d) => sum + d * 20 + 8, 0));
  const x = (t: number) => ((t - from) / (to - from)) * width;
  const last = new Map<string, number>();
  const shown = profile.steps.filter((step) => {
    if (step.begin > to || step.begin + step.us < from) return false;
    // Steps that fall on the same pixel are drawn once.
    const lane = `${step.thread} ${step.depth}`, end = x(step.begin + step.us);
    if (end - (last.get(lane) ?? -1) < 0.6) return false;
    last.set(lane, end);
    return true;
  });
  const place = (event: MouseEvent) => from + ((event.clientX - box.current!.getBoundingClientRect().left) / width) * (to - from);
  return (
    <article class="card">
      <header><h3>Timeline</h3>{range && <button class="small" onClick={() => zoom(null)}>reset zoom</button>}<span class="grow" />
        <span class="faint line">{over ? `${over.name}: ${micros(over.us)}${over.layer ? ` · ${over.layer}` : ""}${over.line ? ` · ${over.line}` : ""}` : profile.n > profile.steps.length ? `the first ${profile.steps.length} of ${profile.n} steps; drag to zoom` : "drag to zoom"}</span></header>
      <div class="plot" ref={box} onMouseDown={(e) => { drag.current = place(e); }} onMouseUp={(e) => {
        const begin = drag.current;
        drag.current = null;
        if (begin !== null && Math.abs(x(place(e)) - x(begin)) > 6) zoom([Math.min(begin, place(e)), Math.max(begin, place(e))]);
      }} onDblClick={() => zoom(null)}>
        <svg width={width} height={tops.at(-1)! + depths.at(-1)! * 20 + 20} role="img" aria-label="Timeline of steps" class="flame" onMouseLeave={() => hover(null)}>
          {shown.map((step) => {
            const left = Math.max(0, x(step.begin)), w = Math.max(0.7, Math.min(width, x(step.begin + step.us)) - left);
            return (
              <g transform={`translate(${left.toFixed(1)},${tops[threads.indexOf(step.thread)] + step.depth * 20})`} onMouseEnter={() => hover(step)}>
                <rect width={w} height="18" rx="2" fill={colourOfText(step.name, 55, 55)} />{w > 50 && <text x="5" y="13">{clip(step.name, w)}</text>}
              </g>
            );
          })}
          {[0, 0.25, 0.5, 0.75, 1].map((t) => <text class="axis" x={t * width} y={tops.at(-1)! + depths.at(-1)! * 20 + 15} text-anchor={t === 0 ? "start" : t === 1 ? "end" : "middle"}>{micros(from + t * (to - from))}</text>)}
        </svg>
      </div>
    </article>
  );
}
