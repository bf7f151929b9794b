// A program as the server tells it, and what the page makes of it: rows of a listing, and groups for a graph.

export interface Type { text: string; bytes: number | null }
export interface Place { file: string; line: number; function: string | null; layer: string | null; phase: string; from: string[] }
export interface Call {
  op: string; in: number[]; first: number; n: number; attrs?: [string, string][]; at?: number; blocks?: number[]; parts?: number; kernel?: string[];
}
export interface Block { params: number; types: number[]; names: Record<string, string>; results: number[]; calls: Call[] }
export interface Stage { inputs: string[]; outputs: string[]; main: number; blocks: Block[]; types: Type[]; places: Place[] }
export interface Pass { name: string; why: string | null; n_calls: number; patches: { what: string; line: string | null }[] }
export interface Named { name: string; type: string; bytes: number | null; role?: string }
export interface Overview {
  name: string; inputs: Named[]; outputs: Named[]; states: Named[]; symbols: string[]; n_calls: number; stages: Pass[]; fault: string | null;
}

/** A line of the listing: a call, or the head or the foot of a block. */
export interface Row {
  kind: "call" | "head" | "foot"; block: number; call: number; depth: number; path: string;
  key: string; text: string; mark?: "gone" | "new";
}

export const valueName = (block: Block, id: number) => `%${block.names[id] ?? id}`;
export const outputs = (call: Call) => Array.from({ length: call.n }, (_, i) => call.first + i);
export const idOf = (path: string, call: number) => `${path}/${call}`;

const attrsText = (call: Call) => (call.attrs?.length ? `{${call.attrs.map(([name, value]) => `${name}=${value}`).join(", ")}}` : "");
export const placeText = (place: Place | undefined) => (place ? `${place.file.split("/").at(-1)}:${place.line}` : "");

/** What a call says without the numbers of values, which change with every line before it. */
const keyOf = (stage: Stage, block: Block, call: Call, depth: number) => {
  const types = outputs(call).map((id) => stage.types[block.types[id]]?.text).join();
  const place = call.at === undefined ? "" : placeText(stage.places[call.at]);
  const names = call.in.map((id) => block.names[id] ?? "").join();
  return `${depth} ${call.op}${attrsText(call)} ${names} ${types} ${place}`;
};

export function rows(stage: Stage): Row[] {
  const list: Row[] = [];
  const walk = (number: number, depth: number, path: string) => {
    const block = stage.blocks[number];
    block.calls.forEach((call, i) => {
      const made = outputs(call).map((id) => valueName(block, id)).join(", ");
      const taken = call.in.map((id) => valueName(block, id)).join(", ");
      const text = `${made ? `${made} = ` : ""}${call.op}${attrsText(call)}(${taken})`;
      const here = idOf(path, i);
      list.push({ kind: "call", block: number, call: i, depth, path: here, key: keyOf(stage, block, call, depth), text });
      (call.blocks ?? []).forEach((inner, k) => {
        const params = stage.blocks[inner];
        const head = Array.from({ length: params.params }, (_, id) => valueName(params, id)).join(", ");
        list.push({ kind: "head", block: inner, call: -1, depth: depth + 1, path: `${here}:${k}`, key: `${depth} block ${k}`, text: `block ${k} (${head})` });
        walk(inner, depth + 2, `${here}:${k}`);
        const results = params.results.map((id) => valueName(params, id)).join(", ");
        list.push({ kind: "foot", block: inner, call: -2, depth: depth + 1, path: `${here}:${k}.`, key: `${depth} return ${k}`, text: `return ${results}` });
      });
    });
  };
  walk(stage.main, 0, "");
  return list;
}

/** The second listing with marks, and with the lines of the first that are gone. */
export function difference(a: Row[], b: Row[]): Row[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start].key === b[start].key) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end].key === b[b.length - 1 - end].key) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const kept = matched(left.map((row) => row.key), right.map((row) => row.key));
  const merged: Row[] = b.slice(0, start);
  let [i, j] = [0, 0];
  for (const [p, q] of [...kept, [left.length, right.length]]) {
    while (i < p) merged.push({ ...left[i], mark: "gone", path: `-${left[i++].path}` });
    while (j < q) merged.push({ ...right[j++], mark: "new" });
    if (p < left.length) { merged.push(right[q]); i++; j++; }
  }
  return [...merged, ...b.slice(b.length - end)];
}

/** Pairs of equal lines in order, as many as can be: the shortest way of edits, up to a bound; beyond, lines that occur once in both. */
function matched(a: string[], b: string[]): [number, number][] {
  const bound = 1500, [n, m] = [a.length, b.length];
  let reach = new Int32Array(2 * bound + 3);
  const history: Int32Array[] = [];
  for (let d = 0; d <= Math.min(bound, n + m); d++) {
    history.push(reach.slice());
    for (let k = -d; k <= d; k += 2) {
      const o = bound + 1 + k;
      let x = k === -d || (k !== d && reach[o - 1] < reach[o + 1]) ? reach[o + 1] : reach[o - 1] + 1;
      while (x < n && x - k < m && a[x] === b[x - k]) x++;
      reach[o] = x;
      if (x >= n && x - k >= m) return way(history, n, m, bound);
    }
  }
  const place = new Map<string, number>();
  const counts = new Map<string, number>();
  for (const text of [...a, ...b]) counts.set(text, (counts.get(text) ?? 0) + 1);
  b.forEach((text, j) => place.set(text, j));
  const pairs: [number, number][] = [];
  a.forEach((text, i) => {
    const j = place.get(text);
    if (counts.get(text) === 2 && j !== undefined && j > (pairs.at(-1)?.[1] ?? -1)) pairs.push([i, j]);
  });
  return pairs;
}

function way(history: Int32Array[], n: number, m: number, bound: number): [number, number][] {
  const pairs: [number, number][] = [];
  let [x, y] = [n, m];
  for (let d = history.length - 1; d >= 0; d--) {
    const reach = history[d], k = x - y, o = bound + 1 + k;
    const before = k === -d || (k !== d && reach[o - 1] < reach[o + 1]) ? k + 1 : k - 1;
    const px = d === 0 ? 0 : reach[bound + 1 + before], py = d === 0 ? 0 : px - before;
    while (x > px && y > py) pairs.push([--x, --y]);
    [x, y] = [px, py];
  }
  return pairs.reverse();
}

/** A node of the graph: a call, or a group of them that can be opened. */
export interface Node {
  id: string; label: string; about: string; kind: "call" | "group" | "value"; phase: string;
  block: number; calls: number[]; path: string; children?: Node[]; n: number; inner?: boolean;
}

/** More children than this are put into groups. */
const MOST = 60;

/** The calls of a block, grouped by phase, by layer, and where there are too many, by line and by number. */
export function tree(stage: Stage, number: number, path: string): Node[] {
  const block = stage.blocks[number];
  const place = (call: Call) => (call.at === undefined ? undefined : stage.places[call.at]);
  const indices = block.calls.map((_, i) => i).filter((i) => block.calls[i].in.length > 0 || block.calls[i].blocks);
  const maker = new Map(block.calls.flatMap((call) => outputs(call).map((id) => [id, call] as const)));
  const stateOf = (call: Call | undefined) => call?.attrs?.find(([name]) => name === "state")?.[1];
  /** The layer of a call; of an update, that of the parameter that it reads or assigns. */
  const layerOf = (call: Call): string[] => {
    const known = place(call)?.layer;
    if (known) return known.split(".");
    if (place(call)?.phase !== "optimizer") return [];
    const names = [stateOf(call), ...call.in.map((id) => stateOf(maker.get(id)))].filter((name) => name !== undefined && name.includes("."));
    const shortest = names.sort((a, b) => a!.length - b!.length)[0];
    return shortest ? shortest.split(".").slice(0, -1) : [];
  };
  const phases = new Set(indices.map((i) => place(block.calls[i])?.phase ?? "forward"));
  const leaf = (i: number): Node => {
    const call = block.calls[i];
    const types = outputs(call).map((id) => stage.types[block.types[id]]?.text).join(", ");
    const node: Node = { id: idOf(path, i), label: call.op, about: types, kind: "call", phase: place(call)?.phase ?? "forward", block: number, calls: [i], path: idOf(path, i), n: 1 };
    if (call.blocks) {
      node.children = call.blocks.flatMap((inner, k) => tree(stage, inner, `${idOf(path, i)}:${k}`));
      node.n = node.children.reduce((sum, child) => sum + child.n, 1);
      node.inner = true;
    }
    return node;
  };
  const group = (id: string, label: string, phase: string, children: Node[]): Node => {
    const calls = children.flatMap((child) => child.calls);
    return { id: `${path}#${id}`, label, about: "", kind: "group", phase, block: number, calls, path: "", children, n: children.reduce((sum, child) => sum + child.n, 0) };
  };
  const tame = (id: string, phase: string, list: Node[]): Node[] => {
    if (list.length <= MOST) return list;
    const lines = new Map<string, Node[]>();
    for (const node of list) {
      const line = node.kind === "call" ? placeText(place(block.calls[node.calls[0]])) : "";
      lines.set(line, [...(lines.get(line) ?? []), node]);
    }
    if (lines.size > 1 && lines.size <= MOST) {
      return [...lines].flatMap(([line, nodes]) => (nodes.length === 1 ? nodes : [group(`${id}@${line}`, line || "no line", phase, tame(`${id}@${line}`, phase, nodes))]));
    }
    const size = Math.max(20, Math.ceil(list.length / 40));
    return Array.from({ length: Math.ceil(list.length / size) }, (_, k) => {
      const part = list.slice(k * size, (k + 1) * size);
      return group(`${id}[${k}`, `calls ${part[0].calls[0]}–${part.at(-1)!.calls.at(-1)}`, phase, tame(`${id}[${k}`, phase, part));
    });
  };
  const byLayer = (id: string, phase: string, list: number[], depth: number): Node[] => {
    const parts = new Map<string, number[]>();
    const order: (number | string)[] = [];
    for (const i of list) {
      const layer = layerOf(block.calls[i]);
      if (layer.length <= depth) { order.push(i); continue; }
      const name = layer[depth];
      if (!parts.has(name)) { parts.set(name, []); order.push(name); }
      parts.get(name)!.push(i);
    }
    return tame(id, phase, order.flatMap((item) => {
      if (typeof item === "number") return [leaf(item)];
      const inside = byLayer(`${id}.${item}`, phase, parts.get(item)!, depth + 1);
      if (inside.length === 1) return inside[0].kind === "group" ? [{ ...inside[0], label: `${item}.${inside[0].label}` }] : inside;
      return [group(`${id}.${item}`, item, phase, inside)];
    }));
  };
  const groups = ["forward", "backward", "optimizer"].filter((phase) => phases.has(phase)).map((phase) => {
    const list = indices.filter((i) => (place(block.calls[i])?.phase ?? "forward") === phase);
    return { phase, nodes: byLayer(phase, phase, list, 0) };
  });
  return groups.length === 1 ? groups[0].nodes : groups.map(({ phase, nodes }) => group(phase, phase, phase, nodes));
}
