import type { Context, MiddlewareHandler } from "hono";
import { z, type ZodType } from "zod";
import { cellOf, toLines } from "../../kernel/csv.ts";
import type { ApiEnv } from "./principal.ts";

/*
 * Lists as CSV (RFC 4180) for a client that accepts it: one row for each entry, under a header. Objects become columns
 * of their own one level deep; what is deeper, and lists, are JSON.
 */

export const CSV = "text/csv";
export const CSV_TYPE = `${CSV}; charset=utf-8`;

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
      c.set("csvEntries", entries);
      const answerJson = c.json as (value: unknown, ...rest: unknown[]) => Response;
      const json = (value: unknown, ...rest: unknown[]) => {
        const list = field === undefined ? value : (value as Entry)[field];
        if (!Array.isArray(list)) return answerJson(value, ...rest);
        const csv = createCsv(c)!;
        csv.see(list);
        return c.body(csv.header() + list.map(csv.line).join(""), 200, { "content-type": CSV_TYPE });
      };
      c.json = json as unknown as typeof c.json;
    }
    await next();
  };
}

/** Writes a list as CSV, after all of its entries have been seen. */
export interface CsvWriter {
  see(entries: readonly object[]): void;
  header(): string;
  line(entry: object): string;
}

/** Returns the writer of a response that is CSV; undefined for one that is JSON. */
export function createCsv(c: Context<ApiEnv>): CsvWriter | undefined {
  const entries = c.get("csvEntries");
  if (!entries) return undefined;
  const given = new Set<string>();
  let columns: Path[] | undefined;
  const pathsOf = () => columns ??= columnsOf(entries, given);
  return {
    see(seen) {
      for (const entry of seen as readonly Entry[]) {
        for (const name of Object.keys(entry)) if (entry[name] !== undefined) given.add(name);
      }
    },
    header: () => toLines([pathsOf().map((path) => path.join("."))]),
    line: (entry) => toLines([pathsOf().map((path) => cellIn(entry as Entry, path))]),
  };
}

/** Returns the columns of a list: the fields of its schema, and optional ones where an entry has them. */
function columnsOf(entries: ZodType, given: ReadonlySet<string>): Path[] {
  const columns: Path[] = [];
  for (const [name, field] of fieldsOf(entries)) {
    if (field.isOptional() && !given.has(name)) continue;
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

function cellIn(row: Entry, [name, inner]: Path): string {
  return inner === undefined ? cellOf(name, row[name]) : cellOf(inner, (row[name] as Entry | null)?.[inner]);
}
