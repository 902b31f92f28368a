import type { Context } from "hono";
import { LABEL_PATTERN } from "../contract/limits.ts";
import { PurserError } from "../kernel/errors.ts";
import type { TimePosition } from "../store/mod.ts";

/** Cursors of lists: the position of a page's last entry, encoded. A client takes them from the `Link` header. */

/** Returns whether a value is a `TimePosition` that the database can compare with. */
export function isTimePosition(value: unknown): value is TimePosition {
  return Array.isArray(value) && value.length === 2 && Number.isSafeInteger(value[0]) &&
    isIdPosition(value[1]);
}

/** Returns whether a value is the position in a list by id. */
export function isIdPosition(value: unknown): value is string {
  return typeof value === "string" && LABEL_PATTERN.test(value);
}

/** Returns whether a value is the position in a list by number. */
export function isNumberPosition(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Parses a cursor. Throws `invalid` on anything that `linkNext` has not made. */
export function readCursor<T>(
  cursor: string | undefined,
  check: (value: unknown) => value is T,
): T | undefined {
  if (cursor === undefined) return undefined;
  try {
    const bytes = atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(
      Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)),
    );
    const value: unknown = JSON.parse(text);
    if (check(value)) return value;
  } catch {
    // not base64, not UTF-8, or not JSON
  }
  throw new PurserError("invalid", "Cannot read cursor: take it from the Link header of the previous page", {
    details: { issues: [{ path: "cursor", message: "is not a cursor of this list" }] },
  });
}

/** A page ends before its `limit` where its entries would have more characters of JSON, unless a single one has. */
export const PAGE_CHARACTERS = 1024 * 1024;

/**
 * Returns a page of a list: as many of the entries that were read as fit. Sets the `Link` header to the next
 * page if one was cut off, or `hasMore`. `positionOf` returns the position after the last one of a number of entries.
 */
export function pageOf<Entry>(
  c: Context,
  entries: Entry[],
  positionOf: (last: Entry, count: number) => TimePosition | string | number,
  hasMore: boolean,
): Entry[] {
  let characters = 0;
  const isOver = (entry: Entry) => (characters += JSON.stringify(entry).length + 1) > PAGE_CHARACTERS;
  const end = entries.findIndex((entry, index) => isOver(entry) && index > 0);
  const page = end === -1 ? entries : entries.slice(0, end);
  if (page.length > 0 && (page.length < entries.length || hasMore)) {
    linkNext(c, positionOf(page.at(-1)!, page.length));
  }
  return page;
}

/** Returns the position of an entry in a list by time, by the fields that are its time and its id. */
export function positionIn<At extends string, Id extends string>(at: At, id: Id) {
  return (entry: Record<At | Id, string>): TimePosition => [Date.parse(entry[at]), entry[id]];
}

/** Returns a page of a list by time, as `pageOf()` does; `read` reads at most `limit` entries after a position. */
export async function pageByTime<Entry>(
  c: Context,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
  positionOf: (last: Entry) => TimePosition,
  read: (from: TimePosition | undefined, limit: number) => Promise<Entry[]>,
): Promise<Entry[]> {
  const entries = await read(readCursor(cursor, isTimePosition), limit);
  return pageOf(c, entries, positionOf, entries.length === limit);
}

/** Sets the `Link` header to the next page. */
export function linkNext(c: Context, position: TimePosition | string | number): void {
  const url = new URL(c.req.url);
  const bytes = new TextEncoder().encode(JSON.stringify(position)); // an id may have any character
  const cursor = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(
    /=+$/,
    "",
  );
  url.searchParams.set("cursor", cursor);
  c.header("Link", `<${url.pathname}${url.search}>; rel="next"`);
}
