import type { PlanWindowInput } from "../../contract/imports/plan_windows.ts";
import { toIso } from "../../kernel/clock.ts";
import type { PlanWindow } from "./plan_window.ts";

/** Converts a window of a plan to wire form. */
export function windowToWire(
  { window, lengthMs, resetsAt, measuredAt, credits, ...said }: PlanWindow,
): PlanWindowInput {
  const time = (at: number | undefined) => at === undefined ? undefined : toIso(at);
  return {
    window,
    used_pct: said.usedPercent,
    resets_at: time(resetsAt),
    length_minutes: lengthMs === undefined ? undefined : lengthMs / 60_000,
    status: said.status,
    measured_at: time(measuredAt),
    plan: said.plan,
    models: said.models,
    credits: credits && {
      in_use: credits.isInUse,
      has_credits: credits.hasCredits,
      unlimited: credits.isUnlimited,
      balance: credits.balance,
      reason: credits.reason,
    },
  };
}

/** Converts a window that was reported. */
export function windowFromWire({ window, credits, ...body }: PlanWindowInput): PlanWindow {
  const time = (text: string | undefined) => text === undefined ? undefined : Date.parse(text);
  return {
    window,
    usedPercent: body.used_pct,
    resetsAt: time(body.resets_at),
    lengthMs: body.length_minutes === undefined ? undefined : Math.round(body.length_minutes * 60_000),
    status: body.status,
    measuredAt: time(body.measured_at),
    plan: body.plan,
    models: body.models,
    credits: credits && {
      isInUse: credits.in_use,
      hasCredits: credits.has_credits,
      isUnlimited: credits.unlimited,
      balance: credits.balance,
      reason: credits.reason,
    },
  };
}
