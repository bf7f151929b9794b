// The graph of a program: groups of calls that open in place.
import dagre from "@dagrejs/dagre";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { outputs, tree, type Node, type Stage } from "./model";
import { useSize } from "./util";

/** So many nodes are shown before anybody opens a group. */
const FIRST = 18;

/** Room for the title of a group that is open. */
const TITLE = 11;

interface Placed { node: Node; x: number; y: number; width: number; height: number; isOpen: boolean }
interface Edge { points: { x: number; y: number }[]; n: number; from: string; to: string }

export function Graph({ stage, selected, changed, onSelect }: {
  stage: Stage; selected: string | null; changed: Set<string>; onSelect: (path: string) => void;
}) {
  const roots = useMemo(() => tree(stage, stage.main, ""), [stage]);
  const [open, setOpen] = useState<Set<string>>(new Set());
  useEffect(() => {
    // What is open at first: the largest parts, as far as they can be taken in at a glance.
    const first = new Set<string>();
    let shown = roots.length;
    // Of a training, how the model was written is what one looks for.
    let level = roots.every((node) => node.kind === "group") ? roots.filter((node) => node.phase === "forward") : roots;
    while (level.length && shown < FIRST) {
      const next: Node[] = [];
      for (const node of level.filter((node) => node.children)) {
        if (shown + node.children!.length - 1 > FIRST + 8) continue;
        first.add(node.id);
        shown += node.children!.length - 1;
        next.push(...node.children!);
      }
      level = next;
    }
    setOpen(first);
  }, [roots]);
  // The way to a call that is chosen elsewhere is opened.
  useEffect(() => {
    if (!selected) return;
    const way: string[] = [];
    const find = (nodes: Node[]): boolean => nodes.some((node) => {
      if (node.kind === "call" && node.path === selected) return true;
      if (!node.children || !find(node.children)) return false;
      way.push(node.id);
      return true;
    });
    if (find(roots) && way.some((id) => !open.has(id))) setOpen(new Set([...open, ...way]));
  }, [selected, roots]);

  const laid = useMemo(() => lay(stage, roots, open), [stage, roots, open]);
  const [box, size] = useSize<HTMLDivElement>();
  const [view, setView] = useState({ x: 0, y: 0, k: 1 });
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const fit = () => {
    if (!size.width || !laid.width) return;
    const k = Math.min(1.25, Math.max(0.55, Math.min((size.width - 24) / laid.width, (size.height - 24) / laid.height)));
    setView({ k, x: (size.width - laid.width * k) / 2, y: laid.height * k > size.height ? 12 : (size.height - laid.height * k) / 2 });
  };
  useEffect(fit, [laid.width, laid.height, size.width, size.height, stage]);
  useEffect(() => {
    const at = laid.nodes.find(({ node }) => node.kind === "call" && node.path === selected);
    if (!at || !size.width) return;
    const [sx, sy] = [at.x * view.k + view.x, at.y * view.k + view.y];
    if (sx < 0 || sy < 0 || sx > size.width || sy > size.height) setView({ ...view, x: size.width / 2 - at.x * view.k, y: size.height / 2 - at.y * view.k });
  }, [selected, laid]);

  const zoom = (factor: number, cx = size.width / 2, cy = size.height / 2) => setView((v) => {
    const k = Math.min(3, Math.max(0.05, v.k * factor));
    return { k, x: cx - ((cx - v.x) * k) / v.k, y: cy - ((cy - v.y) * k) / v.k };
  });
  const toggle = (id: string) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const click = ({ node }: Placed) => {
    if (drag.current?.moved) return;
    if (node.kind === "call") onSelect(node.path);
    if (node.children) toggle(node.id);
  };
  const groups = (nodes: Node[]): string[] => nodes.flatMap((node) => (node.children ? [node.id, ...groups(node.children)] : []));
  const total = roots.reduce((sum, node) => sum + node.n, 0);

  return (
    <div class="graph" ref={box} onWheel={(e) => {
      e.preventDefault();
      const bounds = box.current!.getBoundingClientRect();
      zoom(Math.exp(-e.deltaY / 400), e.clientX - bounds.left, e.clientY - bounds.top);
    }} onPointerDown={(e) => { drag.current = { x: e.clientX, y: e.clientY, moved: false }; }} onPointerMove={(e) => {
      const from = drag.current;
      if (!from || !(e.buttons & 1)) return;
      if (!from.moved && Math.abs(e.clientX - from.x) + Math.abs(e.clientY - from.y) < 4) return;
      setView((v) => ({ ...v, x: v.x + e.clientX - from.x, y: v.y + e.clientY - from.y }));
      drag.current = { x: e.clientX, y: e.clientY, moved: true };
    }}>
      <svg width={size.width} height={size.height} role="group" aria-label={`Graph of ${total} calls, ${laid.nodes.length} nodes shown`}>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" class="arrow" /></marker></defs>
        <g transform={`translate(${view.x},${view.y}) scale(${view.k})`}>
          {laid.nodes.filter((p) => p.isOpen).map((placed) => (
            <g key={placed.node.id} class={`frame ${placed.node.phase}`} transform={`translate(${placed.x - placed.width / 2},${placed.y - placed.height / 2 - TITLE})`}>
              <rect width={placed.width} height={placed.height + TITLE} rx="10" />
              <text x="10" y="15" onClick={() => click(placed)} tabIndex={0} role="button" aria-expanded="true" onKeyDown={(e) => e.key === "Enter" && toggle(placed.node.id)}>▾ {placed.node.label}</text>
            </g>
          ))}
          {laid.edges.map((edge) => {
            const isNear = selected !== null && (edge.from === selected || edge.to === selected);
            return <path class={`edge ${isNear ? "near" : ""}`} d={curve(edge.points)} stroke-width={Math.min(4, 1 + Math.log2(edge.n) / 2)} marker-end="url(#arrow)" />;
          })}
          {laid.nodes.filter((p) => !p.isOpen).map((placed) => {
            const { node, x, y, width, height } = placed;
            const isSelected = node.kind === "call" && node.path === selected;
            const isChanged = node.kind === "call" ? changed.has(node.path) : false;
            return (
              <g key={node.id} class={`node ${node.kind} ${node.phase} ${isSelected ? "selected" : ""} ${isChanged ? "changed" : ""}`} transform={`translate(${x - width / 2},${y - height / 2})`}
                onClick={() => click(placed)} tabIndex={0} role="button" aria-expanded={node.children ? "false" : undefined} onKeyDown={(e) => e.key === "Enter" && click(placed)}
                aria-label={node.children ? `${node.label}, ${node.n} calls` : `${node.label} ${node.about}`}>
                <rect width={width} height={height} rx={node.kind === "value" ? height / 2 : 7} />
                <text x={width / 2} y={node.about || node.children ? 17 : height / 2 + 4} text-anchor="middle">{node.children ? `▸ ${node.label}` : node.label}</text>
                {(node.about || node.children) && <text x={width / 2} y={31} text-anchor="middle" class="type">{node.children ? `${node.n} calls` : cut(node.about)}</text>}
              </g>
            );
          })}
        </g>
      </svg>
      <div class="corner">
        <button class="small" onClick={() => setOpen(new Set(groups(roots).length < 400 && total < 400 ? groups(roots) : [...open, ...laid.nodes.filter(({ node, isOpen }) => node.children && !isOpen).map(({ node }) => node.id).slice(0, 12)]))}>open more</button>
        <button class="small" onClick={() => setOpen(new Set())}>fold all</button>
        <button class="icon" aria-label="Closer" onClick={() => zoom(1.3)}>+</button>
        <button class="icon" aria-label="Further" onClick={() => zoom(1 / 1.3)}>−</button>
        <button class="small" onClick={fit}>fit</button>
      </div>
    </div>
  );
}

const cut = (text: string) => (text.length > 26 ? `${text.slice(0, 25)}…` : text);

function curve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  let path = `M${first.x.toFixed(1)},${first.y.toFixed(1)}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const [a, b] = [rest[i], rest[i + 1]];
    path += `Q${a.x.toFixed(1)},${a.y.toFixed(1)} ${((a.x + b.x) / 2).toFixed(1)},${((a.y + b.y) / 2).toFixed(1)}`;
  }
  const last = rest.at(-1)!;
  return `${path}L${last.x.toFixed(1)},${last.y.toFixed(1)}`;
}

/** Where nodes and edges are. Edges of calls inside of what is folded are those of the fold. */
function lay(stage: Stage, roots: Node[], open: Set<string>): { nodes: Placed[]; edges: Edge[]; width: number; height: number } {
  const graph = new dagre.graphlib.Graph({ compound: true, multigraph: false });
  graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 38, marginx: 8, marginy: 8 });
  const shown = new Map<string, Node>();
  /** By call: the node in which it is seen. */
  const seen = new Map<string, string>();
  const openSeen = new Map<string, { enter: string; leave: string }>();
  const add = (node: Node, parent: string | null) => {
    const isOpen = node.children !== undefined && open.has(node.id);
    shown.set(node.id, node);
    if (isOpen) {
      graph.setNode(node.id, {});
      if (parent) graph.setParent(node.id, parent);
      if (node.inner) {
        const call = stage.blocks[node.block].calls[node.calls[0]];
        const [enter, leave] = [`${node.id}>`, `${node.id}<`];
        for (const [id, label] of [[enter, call.op], [leave, "result"]]) {
          shown.set(id, { ...node, id, label, about: "", kind: "value", children: undefined });
          graph.setNode(id, { width: 30 + label.length * 7, height: 24 });
          graph.setParent(id, node.id);
        }
        openSeen.set(node.path, { enter, leave });
      }
      node.children!.forEach((child) => add(child, node.id));
      return;
    }
    const label = node.children ? node.label.length + 2 : node.label.length;
    const about = node.children ? 10 : Math.min(26, node.about.length);
    graph.setNode(node.id, { width: Math.max(64, 22 + label * 7.2, 18 + about * 6), height: node.about || node.children ? 40 : 28 });
    if (parent) graph.setParent(node.id, parent);
    const mark = (inner: Node) => {
      if (inner.kind === "call") seen.set(inner.path, node.id);
      inner.children?.forEach(mark);
    };
    mark(node);
  };
  roots.forEach((node) => add(node, null));

  const counts = new Map<string, number>();
  const link = (from: string | undefined, to: string | undefined) => {
    if (!from || !to || from === to) return;
    const key = `${from} → ${to}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    if (counts.get(key) === 1) graph.setEdge(from, to, { key });
  };
  const value = (id: string, label: string, about: string) => {
    shown.set(id, { id, label, about, kind: "value", phase: "value", block: stage.main, calls: [], path: "", n: 0 });
    graph.setNode(id, { width: Math.max(50, 26 + Math.max(label.length * 7.2, Math.min(26, about.length) * 6)), height: about ? 38 : 26 });
  };
  const connect = (number: number, path: string, outer: { enter: string; leave: string } | null) => {
    const block = stage.blocks[number];
    const maker = new Map<number, string | undefined>();
    for (let id = 0; id < block.params; id++) maker.set(id, outer ? outer.enter : `in ${id}`);
    block.calls.forEach((call, i) => {
      const here = `${path}/${i}`;
      const around = openSeen.get(here);
      const to = around?.enter ?? seen.get(here);
      for (const id of call.in) link(maker.get(id), to);
      for (const id of outputs(call)) maker.set(id, around?.leave ?? seen.get(here));
      if (around) call.blocks!.forEach((inner, k) => connect(inner, `${here}:${k}`, around));
    });
    block.results.forEach((id, k) => {
      if (outer) return link(maker.get(id), outer.leave);
      if (k < 12) link(maker.get(id), `out ${k}`);
    });
  };
  const main = stage.blocks[stage.main];
  stage.inputs.slice(0, 24).forEach((name, i) => value(`in ${i}`, name, stage.types[main.types[i]]?.text ?? ""));
  stage.outputs.slice(0, 12).forEach((name, i) => value(`out ${i}`, name, stage.types[main.types[main.results[i]]]?.text ?? ""));
  connect(stage.main, "", null);
  for (const id of graph.nodes()) if (!shown.has(id)) graph.removeNode(id);

  dagre.layout(graph);
  const nodes = graph.nodes().map((id) => {
    const { x, y, width, height } = graph.node(id) as { x: number; y: number; width: number; height: number };
    return { node: shown.get(id)!, x, y, width, height, isOpen: graph.children(id).length > 0 };
  });
  const edges = graph.edges().map((edge) => {
    const { points, key } = graph.edge(edge) as { points: { x: number; y: number }[]; key: string };
    return { points, n: counts.get(key) ?? 1, from: shown.get(edge.v)!.path, to: shown.get(edge.w)!.path };
  });
  const { width, height } = graph.graph() as { width: number; height: number };
  return { nodes, edges, width, height };
}
