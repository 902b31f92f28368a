import type { ResultSet, Statement, Store } from "../store/mod.ts";

/** Commits the statements of all parts, in their order, as one unit, and gives the results by part. */
export async function writeParts<Name extends string>(
  store: Pick<Store, "write">,
  parts: Record<Name, readonly Statement[]>,
): Promise<Record<Name, ResultSet[]>> {
  const named = Object.entries(parts) as [Name, readonly Statement[]][];
  const results = await store.write(named.flatMap(([, statements]) => statements));
  let next = 0;
  return Object.fromEntries(
    named.map(([name, { length }]) => [name, results.slice(next, next += length)]),
  ) as Record<Name, ResultSet[]>;
}
