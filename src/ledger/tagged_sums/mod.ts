/** The sums of calls by the values of a tag, of which statements are made. */
import { NANO_PER_USD, type NanoUsd } from "../../kernel/money.ts";
import { indexedBy, NOT_INDEXED, type SqlValue, type Store, toObjects } from "../../store/mod.ts";
import type { TagGroup } from "../../contract/tags/tags.ts";
import { tagValue } from "../cost_conditions.ts";
import { COUNTER_SUMS, ENTRY_COUNTERS } from "../usage_sql.ts";

/** The sums of the calls to one model with one value of a tag; null for those without it. */
export interface TaggedSum {
  value: string | null;
  provider: string;
  model: string;
  modelCalls: number;
  unpricedCalls: number;
  totalTokens: number;
  costNanoUsd: NanoUsd;
}

/** Sums the entries of a span of time and of positions, `after` < position <= `upTo`, by a tag and by model. */
export async function sumByTag(
  store: Pick<Store, "readLong">,
  { tag, from, to, after, upTo }: { tag: TagGroup; from: number; to: number; after?: number; upTo: number },
): Promise<TaggedSum[]> {
  // Entries after a position are few, and at the end of the table.
  const table = after === undefined ? `calls ${indexedBy("calls_by_time")}` : `calls ${NOT_INDEXED}`;
  const rows = toObjects<Record<string, SqlValue>>(
    await store.readLong({
      sql: `SELECT tag_value, provider, model, ${COUNTER_SUMS} FROM (
  SELECT ${tagValue(tag)} AS tag_value, provider, model, ${ENTRY_COUNTERS} FROM ${table}
  WHERE at >= ? AND at < ? AND position > ? AND position <= ?) entries GROUP BY tag_value, provider, model`,
      args: [from, to, after ?? 0, upTo],
    }),
  );
  return rows.map((row): TaggedSum => ({
    value: row.tag_value as string | null,
    provider: row.provider as string,
    model: row.model as string,
    modelCalls: Number(row.model_calls),
    unpricedCalls: Number(row.unpriced_calls),
    totalTokens: Number(row.total_tokens),
    costNanoUsd: BigInt(row.whole_usd as bigint) * NANO_PER_USD + BigInt(row.rest_nano_usd as bigint),
  })).filter(({ modelCalls, totalTokens, costNanoUsd }) =>
    modelCalls !== 0 || totalTokens !== 0 || costNanoUsd !== 0n
  );
}
