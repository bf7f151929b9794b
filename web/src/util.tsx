import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "./api";

export const COLOURS = ["#2f6fed", "#e8710a", "#0f9d6b", "#b23fd1", "#d93a5c", "#0a97ad", "#8a7a00", "#6b57e0", "#7a6a5d", "#3f8f1f"];
export const colourOf = (i: number) => COLOURS[i % COLOURS.length];

/** A colour that depends on the text only. */
export function colourOfText(text: string, light = 52, saturation = 58): string {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  // Names that differ in a digit only are to differ in colour.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash ^= hash >>> 16;
  return `hsl(${(hash >>> 0) % 360} ${saturation}% ${light}%)`;
}

export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return "";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit++; }
  return `${unit === 0 || n >= 100 ? n.toFixed(0) : n.toFixed(1)} ${units[unit]}`;
}

export function micros(us: number): string {
  if (us >= 1e6) return `${(us / 1e6).toFixed(2)} s`;
  if (us >= 1e3) return `${(us / 1e3).toFixed(2)} ms`;
  return `${us.toFixed(1)} µs`;
}

export function short(x: number | string | null | undefined): string {
  if (x === null || x === undefined) return "–";
  if (typeof x === "string") return x;
  const size = Math.abs(x);
  if (x === 0) return "0";
  if (Number.isInteger(x) && size < 1e6) return String(x);
  if (size < 1e-3 || size >= 1e6) return x.toExponential(3);
  return String(Number(x.toPrecision(5)));
}

export function span(seconds: number): string {
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(0)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** What was asked for: the answer, or the error. Asked again when `keys` change; the last answer stays meanwhile. */
export function useAsk<T>(path: string | null, query: Record<string, string | number | undefined>, keys: unknown[]) {
  const [state, set] = useState<{ data?: T; error?: string }>({});
  useEffect(() => {
    if (path === null) return set({});
    const abort = new AbortController();
    ask<T>(path, query, abort.signal).then(
      (data) => set({ data }),
      (error: Error) => error.name !== "AbortError" && set((old) => ({ ...old, error: error.message })),
    );
    return () => abort.abort();
  }, [path, ...keys]);
  return state;
}

/** A setting that stays when the page is loaded again, where the browser allows it. */
export function useKept<T>(name: string, first: T): [T, (value: T) => void] {
  const [value, set] = useState<T>(() => {
    try {
      const kept = localStorage.getItem(`fluvial.${name}`);
      return kept === null ? first : JSON.parse(kept);
    } catch {
      return first;
    }
  });
  return [value, (value: T) => {
    set(value);
    try { localStorage.setItem(`fluvial.${name}`, JSON.stringify(value)); } catch { /* Not kept. */ }
  }];
}

/** The size of an element, followed. */
export function useSize<E extends HTMLElement>(): [{ current: E | null }, { width: number; height: number }] {
  const element = useRef<E>(null);
  const [size, set] = useState({ width: 0, height: 0 });
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry.contentRect;
      set((old) => (Math.abs(old.width - width) + Math.abs(old.height - height) < 1 ? old : { width, height }));
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, size];
}

/** Lets the browser keep a text or a picture as a file. */
export function download(name: string, what: Blob | string, kind = "text/plain") {
  const blob = typeof what === "string" ? new Blob([what], { type: kind }) : what;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.-]+/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);

/** The value of a custom property of the theme. */
export const theme = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export const Icon = ({ path }: { path: string }) => (
  <svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true" class="glyph"><path d={path} /></svg>
);
