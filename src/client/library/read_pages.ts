import { errorOf } from "../mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { FetchHandler } from "../../http/mod.ts";

/** The largest page that each list of the API returns. */
const PAGE = 1_000;

/** A parameter of a list; undefined ones are left out. */
export type Parameter = string | number | Date | undefined;

/**
 * Reads a list of the API to its end, or its first `limit` rows, by as many requests within this process as it has pages.
 *
 * @throws {PurserError} as the route does
 */
export async function readPages<Row>(
  app: FetchHandler,
  path: string,
  { limit = Infinity, ...parameters }: Readonly<Record<string, Parameter>> & { limit?: number },
): Promise<Row[]> {
  if (limit !== Infinity && !(Number.isSafeInteger(limit) && limit > 0)) {
    throw new PurserError("invalid", `Cannot read ${path}: limit must be a whole number of at least 1`);
  }
  const query = new URLSearchParams({ limit: String(Math.min(limit, PAGE)) });
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  const rows: Row[] = [];
  for (let next: string | undefined = `${path}?${query}`; next !== undefined && rows.length < limit;) {
    const answer: Response = await app.fetch(new Request(`http://purser.invalid${next}`));
    if (!answer.ok) throw await errorOf(answer);
    rows.push(...await answer.json() as Row[]);
    next = /<([^>]+)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
  }
  return rows.length > limit ? rows.slice(0, limit) : rows;
}
