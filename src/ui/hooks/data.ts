import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { every, now } from "./clock.ts";
import { request, RequestError } from "./request.ts";

/** A value of the API as a view shows it. */
export interface Data<Value> {
  /** The newest value; it stays while a newer one is requested, and when that fails. */
  readonly value: Value | undefined;
  /** The error of the newest request. */
  readonly error: RequestError | undefined;
  readonly isLoading: boolean;
  /** True if `value` could not be refreshed. */
  readonly isStale: boolean;
  /** The time at which `value` arrived. */
  readonly at: number | undefined;
  /** The address of the next page of a list. */
  readonly next: string | undefined;
  readonly etag: string | undefined;
  reload(): void;
}

interface Cached {
  value: unknown;
  next: string | undefined;
  etag: string | undefined;
  at: number;
}

/** The last answers by address, so that Back shows a page at once; it is refreshed anyway. */
const cache = new Map<string, Cached>();
const MAX_CACHED = 50;
/** Increases when an action has changed something, so that every view reads again. */
let changes = 0;
const onChange = new Set<() => void>();

/** Makes every view read its data again, after an action. */
export function refreshAll(): void {
  changes++;
  for (const listener of onChange) listener();
}

let isPaused = false;

/** Stops the periodic requests of all views, or resumes them with a request of each view. */
export function pauseRefresh(paused: boolean): void {
  isPaused = paused;
  if (!paused) refreshAll();
}

/** Repeats a request while the page is visible and not paused. Returns a function that ends it. */
export function refreshEvery(milliseconds: number, read: () => void): () => void {
  return every(milliseconds, () => isPaused || read());
}

/** Forgets all answers, when another key signs in. */
export function forgetAnswers(): void {
  cache.clear();
}

/**
 * Reads an address of the API, such as `apiPath("/costs", { group_by: "day" })`; undefined reads nothing. It is read again
 * when the address changes, after `reload()` and every action, and every `refreshMs` while the page is visible and not
 * paused.
 */
export function useData<Value>(
  path: string | undefined,
  { refreshMs }: { refreshMs?: number } = {},
): Data<Value> {
  const [, render] = useState(0);
  const [turn, setTurn] = useState(changes);
  const state = useRef<{ path?: string; cached?: Cached; error?: RequestError; isLoading: boolean }>({
    isLoading: path !== undefined,
  });
  if (state.current.path !== path) {
    state.current = {
      path,
      cached: path === undefined ? undefined : cache.get(path),
      isLoading: path !== undefined,
    };
  }
  const reload = useCallback(() => setTurn((turn) => turn + 1), []);

  useEffect(() => {
    onChange.add(reload);
    const end = refreshMs === undefined ? undefined : refreshEvery(refreshMs, reload);
    return () => {
      onChange.delete(reload);
      end?.();
    };
  }, [refreshMs]);

  useEffect(() => {
    if (path === undefined) return;
    const controller = new AbortController();
    const mine = state.current;
    mine.isLoading = true;
    request<Value>(path, { signal: controller.signal }).then(
      (answer) => {
        mine.cached = { ...answer, at: now() };
        mine.error = undefined;
        cache.delete(path);
        cache.set(path, mine.cached);
        if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value!);
      },
      (error) => {
        if (!controller.signal.aborted) mine.error = error as RequestError;
      },
    ).finally(() => {
      if (controller.signal.aborted) return;
      mine.isLoading = false;
      render((count) => count + 1);
    });
    return () => controller.abort();
  }, [path, turn]);

  const { cached, error, isLoading } = state.current;
  return {
    value: cached?.value as Value | undefined,
    error,
    isLoading,
    isStale: error !== undefined && cached !== undefined,
    at: cached?.at,
    next: cached?.next,
    etag: cached?.etag,
    reload,
  };
}

/** A list that is read page by page. */
export interface Pages<Row> extends Omit<Data<Row[]>, "next" | "etag"> {
  /** Reads the next page, and adds it to `value`; undefined on the last one. */
  readonly more: (() => void) | undefined;
}

/** Reads a paged list of the API; `more()` adds pages. */
export function usePages<Row>(path: string | undefined, options: { refreshMs?: number } = {}): Pages<Row> {
  const first = useData<Row[]>(path, options);
  const [rest, setRest] = useState<
    { of: string | undefined; rows: Row[]; next: string | undefined; error?: RequestError }
  >();
  const added = rest?.of === path && path !== undefined ? rest : undefined;
  const next = added ? added.next : first.next;
  const more = useCallback(() => {
    request<Row[]>(next!).then(
      (answer) => setRest({ of: path, rows: [...added?.rows ?? [], ...answer.value], next: answer.next }),
      (error) => setRest({ of: path, rows: added?.rows ?? [], next, error: error as RequestError }),
    );
  }, [path, next, added]);
  const value = first.value && added ? [...first.value, ...added.rows] : first.value;
  return { ...first, value, error: first.error ?? added?.error, more: next === undefined ? undefined : more };
}
