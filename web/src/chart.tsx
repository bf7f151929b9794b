// A card with a curve of several runs.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { ask, isExported, type Note, type SeriesData } from "./api";
import { download, escaped, Icon, short, span, theme, useSize } from "./util";

export interface Curve { run: string; colour: string; n: number; events: Note[] }
export interface Axes { by: "step" | "time"; logX: boolean; logY: boolean; smoothing: number; marks: boolean }

type Shown = { curve: Curve; data: SeriesData };
type Range = [number, number] | null;

const positive = (list: (number | null)[], is: boolean) => (is ? list.map((y) => (y !== null && y > 0 ? y : null)) : list);

export function Chart({ tag, curves, axes, height, onBig, isBig }: {
  tag: string; curves: Curve[]; axes: Axes; height: number; onBig?: () => void; isBig?: boolean;
}) {
  const [box, { width }] = useSize<HTMLDivElement>();
  const [isSeen, see] = useState(false);
  const [range, zoom] = useState<Range>(null);
  const [shown, show] = useState<Shown[]>([]);
  const [error, fail] = useState("");
  const [isMenuOpen, openMenu] = useState(false);
  const canvas = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);

  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => see(entry.isIntersecting), { rootMargin: "300px" });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => zoom(null), [axes.by]);

  const counts = curves.map((curve) => `${curve.run}:${curve.n}:${curve.colour}`).join();
  const parts = Math.min(2000, Math.max(200, Math.round(width)));
  useEffect(() => {
    if (!isSeen || width === 0) return;
    const abort = new AbortController();
    const asked = curves.map(async (curve) => {
      const query = {
        run: curve.run, tag, n: parts, by: axes.by,
        from: range?.[0], to: range?.[1], smooth: axes.smoothing || undefined,
      };
      return { curve, data: await ask<SeriesData>("series", query, abort.signal) };
    });
    Promise.all(asked).then(
      (all) => { show(all); fail(""); },
      (error: Error) => error.name !== "AbortError" && fail(error.message),
    );
    return () => abort.abort();
  }, [isSeen, tag, counts, parts, axes.by, axes.smoothing, range?.[0], range?.[1]]);

  const key = shown.map(({ curve }) => curve.run + curve.colour).join() + JSON.stringify(axes) + height;
  const dark = document.documentElement.dataset.theme;
  useEffect(() => {
    if (!canvas.current || width === 0 || shown.length === 0) return;
    const isSmooth = axes.smoothing > 0 && !isExported;
    const series: uPlot.Series[] = [{}];
    for (const { curve } of shown) {
      series.push({ stroke: curve.colour, alpha: isSmooth ? 0.22 : 1, width: 1.6, points: { show: false } });
      if (isSmooth) series.push({ stroke: curve.colour, width: 2, points: { show: false } });
    }
    const grid = { stroke: theme("line"), width: 1 };
    const axis = { stroke: theme("faint"), grid, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    plot.current = new uPlot({
      width, height, series,
      legend: { show: false },
      padding: [8, 12, 0, 0],
      scales: {
        x: { time: false, distr: axes.logX ? 3 : 1 },
        y: { distr: axes.logY ? 3 : 1 },
      },
      axes: [
        { ...axis, size: 26, values: (_, all) => all.map((x) => (x === null ? "" : axes.by === "time" ? span(x) : short(x))) },
        { ...axis, size: 58, values: (_, all) => all.map((y) => (y === null ? "" : short(y))) },
      ],
      cursor: {
        drag: { x: true, y: false, setScale: false },
        sync: { key: `curves-${axes.by}` },
        points: { size: 7 },
        focus: { prox: 24 },
      },
      focus: { alpha: 0.35 },
      hooks: {
        setSelect: [(u) => {
          if (u.select.width < 4) return;
          zoom([u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]);
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        setCursor: [(u) => showTip(u)],
        draw: [(u) => drawMarks(u)],
      },
    }, columns(), canvas.current);
    return () => { plot.current?.destroy(); plot.current = null; };
  }, [key, width, dark, shown.length > 0]);

  const columns = (): uPlot.AlignedData => {
    const isSmooth = axes.smoothing > 0 && !isExported;
    const tables = shown.map(({ data }) => {
      const keep = axes.logX ? data.x.map((x) => x > 0) : null;
      const cut = <T,>(list: T[]) => (keep ? list.filter((_, i) => keep[i]) : list);
      const table: (number | null)[][] = [cut(data.x), cut(positive(data.y, axes.logY))];
      if (isSmooth) table.push(cut(positive(data.smooth ?? data.y, axes.logY)));
      return table as uPlot.AlignedData;
    });
    return tables.length > 1 ? uPlot.join(tables) : tables[0] ?? [[]];
  };

  useEffect(() => {
    if (!plot.current || shown.length === 0) return;
    plot.current.setData(columns(), true);
    if (range) plot.current.setScale("x", { min: range[0], max: range[1] });
  }, [shown, range]);

  const drawMarks = (u: uPlot) => {
    if (!axes.marks) return;
    const { ctx, bbox } = u;
    ctx.save();
    for (const { curve, data } of shown) {
      const began = data.time.length ? data.time[0] - (axes.by === "time" ? data.x[0] : 0) : 0;
      for (const event of curve.events) {
        if (event.tag === "start" || event.tag === "end") continue;
        if (event.tag === "nan" && !event.text.startsWith(`\`${tag}\``)) continue;
        const at = u.valToPos(axes.by === "time" ? event.time - began : event.step, "x", true);
        if (!(at >= bbox.left && at <= bbox.left + bbox.width)) continue;
        ctx.strokeStyle = event.tag === "nan" || event.tag === "damaged" ? theme("bad") : curve.colour;
        ctx.setLineDash(event.tag === "checkpoint" ? [2, 4] : [5, 3]);
        ctx.globalAlpha = event.tag === "checkpoint" ? 0.35 : 0.9;
        ctx.beginPath();
        ctx.moveTo(at, bbox.top);
        ctx.lineTo(at, bbox.top + bbox.height);
        ctx.stroke();
      }
    }
    ctx.restore();
  };

  const showTip = (u: uPlot) => {
    const element = tip.current;
    if (!element) return;
    const { left, idx } = u.cursor;
    if (left === undefined || left < 0 || idx === null || idx === undefined) {
      element.hidden = true;
      return;
    }
    const at = u.data[0][idx];
    const rows = shown.map(({ curve, data }) => {
      // The nearest point of each curve: not all have one at each place.
      let low = 0, high = data.x.length - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (data.x[middle] <= at) low = middle; else high = middle;
      }
      const i = Math.abs(data.x[low] - at) <= Math.abs(data.x[high] - at) ? low : high;
      return { curve, value: data.y[i], smooth: data.smooth?.[i], step: data.step[i] };
    });
    rows.sort((a, b) => (b.smooth ?? b.value ?? -Infinity) - (a.smooth ?? a.value ?? -Infinity));
    const listed = rows.slice(0, 12).map(({ curve, value, smooth }) =>
      `<tr><td><i style="background:${curve.colour}"></i>${escaped(curve.run)}</td><td>${smooth !== undefined ? short(smooth) : short(value)}</td>` +
      (smooth !== undefined ? `<td class="faint">${short(value)}</td>` : "") + "</tr>");
    const steps = rows.length ? `step ${rows[0].step}` : "";
    element.innerHTML = `<b>${axes.by === "time" ? `${span(at)} · ${steps}` : steps}</b><table>${listed.join("")}</table>`;
    element.hidden = false;
    const isRight = left > u.width * 0.55;
    element.style.left = isRight ? "" : `${left + 76}px`;
    element.style.right = isRight ? `${u.width - left - 44}px` : "";
  };

  const save = (kind: string) => {
    openMenu(false);
    if (kind === "csv") {
      const rows = shown.flatMap(({ curve, data }) =>
        data.step.map((step, i) => [JSON.stringify(curve.run), step, data.time[i], data.y[i] ?? "", ...(data.smooth ? [data.smooth[i] ?? ""] : [])].join()));
      const head = `run,step,time,value${shown.some(({ data }) => data.smooth) ? ",smoothed" : ""}`;
      return download(`${tag}.csv`, `${head}\n${rows.join("\n")}\n`, "text/csv");
    }
    if (kind === "svg") return download(`${tag}.svg`, svg(tag, shown, axes, range), "image/svg+xml");
    const from = plot.current!.ctx.canvas;
    const to = document.createElement("canvas");
    [to.width, to.height] = [from.width, from.height];
    const ctx = to.getContext("2d")!;
    ctx.fillStyle = theme("card");
    ctx.fillRect(0, 0, to.width, to.height);
    ctx.drawImage(from, 0, 0);
    to.toBlob((blob) => blob && download(`${tag}.png`, blob));
  };

  const name = tag.includes("/") ? tag.slice(tag.indexOf("/") + 1) : tag;
  const label = `Curve of ${tag}: ${shown.map(({ curve, data }) => `${curve.run}, ${data.n} points, last ${short(data.y.at(-1))}`).join("; ")}`;
  return (
    <article class={`card chart ${isBig ? "big" : ""}`} data-tag={tag}>
      <header>
        <h3 title={tag}>{name}</h3>
        {range && <button class="small" onClick={() => zoom(null)} title="Show all (double click)">reset zoom</button>}
        <span class="grow" />
        {onBig && <button class="icon" aria-label={isBig ? "Smaller" : "Larger"} title={isBig ? "Smaller" : "Larger"} onClick={onBig}><Icon path={isBig ? "M7 3v4H3M9 13V9h4M3 3l4 4M13 13 9 9" : "M9 3h4v4M7 13H3V9M13 3 9 7M3 13l4-4"} /></button>}
        <span class="menu">
          <button class="icon" aria-label={`Download ${tag}`} aria-expanded={isMenuOpen} onClick={() => openMenu(!isMenuOpen)}><Icon path="M8 2v8M4.5 7 8 10.5 11.5 7M3 13.5h10" /></button>
          {isMenuOpen && <div role="menu">
            {["csv", "png", "svg"].map((kind) => <button role="menuitem" onClick={() => save(kind)}>{kind.toUpperCase()}</button>)}
            {!isExported && shown.map(({ curve }) => (
              <a role="menuitem" href={`api/csv?${new URLSearchParams({ run: curve.run, tag })}`} download>All points of {curve.run}</a>
            ))}
          </div>}
        </span>
      </header>
      <div class="plot" ref={box} role="img" aria-label={label} onDblClick={() => zoom(null)}>
        <div ref={canvas} style={{ height: `${height}px` }} />
        <div class="tip" ref={tip} hidden />
        {error && <p class="fault">{error}</p>}
      </div>
    </article>
  );
}

/** The curves as a picture of lines, which can be scaled. */
function svg(tag: string, shown: Shown[], axes: Axes, range: Range): string {
  const [width, height, left, bottom, top] = [760, 420, 64, 36, 34];
  const x = (v: number) => (axes.logX ? Math.log10(v) : v), y = (v: number) => (axes.logY ? Math.log10(v) : v);
  const points = shown.map(({ data }) => data.x.map((at, i) => [at, data.smooth ? data.smooth[i] : data.y[i]] as const)
    .filter(([at, v]) => v !== null && Number.isFinite(x(at)) && Number.isFinite(y(v)) && (!range || (at >= range[0] && at <= range[1]))) as [number, number][]);
  const all = points.flat();
  const [minX, maxX] = [Math.min(...all.map((p) => x(p[0]))), Math.max(...all.map((p) => x(p[0])))];
  const [minY, maxY] = [Math.min(...all.map((p) => y(p[1]))), Math.max(...all.map((p) => y(p[1])))];
  const px = (v: number) => left + ((x(v) - minX) / (maxX - minX || 1)) * (width - left - 16);
  const py = (v: number) => height - bottom - ((y(v) - minY) / (maxY - minY || 1)) * (height - bottom - top);
  const back = (v: number, log: boolean) => (log ? 10 ** v : v);
  const lines = points.map((list, i) =>
    `<polyline fill="none" stroke="${shown[i].curve.colour}" stroke-width="1.6" points="${list.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join(" ")}"/>`);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((t) => {
    const [vx, vy] = [back(minX + t * (maxX - minX), axes.logX), back(minY + t * (maxY - minY), axes.logY)];
    const at = py(vy).toFixed(1);
    return `<line x1="${left}" x2="${width - 16}" y1="${at}" y2="${at}" stroke="#ddd"/><text x="${left - 8}" y="${at}" text-anchor="end" dominant-baseline="middle">${short(vy)}</text>` +
      `<text x="${px(vx).toFixed(1)}" y="${height - 12}" text-anchor="middle">${short(vx)}</text>`;
  });
  const legend = shown.map(({ curve }, i) => `<tspan fill="${curve.colour}" dx="${i ? 14 : 0}">● ${escaped(curve.run)}</tspan>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>` +
    `<text x="${left}" y="20" font-size="13">${escaped(tag)}  ${legend.join("")}</text>${ticks.join("")}${lines.join("")}</svg>`;
}
