import type { Statement } from "../../src/store/mod.ts";

const COPIED =
  `at, agent_id, session_id, run_id, step, key_id, source, tools, provider, model, price_source, tags, is_estimated`;

/** Corrects the cost of a booked call by a signed entry; `unpriced` is -1 if the call had no price and has one now. */
export function adjustCall(
  entryId: string,
  callId: string,
  { costNanoUsd, unpriced = 0 }: { costNanoUsd: bigint; unpriced?: -1 | 0 | 1 },
): Statement {
  return {
    sql: `INSERT INTO calls (call_id, adjusts, ${COPIED}, input_tokens, output_tokens, cache_read_tokens,
      cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, total_tokens, cost_nano_usd, unpriced)
    SELECT ?1, call_id, ${COPIED.replace("is_estimated", "0")}, 0, 0, 0, 0, 0, 0, 0, ?3, ?4 FROM calls
    WHERE call_id = ?2 AND adjusts IS NULL`,
    args: [entryId, callId, costNanoUsd, unpriced],
  };
}
