// How values were spread over time, as ridges: the latest step in front.
import { address, type HistogramRow } from "./api";
import { colourOfText, short, useAsk, useSize } from "./util";
import { useState } from "preact/hooks";

const MOST = 34;

export function Histogram({ run, tag, colour, n }: { run: string; tag: string; colour: string; n: number }) {
  const { data, error } = useAsk<{ n: number; rows: HistogramRow[] }>("histograms", { run, tag }, [run, tag, n]);
  const [box, { width }] = useSize<HTMLDivElement>();
  const [over, hover] = useState<HistogramRow | null>(null);
  const height = 230, left = 10, right = 46;
  const each = data ? Math.ceil(data.rows.length / MOST) : 1;
  const rows = data?.rows.filter((_, i, all) => (all.length - 1 - i) % each === 0 && all[i].count > 0) ?? [];
  const min = Math.min(...rows.map((row) => row.min)), max = Math.max(...rows.map((row) => row.max));
  const x = (v: number) => left + ((v - min) / (max - min || 1)) * (width - left - right);
  const density = (row: HistogramRow) => row.limits.map((limit, i) => {
    const from = i ? row.limits[i - 1] : row.min;
    return { from, limit, d: limit > from ? row.counts[i] / row.count / (limit - from) : row.counts[i] };
  });
  const most = Math.max(...rows.map((row) => Math.max(...density(row).map((bar) => bar.d))));
  const tall = 70, bottom = height - 22;
  return (
    <article class="card chart" data-tag={tag}>
      <header><i class="dot" style={{ background: colour }} /><h3 title={`${run}: ${tag}`}>{tag}</h3><span class="grow" /><span class="faint">{run}</span></header>
      <div class="plot" ref={box}>
        {error && <p class="fault">{error}</p>}
        {rows.length > 0 && width > 0 && (
          <svg width={width} height={height} role="img" aria-label={`Histogram of ${tag} over ${data!.n} steps`} onMouseLeave={() => hover(null)}>
            {rows.map((row, i) => {
              const base = tall + ((bottom - tall) * (rows.length === 1 ? 1 : i / (rows.length - 1)));
              const bars = density(row);
              const y = (d: number) => (base - (d / most) * (tall - 8)).toFixed(1);
              const path = `M${x(row.min).toFixed(1)},${base}` +
                bars.map((bar) => `L${x((bar.from + bar.limit) / 2).toFixed(1)},${y(bar.d)}`).join("") + `L${x(row.max).toFixed(1)},${base}Z`;
              return (
                <g onMouseEnter={() => hover(row)} class={over === row ? "ridge over" : "ridge"}>
                  <path d={path} fill={colour} fill-opacity={over === row ? 0.9 : 0.2 + 0.5 * (i / rows.length)} stroke="var(--card)" stroke-width="0.8" />
                  {(i === 0 || i === rows.length - 1 || over === row) && <text x={width - right + 6} y={base} class="axis">{row.step}</text>}
                </g>
              );
            })}
            {[0, 0.5, 1].map((t) => <text class="axis" x={x(min + t * (max - min))} y={height - 6} text-anchor={t === 0 ? "start" : t === 1 ? "end" : "middle"}>{short(min + t * (max - min))}</text>)}
          </svg>
        )}
        <p class="faint line">{over
          ? `step ${over.step}: ${short(over.count)} values, mean ${short(over.mean)}, deviation ${short(over.deviation)}, from ${short(over.min)} to ${short(over.max)}`
          : data ? `${data.n} steps` : "…"}</p>
      </div>
    </article>
  );
}

export function Images({ run, tag, n }: { run: string; tag: string; n: number }) {
  const { data, error } = useAsk<{ step: number }[]>("images", { run, tag }, [run, tag, n]);
  const [chosen, choose] = useState<number | null>(null);
  const index = Math.min(chosen ?? Infinity, (data?.length ?? 1) - 1);
  return (
    <article class="card chart" data-tag={tag}>
      <header><i class="dot" style={{ background: colourOfText(run) }} /><h3>{tag}</h3><span class="grow" /><span class="faint">{run}</span></header>
      {error && <p class="fault">{error}</p>}
      {data && data.length > 0 && <>
        <img class="image" src={address("image", { run, tag, index })} alt={`${tag} at step ${data[index].step}`} />
        <label class="line">step {data[index].step}
          {data.length > 1 && <input type="range" min={0} max={data.length - 1} value={index} onInput={(e) => choose(Number(e.currentTarget.value))} />}
        </label>
      </>}
    </article>
  );
}
