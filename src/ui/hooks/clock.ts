/** The browser's clock: the only file of the dashboard that reads it or waits for it. */
import { useEffect, useState } from "preact/hooks";

/** Returns the time in milliseconds since 1970. */
export function now(): number {
  return Date.now();
}

/** Calls a function after some milliseconds. Returns a function that cancels it. */
export function after(milliseconds: number, call: () => void): () => void {
  const timer = setTimeout(call, milliseconds);
  return () => clearTimeout(timer);
}

/** Calls a function repeatedly, while the page is visible. Returns a function that ends it. */
export function every(milliseconds: number, call: () => void): () => void {
  const timer = setInterval(() => {
    if (document.visibilityState === "visible") call();
  }, milliseconds);
  return () => clearInterval(timer);
}

/** Returns the time, and renders again every so often, for times such as "3 min ago". */
export function useNow(milliseconds = 10_000): number {
  const [time, setTime] = useState(now);
  useEffect(() => every(milliseconds, () => setTime(now())), [milliseconds]);
  return time;
}
