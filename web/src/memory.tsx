// The memory of a run before it runs: who holds which bytes at which step.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isExported } from "./api";
import { bytes, colourOfText, theme, useAsk, useKept, useSize } from "./util";

interface Step { op: string; line: string | null; layer: string | null; phase: string; bytes: number; scratch?: number; in_place?: boolean; blocks?: Block[] }
interface Value { id: number; from: number; to: number; bytes: number; at: number | null }
interface Block { steps: Step[]; values: Value[]; arena_bytes: number }
interface Plan {
  sizes: Record<string, number>; peak_bytes: number; is_open: boolean; unplanned_bytes: number; input_bytes: number; state_bytes: number; block: Block;
}
type By = "layer" | "line" | "op";

const SECTION = { forward: "forward", backward: "backward", optimizer: "optimizer" } as Record<string, string>;
const owner = (step: Step | undefined, by: By) =>
  !step ? "?" : by === "op" ? step.op : by === "line" ? step.line ?? "no line" : step.layer ?? SECTION[step.phase] ?? "no layer";

/** The blocks inside of a block, with how to get there: `[step, which]` pairs. */
function inner(block: Block, path: number[][] = []): { path: number[][]; name: string; block: Block }[] {
  return block.steps.flatMap((step, i) => (step.blocks ?? []).flatMap((b, k) => {
    const here = [...path, [i, k]];
    const name = `${step.op}${step.line ? ` at ${step.line.split("/").at(-1)}` : ""}${(step.blocks?.length ?? 0) > 1 ? ` (${k + 1})` : ""}`;
    return [{ path: here, name, block: b }, ...inner(b, here)];
  }));
}

const held = (block: Block) => {
  const live = new Float64Array(block.steps.length + 1);
  for (const { from, to, bytes } of block.values) for (let i = from; i <= Math.min(to, block.steps.length); i++) live[i] += bytes;
  block.steps.forEach((step, i) => { live[i] += step.scratch ?? 0; });
  return live;
};

export function Memory({ programs }: { programs: string[] }) {
  const [chosen, choose] = useState("");
  const [sizes, setSizes] = useKept<Record<string, string>>("sizes", {});
  const [by, setBy] = useState<By>("layer");
  const [limit, setLimit] = useState("");
  const [where, enter] = useState<string | null>(null);
  const [over, hover] = useState<Value | null>(null);
  const [step, setStep] = useState<number | null>(null);
  const name = programs.includes(chosen) ? chosen : programs[0];
  const query = Object.fromEntries(Object.entries(sizes).map(([symbol, size]) => [`size.${symbol}`, size]));
  const { data, error } = useAsk<Plan>("memory", { program: name, ...(isExported ? {} : { ...query, limit: limit ? Math.round(Number(limit) * 1024 ** 2) : undefined }) }, [name, JSON.stringify(query), limit]);

  const blocks = useMemo(() => data ? [{ path: [] as number[][], name: "main", block: data.block }, ...inner(data.block)] : [], [data]);
  // A training is a loop: where most memory is, one looks first.
  const fullest = blocks.length ? blocks.reduce((a, b) => (Math.max(...held(b.block)) > Math.max(...held(a.block)) ? b : a)) : null;
  const at = blocks.find((b) => JSON.stringify(b.path) === where) ?? fullest;
  const live = useMemo(() => (at ? held(at.block) : new Float64Array()), [at]);
  const peak = live.length ? live.indexOf(Math.max(...live)) : 0;
  const shownStep = Math.min(step ?? peak, live.length - 1);
  const owners = useMemo(() => {
    if (!at) return [];
    const sums = new Map<string, { bytes: number; n: number }>();
    const add = (key: string, bytes: number) => {
      const sum = sums.get(key) ?? { bytes: 0, n: 0 };
      sums.set(key, { bytes: sum.bytes + bytes, n: sum.n + 1 });
    };
    for (const value of at.block.values) if (value.from <= shownStep && value.to >= shownStep) add(owner(at.block.steps[value.from], by), value.bytes);
    const scratch = at.block.steps[shownStep]?.scratch;
    if (scratch) add(`scratch of ${at.block.steps[shownStep].op}`, scratch);
    return [...sums].map(([key, sum]) => ({ key, ...sum })).sort((a, b) => b.bytes - a.bytes);
  }, [at, shownStep, by]);

  return (
    <div class="main wide">
      <div class="tools">
        <select aria-label="Program" value={name} onChange={(e) => { choose(e.currentTarget.value); enter(null); setStep(null); }}>{programs.map((p) => <option>{p}</option>)}</select>
        {data && !isExported && Object.entries(data.sizes).map(([symbol, size]) => (
          <label>{symbol} <input type="number" min={1} value={sizes[symbol] ?? size} style={{ width: "5.5em" }} onChange={(e) => setSizes({ ...sizes, [symbol]: e.currentTarget.value })} /></label>
        ))}
        {data && !isExported && <label title="Values are computed again instead of being kept, to stay within it">limit <input type="number" min={0} step="any" placeholder="none" value={limit} style={{ width: "6em" }} onChange={(e) => setLimit(e.currentTarget.value)} /> MB</label>}
        <span class="switch" role="group" aria-label="Colour by">
          {(["layer", "line", "op"] as const).map((kind) => <button class={by === kind ? "on" : ""} aria-pressed={by === kind} onClick={() => setBy(kind)}>{kind}</button>)}
        </span>
        {blocks.length > 1 && <label>block <select value={JSON.stringify(at?.path)} onChange={(e) => { enter(e.currentTarget.value); setStep(null); }}>
          {blocks.map((b) => <option value={JSON.stringify(b.path)}>{"· ".repeat(b.path.length)}{b.name}</option>)}</select></label>}
      </div>
      {error && <p class="fault">{error}</p>}
      {!data && !error && <p class="empty">Planning …</p>}
      {data && at && !error && <>
        <div class="facts">
          <Fact title="peak of the run" value={`${data.is_open ? "≥ " : ""}${bytes(data.peak_bytes)}`} />
          <Fact title="if nothing were planned" value={bytes(data.unplanned_bytes)} />
          <Fact title="inputs" value={bytes(data.input_bytes)} />
          <Fact title="states" value={bytes(data.state_bytes)} />
          <Fact title={`arena of ${at.name}`} value={bytes(at.block.arena_bytes)} />
          <Fact title={`most at once in ${at.name}`} value={bytes(live[peak])} />
        </div>
        <article class="card">
          <header><h3>Who holds which bytes at which step</h3><span class="grow" />
            <span class="faint line">{over ? `${at.block.steps[over.from]?.op} · ${owner(at.block.steps[over.from], by)} · ${bytes(over.bytes)} · steps ${over.from}–${Math.min(over.to, at.block.steps.length)}${over.at === null ? " · outside of the arena" : ""}` : "move over the picture; click a step"}</span></header>
          <Picture block={at.block} live={live} by={by} peak={peak} step={shownStep} onOver={hover} onStep={setStep} />
        </article>
        <article class="card">
          <header><h3>{shownStep === peak ? "Owners of the peak" : `Owners at step ${shownStep}`}</h3><span class="faint">step {shownStep}: {at.block.steps[shownStep]?.op ?? "end"} · {bytes(live[shownStep])}</span><span class="grow" />
            {shownStep !== peak && <button class="small" onClick={() => setStep(null)}>back to the peak</button>}</header>
          <div class="scroll"><table class="data">
            <thead><tr><th>{by}</th><th class="number">bytes</th><th class="number">%</th><th /><th class="number">values</th></tr></thead>
            <tbody>{owners.map((row) => (
              <tr><td><i class="dot" style={{ background: colourOfText(row.key) }} />{row.key}</td><td class="number">{bytes(row.bytes)}</td>
                <td class="number">{((100 * row.bytes) / (live[shownStep] || 1)).toFixed(1)}</td><td class="meter"><i style={{ width: `${(100 * row.bytes) / (owners[0].bytes || 1)}%`, background: colourOfText(row.key) }} /></td><td class="number">{row.n}</td></tr>
            ))}</tbody>
          </table></div>
        </article>
      </>}
    </div>
  );
}

const Fact = ({ title, value }: { title: string; value: string }) => <div class="fact"><b>{value}</b><span>{title}</span></div>;

/** Above, the bytes that are held; below, the arena: a value is a rectangle, as long as it lives and as high as it is large. */
function Picture({ block, live, by, peak, step, onOver, onStep }: {
  block: Block; live: Float64Array; by: By; peak: number; step: number; onOver: (value: Value | null) => void; onStep: (step: number) => void;
}) {
  const [box, { width }] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [curve, height, left] = [110, 440, 64];
  const n = block.steps.length + 1;
  const outside = block.values.filter((value) => value.at === null);
  // Values beyond the arena are stacked above it, each in the first lane that is free.
  const placed = useMemo(() => {
    const lanes: { until: number; at: number; bytes: number }[] = [];
    let top = block.arena_bytes;
    return block.values.map((value) => {
      if (value.at !== null) return { value, at: value.at };
      const free = lanes.find((lane) => lane.until < value.from && lane.bytes >= value.bytes);
      if (free) { free.until = value.to; return { value, at: free.at }; }
      lanes.push({ until: value.to, at: top, bytes: value.bytes });
      top += value.bytes;
      return { value, at: top - value.bytes };
    });
  }, [block]);
  const top = Math.max(1, block.arena_bytes, ...placed.map(({ value, at }) => at + value.bytes));
  const x = (step: number) => left + (step / n) * (width - left - 8);
  const y = (at: number) => height - 20 - (at / top) * (height - curve - 40);
  const dark = document.documentElement.dataset.theme;
  useEffect(() => {
    const element = canvas.current;
    if (!element || width === 0) return;
    const scale = devicePixelRatio || 1;
    [element.width, element.height] = [width * scale, height * scale];
    const ctx = element.getContext("2d")!;
    ctx.scale(scale, scale);
    ctx.clearRect(0, 0, width, height);
    ctx.font = "11px system-ui, sans-serif";
    const most = Math.max(...live, 1);
    ctx.fillStyle = theme("accent");
    ctx.globalAlpha = 0.18;
    ctx.beginPath();
    ctx.moveTo(x(0), curve);
    live.forEach((held, i) => { ctx.lineTo(x(i), curve - (held / most) * (curve - 16)); ctx.lineTo(x(i + 1), curve - (held / most) * (curve - 16)); });
    ctx.lineTo(x(n), curve);
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.strokeStyle = theme("accent");
    ctx.beginPath();
    live.forEach((held, i) => { ctx.lineTo(x(i), curve - (held / most) * (curve - 16)); ctx.lineTo(x(i + 1), curve - (held / most) * (curve - 16)); });
    ctx.stroke();
    for (const { value, at } of placed) {
      const [x0, x1] = [x(value.from), x(Math.min(value.to, n - 1) + 1)];
      const [y0, y1] = [y(at + value.bytes), y(at)];
      ctx.fillStyle = colourOfText(owner(block.steps[value.from], by));
      ctx.globalAlpha = value.at === null ? 0.55 : 0.9;
      ctx.fillRect(x0, y0, Math.max(0.8, x1 - x0 - 0.4), Math.max(0.6, y1 - y0 - 0.4));
      if (y1 - y0 > 13 && x1 - x0 > 60) {
        ctx.globalAlpha = 1;
        ctx.fillStyle = "#fff";
        ctx.fillText(owner(block.steps[value.from], by).split("/").at(-1)!.slice(0, Math.floor((x1 - x0) / 7)), x0 + 4, y0 + 11);
      }
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = theme("faint");
    ctx.textAlign = "right";
    ctx.fillText(`${bytes(most)}`, left - 8, 22);
    ctx.fillText("0", left - 8, curve);
    for (const t of [0, 0.25, 0.5, 0.75, 1]) ctx.fillText(bytes(t * top), left - 8, y(t * top) + 4);
    ctx.textAlign = "center";
    for (const t of [0, 0.25, 0.5, 0.75]) ctx.fillText(`step ${Math.round(t * (n - 1))}`, x(Math.round(t * (n - 1))) + (t === 0 ? 18 : 0), height - 5);
    for (const [at, colour] of [[peak, theme("bad")], [step, theme("ink")]] as const) {
      ctx.strokeStyle = colour;
      ctx.setLineDash([4, 3]);
      ctx.beginPath();
      ctx.moveTo(x(at + 0.5), 8);
      ctx.lineTo(x(at + 0.5), height - 18);
      ctx.stroke();
    }
    ctx.fillStyle = theme("bad");
    ctx.textAlign = x(peak) > width - 80 ? "right" : "left";
    ctx.fillText(" peak ", x(peak + 0.5), 12);
  }, [block, by, width, peak, step, dark]);
  const find = (event: MouseEvent) => {
    const bounds = canvas.current!.getBoundingClientRect();
    const [px, py] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const at = Math.max(0, Math.min(n - 1, Math.floor(((px - left) / (width - left - 8)) * n)));
    const found = placed.find(({ value, at: low }) => value.from <= at && Math.min(value.to, n - 1) >= at && py <= y(low) && py >= y(low + value.bytes));
    return { at, value: found?.value ?? null };
  };
  return (
    <div class="plot" ref={box}>
      <canvas ref={canvas} style={{ width: "100%", height: `${height}px` }} role="img" tabIndex={0} class="memory"
        aria-label={`Memory over ${block.steps.length} steps: ${block.values.length} values, ${outside.length} of them outside of the arena; the peak is at step ${peak}`}
        onMouseMove={(e) => onOver(find(e).value)} onMouseLeave={() => onOver(null)} onClick={(e) => onStep(find(e).at)}
        onKeyDown={(e) => { if (e.key === "ArrowLeft") onStep(Math.max(0, step - 1)); if (e.key === "ArrowRight") onStep(Math.min(n - 1, step + 1)); }} />
    </div>
  );
}
