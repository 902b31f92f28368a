import type { tables } from "../store/mod.ts";
import type { Usage } from "../pricing/mod.ts";
import type { ModelCall } from "./model_call.ts";
import { partsFromWire, toOtherModels } from "./other_models.ts";

/** Returns what most calls don't have as JSON, or null. */
export function detailsOf(call: ModelCall): string | null {
  const { usage, speed, inferenceGeo, listCostNanoUsd, statedReason, quality, marks, said } = call;
  const { requestedTier, outcome, status } = call;
  const { details, others, models } = usage;
  const isPlan = call.planNanoUsd !== undefined;
  const isPlain = !details && !others && !models && !speed && !inferenceGeo && !quality && !marks &&
    !isPlan && !said && !requestedTier && !outcome;
  if (isPlain && listCostNanoUsd === undefined && !statedReason) return null;
  return JSON.stringify({
    ...details,
    other_counts: others,
    other_models: models && toOtherModels(models),
    speed,
    inference_geo: inferenceGeo,
    list_cost_nano_usd: listCostNanoUsd === undefined ? undefined : String(listCostNanoUsd),
    stated_reason: statedReason,
    quality,
    marks,
    billing: isPlan ? "plan" : undefined,
    requested_service_tier: requestedTier,
    outcome,
    http_status: status,
    said,
  });
}

/** Returns the details of a call, which are parts of its usage, and more. */
export function readDetails(
  details: tables.CallDetails,
): { usage: Pick<Usage, "details" | "others" | "models">; more: Partial<ModelCall> } {
  const { speed, inference_geo, list_cost_nano_usd, stated_reason, quality, marks, said } = details;
  const { requested_service_tier, outcome, http_status } = details;
  return {
    usage: partsFromWire(details),
    more: {
      ...(speed && { speed: String(speed) }),
      ...(inference_geo && { inferenceGeo: String(inference_geo) }),
      ...(list_cost_nano_usd && { listCostNanoUsd: BigInt(list_cost_nano_usd) }),
      ...(stated_reason && { statedReason: stated_reason }),
      ...(quality && { quality }),
      ...(marks && { marks }),
      ...(requested_service_tier && { requestedTier: requested_service_tier }),
      ...(outcome && { outcome }),
      ...(http_status && { status: http_status }),
      ...(said && { said }),
    },
  };
}
