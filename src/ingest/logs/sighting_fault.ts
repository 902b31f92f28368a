import type { Sighting } from "../../calls/mod.ts";
import { MAX_CALL_TOKENS } from "../../contract/limits.ts";
import { messageOf } from "../../kernel/errors.ts";
import { checkUsage, hasQuantity, type Usage } from "../../pricing/mod.ts";

/** The most characters of the texts of a sighting: as the API takes them, or fewer. */
const TEXTS = Object.entries<number>(
  {
    ref: 300,
    responseId: 300,
    requestId: 300,
    account: 300,
    fingerprint: 300,
    provider: 200,
    model: 200,
    serviceTier: 100,
    speed: 100,
    inferenceGeo: 100,
    session: 500,
    folder: 4_096,
    branch: 500,
  } satisfies Partial<Record<keyof Sighting, number>>,
);

const QUALITIES: readonly unknown[] = ["exact", "derived", "provisional", "aggregate", "cost_only"];

/**
 * Returns the reason why a sighting can't be booked, as the end of a sentence, or undefined. Logs are written by others: an
 * importer may pass their fields on as they are.
 */
export function faultOfSighting(call: Sighting): string | undefined {
  if (typeof call.ref !== "string" || call.ref === "") return "it has no ref";
  for (const [key, max] of TEXTS) {
    const value: unknown = call[key as keyof Sighting];
    if (value === undefined) continue;
    if (typeof value !== "string" || value === "") return `its ${key} isn't a text`;
    if (value.length > max) return `its ${key} has more than ${max} characters`;
  }
  if (!Number.isSafeInteger(call.at) || call.at <= 0 || call.at > MAX_TIME) return "it has no time";
  if (!QUALITIES.includes(call.quality)) return "its quality isn't one of those that there are";
  const { id, parent, type } = call.subagent ?? { id: "none" };
  for (const text of [id, parent ?? "none", type ?? "none"]) {
    if (typeof text !== "string" || text === "" || text.length > 300) {
      return "its sub-agent isn't named by texts";
    }
  }
  if (call.statedCostUsd !== undefined && !/^\d{1,12}(\.\d{1,30})?(e-\d{1,2})?$/.test(call.statedCostUsd)) {
    return "its cost isn't a number of dollars";
  }
  return faultOfUsage(call);
}

/** The last moment that a date can have. */
const MAX_TIME = 8.64e15;

function faultOfUsage({ usage, statedCostUsd }: Sighting): string | undefined {
  try {
    checkUsage(usage);
  } catch (error) {
    return messageOf(error);
  }
  if (usage.inputTokens > MAX_CALL_TOKENS || usage.outputTokens > MAX_CALL_TOKENS) {
    return `it has more than ${MAX_CALL_TOKENS} tokens`;
  }
  return hasQuantity(usage) || statedCostUsd !== undefined || hasModels(usage)
    ? undefined
    : "it has no tokens and no cost";
}

const hasModels = ({ models = [] }: Usage) => models.length > 0;
