import { checkTags, scrubTags, type Tags } from "../../contract/tags/tags.ts";
import type { BudgetMode } from "../../contract/values.ts";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { bookMadeCall, type CallContext } from "../../calls/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { NAME_PATTERN, NAME_RULE } from "../../kernel/ids.ts";
import { formatUsd, parseUsd } from "../../kernel/money.ts";
import { meterModel } from "./meter_model.ts";
import { ALL_SEEING, callScopes, hasPartlyPricedCall, type Viewer } from "../../ledger/mod.ts";
import type { Budget } from "../../budgets/mod.ts";
import type { RunTrace } from "../../telemetry/mod.ts";
import type { AncestorRun } from "../../sessions/mod.ts";
import type { RunnerContext } from "../context.ts";
import type { ResolvedModel } from "../models/mod.ts";
import type { RunRecorder } from "../run_recorder.ts";

/** The attribution and the budget of a metered model's calls. */
export interface MeterContext {
  agentId: string;
  sessionId?: string;
  /** Calls with the same run share its budget; default: a new run for this meter. */
  runId?: string;
  costBudgetUsd?: number;
  budgetMode?: BudgetMode;
  allowUnpriced?: boolean;
  /** Tags of the calls, by which costs are summed: at most ten. */
  tags?: Tags;
  /** The name under which calls are priced and booked; default: the part of `model.provider` before a dot. */
  provider?: string;
}

/**
 * Wraps any AI SDK language model so that its calls are booked, and refused once the budget is reached.
 * Calls reject with `BudgetExceededError` before the model is called.
 */
export function meter(ctx: CallContext, model: LanguageModelV4, context: MeterContext): LanguageModelV4 {
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
  const tags = scrubTags(checkTags({ ...context.tags }, "the meter"), ctx.secrets);
  let steps = 0;
  let lastCostNanoUsd: bigint | null = null;
  let hasOvershot = false;
  const { agentId, sessionId = null } = context;
  const budget = limitNanoUsd === null
    ? null
    : { limitNanoUsd, mode: context.budgetMode ?? "stop", allowUnpriced: context.allowUnpriced };
  return meterModel(ctx, model, {
    provider,
    modelId: model.modelId,
    terms: {
      source: "meter",
      scopes: { agentId, sessionId, runId, budget },
      viewer: ALL_SEEING,
      tags,
      // A run that is named may have other meters, of other processes too: the ledger has their calls.
      hasOvershot: () =>
        hasOvershot ||
        (context.budgetMode === "strict" && context.runId !== undefined && limitNanoUsd !== null &&
          hasPartlyPricedCall(ctx.store, context.runId)),
      overshot: () => void (hasOvershot = true),
      nextStep: () => ++steps,
      lastCostNanoUsd: () => lastCostNanoUsd,
    },
    async book(call, _answer, grant) {
      await bookMadeCall(ctx, call, grant);
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

/**
 * The calls of a run that are in flight. The AI SDK ends a cancelled stream without waiting for them, but their cost must be
 * booked before the run ends.
 */
export class CallsInFlight {
  readonly #calls = new Set<Promise<unknown>>();

  /** Tracks a call until it has ended, and returns it. */
  track<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call);
    const remove = () => void this.#calls.delete(call);
    call.then(remove, remove);
    return call;
  }

  /** Resolves when no call is left. Failures are reported to the callers of the calls. */
  async settle(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
  }
}

/** Meters the model of a run: its calls are booked by the recorder, added to the trace, and tracked. */
export function meterRun(
  ctx: RunnerContext,
  resolved: ResolvedModel,
  { recorder, budget, above, tags, viewer, calls, trace }: {
    recorder: RunRecorder;
    budget: Budget | null;
    tags: Tags;
    above: readonly AncestorRun[];
    viewer: Viewer;
    calls: CallsInFlight;
    trace: RunTrace;
  },
): LanguageModelV4 {
  let hasOvershot = false;
  const metered = meterModel(ctx, resolved.model, {
    provider: resolved.provider,
    modelId: resolved.modelId,
    paidWith: resolved.paidWith,
    terms: {
      source: "run",
      scopes: { ...callScopes(recorder.run, viewer, above.at(-1)?.sessionId), budget, above },
      viewer,
      tags,
      parent: trace.span,
      hasOvershot: () => hasOvershot,
      overshot: () => void (hasOvershot = true),
      nextStep: () => recorder.steps + 1,
      lastCostNanoUsd: () => recorder.lastCostNanoUsd,
      addEvent: (event, at) => recorder.addEvent(event, at),
    },
    async book(call, answer, grant) {
      await calls.track(recorder.book(call, answer, grant));
      trace.add(call);
    },
  });
  return { ...metered, doStream: (options) => calls.track(Promise.resolve(metered.doStream(options))) };
}
