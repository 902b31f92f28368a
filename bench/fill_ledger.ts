import type { Core } from "../src/service/mod.ts";
import { DAY_MS } from "../src/kernel/clock.ts";
import { recordCalls } from "../src/ledger/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";

/** The number of days over which the calls of a filled ledger are spread. */
export const DAYS = 90;

const BATCH = 10_000;

/** Fills a ledger up to a size with calls of 20 agents and 8 models that end at a time; `rows` are there already. */
export async function fillLedger(
  core: Pick<Core, "store">,
  { rows = 0, size, end }: { rows?: number; size: number; end: number },
): Promise<void> {
  while (rows < size) {
    const calls = Array.from({ length: Math.min(BATCH, size - rows) }, () => callAt(rows++, size, end));
    await core.store.write(recordCalls(calls));
  }
}

/** Calls are spread over the days in another order at each size, so that every ledger covers all of them. */
function callAt(n: number, size: number, end: number) {
  const at = end - Math.floor((n * 7919 % size) / size * DAYS * DAY_MS);
  return {
    callId: `call_${String(n).padStart(9, "0")}`,
    at,
    agentId: `agent-${n % 20}`,
    sessionId: `session-${Math.floor(n / 40)}`,
    runId: `run-${Math.floor(n / 20)}`,
    step: 1 + n % 20,
    tools: [],
    provider: "openai",
    model: `model-${n % 8}`,
    usage: usageOf({ inputTokens: 1_000, outputTokens: 100 }),
    costNanoUsd: BigInt(1_000 + n),
    priceSource: "bench",
    durationMs: 100,
    isEstimated: false,
  };
}
