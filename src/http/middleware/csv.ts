import type { MiddlewareHandler } from "hono";
import { z, type ZodType } from "zod";
import { formatUsd, parseTotalUsd } from "../../kernel/money.ts";
import type { ApiEnv } from "./principal.ts";

/*
 * Lists as CSV (RFC 4180) for a client that accepts it: one row for each entry, under a header. Objects become columns
 * of their own one level deep; what is deeper, and lists, are JSON.
 */

export const CSV = "text/csv";

type Entry = Record<string, unknown>;

/** A column: a field, or a field of a field that is an object. */
type Path = readonly [name: string, inner?: string];

/** Returns the schema of the entries of a response that is a list, or has one as a field; undefined for any other. */
export function entriesOf(response: unknown, field?: string): ZodType | undefined {
  const schema = field !== undefined && response instanceof z.ZodObject ? response.shape[field] : response;
  return schema instanceof z.ZodArray ? schema.element as ZodType : undefined;
}

/** Returns whether an `Accept` header names CSV, and does not prefer JSON to it. */
export function acceptsCsv(accept = ""): boolean {
  const qualityOf = (type: string) => {
    const range = accept.split(",").map((one) => one.toLowerCase().replaceAll(/\s/g, "").split(";"))
      .find(([name]) => name === type);
    const quality = range?.find((parameter) => parameter.startsWith("q="))?.slice(2);
    return range === undefined ? 0 : quality === undefined ? 1 : Number(quality) || 0;
  };
  const quality = qualityOf(CSV);
  return quality > 0 && quality >= qualityOf("application/json");
}

/** Answers a request that accepts CSV with the list that its route returns as JSON, as CSV. */
export function csvOf(entries: ZodType, field?: string): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    if (acceptsCsv(c.req.header("accept"))) {
      const answerJson = c.json as (value: unknown, ...rest: unknown[]) => Response;
      const json = (value: unknown, ...rest: unknown[]) => {
        const list = field === undefined ? value : (value as Entry)[field];
        return Array.isArray(list)
          ? c.body(toCsv(list, columnsOf(entries, list)), 200, { "content-type": `${CSV}; charset=utf-8` })
          : answerJson(value, ...rest);
      };
      c.json = json as unknown as typeof c.json;
    }
    await next();
  };
}

/** Returns the columns of a list: the fields of its schema, and optional ones where an entry has them. */
function columnsOf(entries: ZodType, rows: readonly Entry[]): Path[] {
  const columns: Path[] = [];
  const given = (name: string) => rows.some((row) => row[name] !== undefined);
  for (const [name, field] of fieldsOf(entries)) {
    if (field.isOptional() && !given(name)) continue;
    const inner = fieldsOf(field);
    if (inner.length === 0) columns.push([name]);
    else columns.push(...inner.map(([part]): Path => [name, part]));
  }
  return columns;
}

/** Returns the fields of an object's schema, also of one that may be null or absent; none of any other. */
function fieldsOf(schema: ZodType): [string, ZodType][] {
  if (schema instanceof z.ZodObject) return Object.entries(schema.shape) as [string, ZodType][];
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    return fieldsOf(schema.unwrap() as ZodType);
  }
  return [];
}

function toCsv(rows: readonly Entry[], columns: readonly Path[]): string {
  const header = columns.map((path) => path.join("."));
  const lines = rows.map((row) =>
    columns.map(([name, inner]) =>
      inner === undefined ? cellOf(name, row[name]) : cellOf(inner, (row[name] as Entry | null)?.[inner])
    )
  );
  return toLines([header, ...lines]);
}

/** Returns lines of cells as the text of a CSV document. */
export function toLines(lines: readonly (readonly string[])[]): string {
  return lines.map((cells) => cells.join(",") + "\r\n").join("");
}

/** Returns a value as a cell; null and undefined are empty. */
export function cellOf(name: string, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") {
    return name.endsWith("_usd") || name.startsWith("usd_") ? usdCell(value) : String(value);
  }
  return textCell(typeof value === "object" ? JSON.stringify(value) : String(value));
}

/** An amount as a plain decimal: the text of a number may be `1e-9`. */
const usdCell = (usd: number) => formatUsd(parseTotalUsd(usd));

/** A decimal number, which a spreadsheet reads as such. */
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

/**
 * Returns a text as a cell. Spreadsheets run a text that begins like a formula, also a quoted one, so that it gets an
 * apostrophe before it, which they hide.
 */
function textCell(text: string): string {
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
