import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { headers } from "../contract/headers.ts";
import { json } from "./route_parts.ts";

/** Returns a JSON response that is one page of a list; its `Link` header has the next one. */
export function page<Schema extends ZodType>(schema: Schema, description: string) {
  return { ...json(schema, description), headers: headers("Link") };
}

/** A whole number in digits, up to the 16 of 2^53 - 1: `Number` would also accept `1e3`, `0x10` and an empty text. */
const DIGITS = /^\d{1,16}$/;

/** Parses a position in the log, from 0 to 2^53 - 1; undefined for any other text. */
export function parsePosition(text: string): number | undefined {
  const position = DIGITS.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(position) ? position : undefined;
}

/** A whole number in a query. */
export function wholeNumber({ min, max }: { min: number; max: number }) {
  const digits = (value: unknown) => typeof value === "string" && DIGITS.test(value) ? Number(value) : value;
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

const cursorQuery = () =>
  z.string().optional().openapi({ description: "From the `Link` header of the previous page" });

/** The `limit` and `cursor` of a paginated list. */
export const pageQuery = (size: PageSize) => ({ limit: limitQuery(size), cursor: cursorQuery() });

/** The same of a list that is returned whole where there is no `limit`. */
export const optionalPageQuery = (max: number) => ({
  limit: wholeNumber({ min: 1, max }).optional().openapi({
    type: "integer",
    format: "int32",
    minimum: 1,
    maximum: max,
    description: `Maximum number of entries, 1 to ${max}; all without it`,
  }),
  cursor: cursorQuery(),
});

/** The position in a numbered list after which to continue. */
export const afterQuery = (description: string) =>
  wholeNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }).openapi({
    type: "integer",
    format: "int64",
    minimum: 0,
    description,
  });
