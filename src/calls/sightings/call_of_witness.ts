import { type Tags, withKeyTags } from "../../contract/tags/tags.ts";
import { roundUsd } from "../../kernel/money.ts";
import { type ModelCall } from "../../ledger/mod.ts";
import { AROUND_WITNESS } from "../../ledger/explain/mod.ts";
import { hasQuantity, type Price, type Usage } from "../../pricing/mod.ts";
import type { CallContext } from "../context.ts";
import { makeCall, MAX_CALL_NANO_USD, payByPlan, priceCall } from "../make_call.ts";
import type { Said } from "./said.ts";

const { before, after } = AROUND_WITNESS;

/**
 * Returns the id of the call of a witness: its time in seconds, the name of the witness without its source, and a hash of what an
 * amendment can't change. By time first, the calls of a set are neighbours in the index of ids, and share its pages.
 */
export function callIdOf(witness: string, said: Said): string {
  if (witness.startsWith("report:")) return witness.slice("report:".length);
  const { agent, session, run, key, at } = said;
  const facts = [agent, session, run, key, at, providerOf(said), modelOf(said)].join("\0");
  const seconds = Math.floor(at / 1_000).toString(36).padStart(before - 1, "0");
  return `${seconds}.${witness.slice(witness.indexOf(":") + 1)}~${hashOf(facts)}`;
}

/** SQL for the witness from which a call `c` was booked that is no report. */
export const WITNESS_OF_CALL = `c.source || ':' || substr(c.call_id, ${before + 1}, length(c.call_id) - ${
  before + after
})`;

/** Returns 7 characters of a hash; it tells statements of one witness apart, and protects nothing. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36).padStart(after - 1, "0");
}

/** The providers of models, for logs that don't say who bills. */
const PROVIDERS: readonly [RegExp, string][] = [
  [/^claude/, "anthropic"],
  [/^(?:gpt|o\d|codex|chatgpt)/, "openai"],
  [/^gemini/, "google"],
  [/^(?:qwen|qwq)/, "dashscope"],
];

export function providerOf({ provider, model }: Said): string {
  return provider ?? PROVIDERS.find(([pattern]) => model !== undefined && pattern.test(model))?.[1] ??
    "unknown";
}

export const modelOf = ({ model }: Said): string => model ?? "unknown";

/** Returns the usage that a statement says. */
export function usageOfSaid({ counts, more }: Said): Usage {
  const [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens, reasoningTokens] =
    counts;
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWrite1hTokens,
    reasoningTokens,
    ...more,
  };
}

/** Returns the tags that a statement says, under its key. */
export const tagsOfSaid = ({ tags, keyTags }: Said): Tags | undefined =>
  keyTags ? withKeyTags(tags ?? {}, keyTags) : tags;

/** Returns the call that a witness has seen, priced. */
export function callOf(ctx: Pick<CallContext, "prices">, witness: string, said: Said): ModelCall {
  const call = {
    callId: callIdOf(witness, said),
    at: said.at,
    step: null,
    tools: said.tools ?? [],
    provider: providerOf(said),
    model: modelOf(said),
    usage: usageOfSaid(said),
    durationMs: said.duration ?? null,
    isEstimated: said.quality === "provisional",
    ...(said.tier && { serviceTier: said.tier }),
    ...(said.speed && { speed: said.speed }),
    ...(said.geo && { inferenceGeo: said.geo }),
    ...(said.response && { responseId: said.response }),
    ...(said.quality && { quality: said.quality }),
    ...(said.marks && { marks: said.marks }),
  };
  const source = witness.slice(0, witness.indexOf(":")) as "log" | "otlp";
  const scopes = {
    agentId: said.agent,
    sessionId: said.session ?? null,
    runId: said.run ?? null,
    keyId: said.key ?? null,
  };
  const price = priceOf(ctx, said, call);
  const tags = tagsOfSaid(said);
  const origin = { source, scopes, ...(tags && { tags }) };
  return makeCall(origin, call, said.plan ? payByPlan(price) : price);
}

/** Returns the price of a call: by the price book, else what its source states; 0 beside tokens states nothing. */
function priceOf(ctx: Pick<CallContext, "prices">, said: Said, call: Parameters<typeof priceCall>[1]): Price {
  const stated = said.stated === undefined ? 0n : roundUsd(said.stated);
  if (said.quality === "cost_only" || !hasQuantity(call.usage) && stated > 0n) {
    return { costNanoUsd: said.stated === undefined ? null : stated, priceSource: "reported", rates: null };
  }
  const price = priceCall(ctx.prices, call);
  // By a wrong row of the config: no sum could hold it.
  if (price.costNanoUsd !== null && price.costNanoUsd > MAX_CALL_NANO_USD) {
    return { costNanoUsd: null, priceSource: "none", rates: null };
  }
  if (stated === 0n) return price;
  if (price.costNanoUsd === null) return { costNanoUsd: stated, priceSource: "reported", rates: null };
  return { ...price, statedNanoUsd: stated };
}
