// What the server is asked, and what an exported page has instead.

export interface Tagged { tag: string; n: number }
export interface ScalarTag extends Tagged { step: number | null; last: number | string | null }
export interface Note { tag: string; step: number; time: number; text: string }
export interface RunInfo {
  name: string; folder: string; began: number | null; last: number; is_live: boolean;
  scalars: ScalarTag[]; histograms: Tagged[]; images: Tagged[]; texts: Note[]; events: Note[];
  config: Record<string, unknown> | null; machine: Record<string, unknown> | null;
}
export interface Index {
  version: number; has_more: boolean; is_behind: boolean; folders: string[]; runs: RunInfo[];
  programs: string[]; profiles: string[]; tensors: string[]; fluvial: string;
}
export interface SeriesData {
  x: number[]; y: (number | null)[]; smooth?: (number | null)[]; step: number[]; time: number[]; n: number;
}
export interface HistogramRow {
  step: number; time: number; min: number; max: number; count: number; mean: number; deviation: number;
  limits: number[]; counts: number[];
}

const embedded = document.getElementById("data");
const data: Record<string, unknown> | null = embedded ? JSON.parse(embedded.textContent ?? "{}") : null;

/** Whether the page is a file that nobody serves. */
export const isExported = data !== null;

type Query = Record<string, string | number | undefined>;

const searched = (query: Query) => {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  return new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
};

/** The address of something that is loaded by the browser itself. */
export const address = (path: string, query: Query) => `api/${path}?${searched(query)}`;

/** Asks for data. The error of a refusal says what the server has said. */
export async function ask<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  if (data) {
    const by = query.by === "time" ? " by time" : "";
    const words = ["run", "tag", "program", "stage", "profile", "tensors"].map((name) => query[name]);
    const known = data[[path + by, ...words.filter((word) => word !== undefined)].join(" ")] as T & { fault?: string };
    if (known === undefined) throw new Error("This is not part of the exported page; `fluvial view` shows it.");
    if (known && known.fault && path !== "program") throw new Error(known.fault);
    return known;
  }
  let answer: Response;
  try {
    answer = await fetch(address(path, query), { signal });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new Error("`fluvial view` does not answer any more. Start it again, and open the address that it prints.");
  }
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

/** Calls back whenever there is something new, and when nobody answers any more. */
export function live(onNew: () => void, onState: (isOn: boolean) => void): () => void {
  if (data) return () => {};
  const source = new EventSource("api/live");
  source.onmessage = () => { onState(true); onNew(); };
  source.onopen = () => onState(true);
  source.onerror = () => onState(false);
  return () => source.close();
}
