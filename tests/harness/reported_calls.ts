import type { ReportedCall } from "../../src/calls/mod.ts";
import { seededRandom } from "./random.ts";

const HOUR_MS = 3_600_000;

/** The report of a call, derived from its id, so that any process reports the same; `base` is the start of the test. */
export function reportOf(callId: string, base: number): ReportedCall & { costUsd: number } {
  const random = seededRandom(hashOf(callId));
  const pick = (count: number) => Math.floor(random() * count);
  const age = pick(4);
  // Mostly now; days ago; and just where the rolling hour ends.
  const ageMs = age === 0
    ? 3 * HOUR_MS + pick(70 * HOUR_MS)
    : age === 1
    ? HOUR_MS - 30_000 + pick(60_000)
    : pick(60_000);
  return {
    callId,
    at: base - ageMs,
    agentId: `agent-${pick(3)}`,
    sessionId: pick(5) === 0 ? null : `s-${pick(12)}`,
    runId: pick(3) === 0 ? `reported-${pick(20)}` : null,
    step: null,
    tools: [],
    provider: "local",
    model: pick(2) === 0 ? "priced" : "other",
    usage: {
      inputTokens: pick(1_000),
      outputTokens: pick(1_000),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
      reasoningTokens: 0,
    },
    costUsd: pick(400_000) / 1e9,
    durationMs: null,
  };
}

function hashOf(text: string): number {
  let hash = 2_166_136_261;
  for (const unit of text) hash = Math.imul(hash ^ unit.codePointAt(0)!, 16_777_619);
  return hash >>> 0;
}
