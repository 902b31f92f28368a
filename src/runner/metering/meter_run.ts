import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Budget } from "../../budgets/mod.ts";
import type { RunTrace } from "../../telemetry/mod.ts";
import type { RunnerContext } from "../context.ts";
import { modelErrorText } from "../models/model_error.ts";
import type { ResolvedModel } from "../models/mod.ts";
import type { RunRecorder } from "../run_recorder.ts";
import { meterModel } from "./meter_model.ts";
import { warnOfOvershoot } from "./overshoot.ts";

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
  { recorder, budget, calls, trace }: {
    recorder: RunRecorder;
    budget: Budget | null;
    calls: CallsInFlight;
    trace: RunTrace;
  },
): LanguageModelV4 {
  let hasOvershot = false;
  const metered = meterModel(ctx, resolved.model, {
    provider: resolved.provider,
    modelId: resolved.modelId,
    ...recorder.run,
    isLoop: true,
    budget,
    hasOvershot: () => hasOvershot,
    nextStep: () => recorder.steps + 1,
    lastCostNanoUsd: () => recorder.lastCostNanoUsd,
    async book(call, answer, grant) {
      await calls.track(recorder.book(call, answer, grant));
      trace.add(call);
    },
    span: trace.span,
    failed: (error, at) =>
      recorder.add("model.failed", { step: recorder.steps + 1, error: modelErrorText(error) }, at),
    overshot: (call, reservedNanoUsd) => {
      hasOvershot = true;
      recorder.add("budget.overshot", warnOfOvershoot(ctx, call, reservedNanoUsd));
    },
  });
  return { ...metered, doStream: (options) => calls.track(Promise.resolve(metered.doStream(options))) };
}
