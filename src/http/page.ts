import type { Context } from "hono";
import { PurserError } from "../kernel/errors.ts";

/** Parses a cursor. Throws `invalid` on anything that `linkNext` has not made. */
export function readCursor<T>(
  cursor: string | undefined,
  check: (value: unknown) => value is T,
): T | undefined {
  if (cursor === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(atob(cursor.replaceAll("-", "+").replaceAll("_", "/")));
    if (check(value)) return value;
  } catch {
    // not base64, or not JSON
  }
  throw new PurserError("invalid", "Cannot read cursor: take it from the Link header of the previous page", {
    details: { issues: [{ path: "cursor", message: "is not a cursor of this list" }] },
  });
}

/** Sets the `Link` header to the next page. */
export function linkNext(c: Context, position: unknown): void {
  const url = new URL(c.req.url);
  const cursor = btoa(JSON.stringify(position)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  url.searchParams.set("cursor", cursor);
  c.header("Link", `<${url.pathname}${url.search}>; rel="next"`);
}
