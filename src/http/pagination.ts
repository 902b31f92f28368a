import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { ZodType } from "zod";
import { headers } from "../contract/headers.ts";
import { PurserError } from "../kernel/errors.ts";
import { json } from "./create_route.ts";

/** Returns a JSON response that is one page of a list; its `Link` header has the next one. */
export function page<Schema extends ZodType>(schema: Schema, description: string) {
  return { ...json(schema, description), headers: headers("Link") };
}

/** A whole number in a query, in digits: `Number` would also accept `1e3`, `0x10` and an empty text. */
export function wholeNumber({ min, max }: { min: number; max: number }) {
  const digits = (value: unknown) =>
    typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  const rule = `must be a whole number from ${min} to ${max}`;
  return z.preprocess(digits, z.number(rule).int(rule).min(min, rule).max(max, rule));
}

interface PageSize {
  default: number;
  max: number;
}

/** The `limit` of a list. */
export const limitQuery = (size: PageSize) =>
  wholeNumber({ min: 1, max: size.max }).default(size.default).openapi({
    type: "integer",
    format: "int32",
    minimum: 1,
    maximum: size.max,
    default: size.default,
    description: `Maximum number of entries, 1 to ${size.max}`,
  });

/** The `limit` and `cursor` of a paginated list. */
export const pageQuery = (size: PageSize) => ({
  limit: limitQuery(size),
  cursor: z.string().optional().openapi({ description: "From the `Link` header of the previous page" }),
});

/** The position in a numbered list after which to continue. */
export const afterQuery = (description: string) =>
  wholeNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }).openapi({
    type: "integer",
    format: "int64",
    minimum: 0,
    description,
  });

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
