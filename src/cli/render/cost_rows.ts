import type { Grouping } from "../../contract/values.ts";
import type { Connection } from "../../client/mod.ts";
import type { CostRow as LedgerRow } from "../../ledger/mod.ts";
import { type NanoUsd, parseTotalUsd } from "../../kernel/money.ts";

/** The fields of a row of `GET /costs` that commands look at. */
export type CostRow =
  & Pick<LedgerRow, "agent_id" | "session_id" | "run_id" | "provider" | "model" | "hour" | "day">
  & Pick<LedgerRow, "model_calls" | "unpriced_calls" | "total_tokens" | "cost_usd">;

/** Several rows as one; money in nano-USD. */
export interface Spend {
  modelCalls: number;
  unpricedCalls: number;
  totalTokens: number;
  costNanoUsd: NanoUsd;
}

/** What a row has cost; calls without a known price count as nothing, as in the API's sums. */
export function costOf(row: CostRow): NanoUsd {
  return row.cost_usd === null ? 0n : parseTotalUsd(row.cost_usd);
}

/** Sums rows exactly. */
export function sumRows(rows: readonly CostRow[]): Spend {
  const sum: Spend = { modelCalls: 0, unpricedCalls: 0, totalTokens: 0, costNanoUsd: 0n };
  for (const row of rows) {
    sum.modelCalls += row.model_calls;
    sum.unpricedCalls += row.unpriced_calls;
    sum.totalTokens += row.total_tokens;
    sum.costNanoUsd += costOf(row);
  }
  return sum;
}

/** The rows of every page. */
export async function readAllCosts(
  api: Connection["api"],
  query: { group_by: Grouping; from?: string },
): Promise<CostRow[]> {
  const rows: CostRow[] = [];
  let cursor: string | undefined;
  do {
    const answer = await api.costs.$get({ query: { ...query, limit: "1000", cursor } });
    rows.push(...await answer.json());
    const next = /<[^>]*\?([^>]*)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
    cursor = new URLSearchParams(next).get("cursor") ?? undefined;
  } while (cursor !== undefined);
  return rows;
}
