import { readMeasured } from "../../src/alerts/rules/rules.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import type { NanoUsd } from "../../src/kernel/money.ts";

/** Reads the present value of each rule, in nano-USD; null before the first call. */
export async function readRuleValues(
  ctx: Parameters<typeof readMeasured>[0] & { clock: Pick<Clock, "now"> },
  rules: readonly Omit<Parameters<typeof readMeasured>[1][number], "each" | "shape" | "calendar">[],
): Promise<(NanoUsd | null)[]> {
  const measured = await readMeasured(
    ctx,
    rules.map((rule) => ({ each: null, shape: null, calendar: null, ...rule })),
    ctx.clock.now(),
  );
  return measured.map((value) => value?.nanoUsd ?? null);
}
