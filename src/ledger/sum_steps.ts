import type { StepCost } from "../contract/sessions.ts";
import { parseTotalUsd, toUsd } from "../kernel/money.ts";
import type { CostEvent } from "../contract/usage.ts";

/** Sums calls by run and step, in the order of the steps. Calls without a step stay separate. */
export function sumSteps(calls: readonly CostEvent[]): StepCost[] {
  const steps = new Map<string, StepCost & { nanoUsd: bigint }>();
  for (const call of calls) {
    const key = call.step === null ? call.call_id : JSON.stringify([call.run_id, call.step]);
    let sum = steps.get(key);
    if (!sum) {
      sum = {
        run_id: call.run_id,
        step: call.step,
        tools: [],
        model_calls: 0,
        unpriced_calls: 0,
        input_tokens: 0,
        output_tokens: 0,
        total_tokens: 0,
        cost_usd: null,
        nanoUsd: 0n,
      };
      steps.set(key, sum);
    }
    sum.tools.push(...call.tools);
    sum.model_calls++;
    sum.input_tokens += call.input_tokens;
    sum.output_tokens += call.output_tokens;
    sum.total_tokens += call.total_tokens;
    if (call.cost_usd === null) sum.unpriced_calls++;
    else sum.cost_usd = toUsd(sum.nanoUsd += parseTotalUsd(call.cost_usd));
  }
  return [...steps.values()].map(({ nanoUsd: _nanoUsd, ...step }) => step);
}
