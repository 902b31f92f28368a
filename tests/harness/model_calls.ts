import fc from "#dev/fast_check.ts";
import type { Tags } from "../../src/contract/tags/tags.ts";
import type { ModelCall } from "../../src/ledger/mod.ts";
import { usageOf } from "../../src/pricing/mod.ts";

/** The simplest call, with the given fields changed. */
export function modelCall(fields: Partial<ModelCall> & Pick<ModelCall, "callId">): ModelCall {
  return {
    at: Date.parse("2026-11-21T09:30:00.000Z"),
    agentId: "agent",
    sessionId: null,
    runId: null,
    step: null,
    tools: [],
    provider: "demo",
    model: "echo",
    usage: usageOf({ inputTokens: 10, outputTokens: 2 }),
    costNanoUsd: 1_000n,
    priceSource: "demo",
    durationMs: 5,
    isEstimated: false,
    ...fields,
  };
}

const HOUR = 3_600_000;
const START = Date.parse("2028-02-28T22:00:00.000Z");

/** Times around the boundaries of hours and days, a leap day among them, and anywhere between. */
export const anyTime: fc.Arbitrary<number> = fc.oneof(
  fc.tuple(fc.integer({ min: 0, max: 52 }), fc.constantFrom(-1, 0, 1))
    .map(([hours, ms]) => START + hours * HOUR + ms),
  fc.integer({ min: START, max: START + 52 * HOUR }),
);

const count = fc.nat({ max: 1_000_000 });

/** Random calls of few agents, sessions and runs, so that they share them; each with an id of its own. */
export const anyCalls: fc.Arbitrary<ModelCall[]> = fc.array(
  fc.record({
    at: anyTime,
    agentId: fc.constantFrom("ann", "bob", "cleo"),
    sessionId: fc.constantFrom(null, "ses_1", "ses_2", "ses_3"),
    runId: fc.constantFrom(null, "run_1", "run_2", "run_3", "run_4"),
    step: fc.constantFrom(null, 1, 2, 3),
    tools: fc.constantFrom([], ["calculator"], ["calculator", "current_time"]),
    provider: fc.constantFrom("openai", "local"),
    model: fc.constantFrom("small", "large", 'it\'s a "model" 🚢'),
    usage: fc.tuple(count, count, count, count).map(([a, b, c, d]) =>
      usageOf({
        inputTokens: a + b,
        cacheReadTokens: a,
        cacheWriteTokens: b,
        cacheWrite1hTokens: Math.floor(b / 2),
        outputTokens: c + d,
        reasoningTokens: d,
      })
    ),
    // Amounts that a JS number can't hold, zero, and no known price.
    costNanoUsd: fc.oneof(
      fc.constantFrom(null, null, 0n, 1n, 2n ** 53n - 1n, 2n ** 53n + 1n, 10n ** 16n + 7n),
      fc.bigInt({ min: 0n, max: 10n ** 10n }),
    ),
    unpricedParts: fc.constantFrom(undefined, undefined, ["web_searches"], [
      "service_tier",
      "output_audio_tokens",
    ]),
    priceSource: fc.constantFrom("config", "none"),
    durationMs: fc.constantFrom(null, 0, 12),
    isEstimated: fc.boolean(),
    keyId: fc.constantFrom(null, "key_1", "key_2"),
    tags: fc.constantFrom<(Tags | undefined)[]>(
      undefined,
      undefined,
      { customer: "acme" },
      { customer: "acme", "the.team-1": "a" },
      { customer: `it's "b"`, "the.team-1": "b" },
      { "the.team-1": "a" },
      { other: "acme" },
    ),
  }),
  { maxLength: 40 },
).map((calls) =>
  calls.map(({ unpricedParts, tags, ...call }, index) => ({
    ...call,
    ...(tags && { tags }),
    ...(unpricedParts && { unpricedParts }),
    callId: `call_${String(index).padStart(4, "0")}`,
  }))
);
