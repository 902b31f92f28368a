import type { BudgetMode } from "../../contract/values.ts";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type BookingContext, bookLooseCalls } from "../../booking/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { NAME_PATTERN, NAME_RULE } from "../../kernel/ids.ts";
import { formatUsd, parseUsd } from "../../kernel/money.ts";
import { meterModel } from "./meter_model.ts";
import { warnOfOvershoot } from "./overshoot.ts";

/** The attribution and the budget of a metered model's calls. */
export interface MeterContext {
  agentId: string;
  sessionId?: string;
  /** Calls with the same run share its budget; default: a new run for this meter. */
  runId?: string;
  costBudgetUsd?: number;
  budgetMode?: BudgetMode;
  allowUnpriced?: boolean;
  /** The name under which calls are priced and booked; default: the part of `model.provider` before a dot. */
  provider?: string;
}

/**
 * Wraps any AI SDK language model so that its calls are booked, and refused once the budget is reached.
 * Calls reject with `BudgetExceededError` before the model is called.
 */
export function meter(ctx: BookingContext, model: LanguageModelV4, context: MeterContext): LanguageModelV4 {
  checkContext(model, context);
  const provider = context.provider ?? model.provider.split(".")[0]!;
  const runId = context.runId ?? ctx.ids.next("run");
  const limitNanoUsd = context.costBudgetUsd === undefined
    ? null
    : parseUsd(context.costBudgetUsd, "costBudgetUsd");
  const query = { provider, model: model.modelId, at: ctx.clock.now() };
  if (limitNanoUsd !== null && !context.allowUnpriced && ctx.prices.rates(query) === null) {
    throw new PurserError(
      "invalid",
      `Cannot meter ${provider}:${model.modelId} with a budget of $${
        formatUsd(limitNanoUsd)
      }: no price is known for it`,
    );
  }
  let steps = 0;
  let lastCostNanoUsd: bigint | null = null;
  let hasOvershot = false;
  return meterModel(ctx, model, {
    provider,
    modelId: model.modelId,
    agentId: context.agentId,
    sessionId: context.sessionId ?? null,
    runId,
    budget: limitNanoUsd === null ? null : { limitNanoUsd, mode: context.budgetMode ?? "stop" },
    hasOvershot: () => hasOvershot,
    overshot(call, reservedNanoUsd) {
      hasOvershot = true;
      warnOfOvershoot(ctx, call, reservedNanoUsd);
    },
    nextStep: () => ++steps,
    lastCostNanoUsd: () => lastCostNanoUsd,
    async book(call, _answer, grant) {
      await bookLooseCalls(ctx, [call], grant);
      lastCostNanoUsd = call.costNanoUsd;
    },
  });
}

function checkContext(
  model: LanguageModelV4,
  { agentId, sessionId, runId, costBudgetUsd }: MeterContext,
): void {
  if (model.specificationVersion !== "v4") {
    throw new PurserError(
      "invalid",
      `Cannot meter the model ${model.modelId}: it is not one of the AI SDK 7 (specification v4)`,
    );
  }
  for (const [field, id] of Object.entries({ agentId, sessionId, runId })) {
    if (id !== undefined && !NAME_PATTERN.test(id)) {
      throw new PurserError(
        "invalid",
        `Cannot meter: ${field} must be ${NAME_RULE}`,
      );
    }
  }
  if (costBudgetUsd !== undefined && costBudgetUsd < 0) {
    throw new PurserError("invalid", "Cannot meter: costBudgetUsd is negative");
  }
}
