import type { CallContext } from "../../calls/mod.ts";
import type { ProviderSources } from "../../config/mod.ts";
import { isRecord } from "../../kernel/records.ts";
import { BillBusy, createAsk } from "../import/ask.ts";
import { BillRefusal } from "../sources/bill_source.ts";
import { type BilledMonth, spanOfMonth } from "./open_month.ts";

/** The provider whose generations can be asked for, each by its id: seen on 2026-11-26, npm @openrouter/sdk 1.3.19. */
const PROVIDER = "openrouter";

/** The parts that asking for generations needs. */
export interface GenerationContext extends Pick<CallContext, "store" | "clock" | "log" | "secrets"> {
  providerSources: ProviderSources;
  fetch?: typeof globalThis.fetch | undefined;
  stopping?: AbortSignal;
}

/** The estimates of a month that no correction is proposed for, nor was taken back: the latest, as the oldest may be gone for good. */
const FIND_ESTIMATES = `SELECT c.call_id, c.response_id FROM calls c
WHERE c.provider = ?1 AND c.at >= ?2 AND c.at < ?3 AND c.adjusts IS NULL AND c.is_estimated <> 0
  AND substr(c.response_id, 1, 4) = 'gen-'
  AND NOT EXISTS (SELECT 1 FROM calls a WHERE a.adjusts = c.call_id AND a.is_estimated <> 0)
  AND NOT EXISTS (SELECT 1 FROM bill_corrections b WHERE b.reconciliation_id = ?4 AND b.call_id = c.call_id)
ORDER BY c.at DESC, c.call_id LIMIT 100`;

const PROPOSE = `INSERT INTO bill_corrections (reconciliation_id, call_id, counts) VALUES (?1, ?2, ?3)
ON CONFLICT (reconciliation_id, call_id) DO NOTHING`;

/**
 * Proposes the counts and the cost that OpenRouter has for each call that is booked as an estimate, such as of a stream that was cut off,
 * and that no line of its bill corrects: asked by the id of the generation, with the key that has made the call. One that isn't written
 * yet is left for the next time, as are the rest once OpenRouter can't answer; those that were proposed aren't asked for again.
 */
export async function proposeGenerations(
  ctx: GenerationContext,
  reconciliationId: string,
  { terms, month }: BilledMonth,
): Promise<void> {
  const { apiKey: key, baseUrl: origin } = ctx.providerSources.providers[PROVIDER] ?? {};
  if (terms.provider !== PROVIDER || !key || !origin) return;
  const { from, to } = spanOfMonth(month);
  const { rows } = await ctx.store.read({
    sql: FIND_ESTIMATES,
    args: [PROVIDER, from, to, reconciliationId],
  });
  const ask = createAsk({ ...ctx, fetch: ctx.fetch ?? globalThis.fetch, signal: ctx.stopping }, {
    ...{ what: "a generation of OpenRouter", origin, key },
    headers: { authorization: `Bearer ${key}` },
    remedies: {},
  });
  for (const [index, [callId, id]] of rows.entries()) {
    try {
      const answer = await ask({ path: "/generation", query: { id: id as string } });
      const counts = countsOf(isRecord(answer) && isRecord(answer.data) ? answer.data : {});
      if (counts) {
        await ctx.store.write([{ sql: PROPOSE, args: [reconciliationId, callId!, JSON.stringify(counts)] }]);
      }
    } catch (error) {
      if (error instanceof BillRefusal && error.status === 404) continue;
      if (!(error instanceof BillBusy || error instanceof BillRefusal)) throw error;
      const left = rows.length - index;
      ctx.log.warn("Cannot ask OpenRouter for the rest of the generations; correct again later", {
        left,
        reason: ctx.secrets.scrub(error.message),
      });
      return;
    }
  }
}

/** Returns the counts of a generation by part, with what it has cost as an answer states it; undefined until it has them. */
function countsOf(generation: Readonly<Record<string, unknown>>): object | undefined {
  const names = ["prompt", "cached", "completion", "reasoning"].map((name) => `native_tokens_${name}`);
  const [input, cached, output, reasoning] = names.map((name) => Number(generation[name] ?? 0)) as Four;
  const counts = [input - cached, cached, output - reasoning, reasoning] as Four;
  const isKnown = generation.native_tokens_prompt != null && generation.total_cost != null;
  if (!isKnown || !counts.every((count) => Number.isSafeInteger(count) && count >= 0)) return undefined;
  const [input_tokens, cache_read_tokens, output_tokens, reasoning_tokens] = counts;
  const { total_cost: cost, is_byok, upstream_inference_cost } = generation;
  const stated = { cost, is_byok, cost_details: { upstream_inference_cost } };
  return { input_tokens, cache_read_tokens, output_tokens, reasoning_tokens, stated };
}

type Four = [number, number, number, number];
