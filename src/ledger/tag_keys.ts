import type { TagKey } from "../contract/tags/tag_schemas.ts";
import { toIso } from "../kernel/clock.ts";
import { byBytes, indexedBy, ORDERED_JOIN, type SqlValue, type Store } from "../store/mod.ts";
import { ALL_TAGS, conditionsOf, MAX_TIME } from "./cost_conditions.ts";
import type { CostScope } from "./cost_filter.ts";

/** The newest calls with tags whose keys are listed: the number of all of them has no bound. */
export const MAX_TAGGED_CALLS = 10_000;

/** Lists the keys of the tags of a scope's calls by name: those of its newest 10,000 calls that have tags. */
export async function listTagKeys(
  store: Pick<Store, "readLong">,
  scope: CostScope,
  { limit, offset }: { limit: number; offset: number },
): Promise<TagKey[]> {
  const args: SqlValue[] = [];
  const newest = (source: string, where: string) => {
    const all = [where, ...conditionsOf(scope, args), "at >= ? AND at < ?"].join(" AND ");
    args.push(scope.from ?? 0, scope.to ?? MAX_TIME, MAX_TAGGED_CALLS);
    return `SELECT * FROM (SELECT ${ALL_TAGS} AS tags, at FROM ${source} WHERE ${all} ORDER BY at DESC LIMIT ?) newest`;
  };
  const own = newest(`calls ${indexedBy("calls_by_tags")}`, "calls.tags IS NOT NULL");
  const added = newest(
    `call_tags added ${ORDERED_JOIN} calls ON calls.call_id = added.call_id`,
    "calls.tags IS NULL",
  );
  args.push(limit, offset);
  // Calls with the same tags are parsed once.
  const sql = `SELECT j.key, max(t.at) FROM (SELECT tags, max(at) AS at FROM (
  ${own} UNION ALL ${added}) tagged GROUP BY tags) t,
  json_each(t.tags) j GROUP BY j.key ORDER BY ${byBytes("j.key")} LIMIT ? OFFSET ?`;
  const { rows } = await store.readLong({ sql, args });
  return rows.map(([key, at]) => ({ tag_key: key as string, last_used_at: toIso(Number(at)) }));
}
