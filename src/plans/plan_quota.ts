import { MINUTE_MS, toIso } from "../kernel/clock.ts";
import type { Store } from "../store/mod.ts";
import { mergeAccounts } from "./merge_accounts.ts";
import { type MeasuredWindow, readPlanWindows, type WindowFilter } from "./read_plan_windows.ts";
import { ownerText, type PlanOrigin } from "./record_plan_windows.ts";
import { CREDITS } from "./sources/mod.ts";

/** `open`: the plan pays; `ended`: its quota is used up until the window resets; `reset`: it has reset since it was measured. */
export type WindowState = "open" | "ended" | "reset";

/** The time for which a refusal without a time of its end counts: then a call finds out again. */
const UNTIMED_MS = 5 * MINUTE_MS;

/** Returns the state of a window at a time, by its latest measurement. That of paid credits never ends the plan's quota. */
export function stateOf(
  { window, usedPercent, status, resetsAt, measuredAt }: MeasuredWindow,
  now: number,
): WindowState {
  if (resetsAt !== null && resetsAt <= now) return "reset";
  if (window === CREDITS) return "open";
  const isUsedUp = (usedPercent ?? 0) >= 100 || status === "rejected" || status === "overage";
  if (!isUsedUp) return "open";
  return resetsAt === null && now - measuredAt > UNTIMED_MS ? "reset" : "ended";
}

/** The windows of a whole plan; any other one is about some models. */
const OF_ALL = /^(?:five_hour|seven_day|\d+_minutes|primary|secondary|unified)$/;

export const isOfAllModels = ({ window }: Pick<MeasuredWindow, "window">) => OF_ALL.test(window);

/**
 * Returns whether a window limits the calls of a model: those of a whole plan limit all. Of some models, it is told by the end of
 * its name (`seven_day_opus`), by the name that its source gives them, or by the model of the call that has measured it.
 */
function limits(measured: MeasuredWindow, model: string | undefined): boolean {
  if (isOfAllModels(measured)) return true;
  const { window, models, caller } = measured;
  if (model === undefined) return false;
  const [name, id] = [model, models ?? ""].map((text) => text.toLowerCase().replace(/[^a-z0-9.]+/g, "-"));
  const family = /_([a-z]{4,})$/.exec(window)?.[1];
  return caller?.model === model || (id !== "" && name!.includes(id!)) ||
    (family !== undefined && name!.includes(family));
}

/** A window whose quota is used up, so that calls are refused or spend paid credits. */
export interface EndedQuota {
  window: MeasuredWindow;
  /** For people: `the five_hour window of the claude-code plan is used up (100%) until 2026-11-27T15:00:00.000Z`. */
  message: string;
}

/**
 * Returns the window that ends a plan's quota, as its provider has said, for a call of a model; without one, for calls of any
 * model. Undefined while the plan pays, and where nothing is known. Of several the one that resets last.
 */
export async function planQuotaEnded(
  ctx: { store: Pick<Store, "read"> },
  { model, owner, ...filter }: WindowFilter & { model?: string | undefined; owner?: PlanOrigin["owner"] },
  now: number,
): Promise<EndedQuota | undefined> {
  // Another machine with the same account may have measured it later.
  const windows = mergeAccounts(await readPlanWindows(ctx, filter)).filter(({ machines }) =>
    owner === undefined || machines.some((one) => ownerText(one.owner) === ownerText(owner))
  );
  const ended = windows.filter((window) => stateOf(window, now) === "ended" && limits(window, model));
  const window = ended.toSorted((a, b) => (b.resetsAt ?? 0) - (a.resetsAt ?? 0))[0];
  return window && { window, message: describeEnded(window) };
}

/** Describes a window whose quota is used up, for people. */
export function describeEnded(
  { agent, window, usedPercent, resetsAt }: Pick<
    MeasuredWindow,
    "agent" | "window" | "usedPercent" | "resetsAt"
  >,
): string {
  const used = usedPercent === null ? "" : ` (${usedPercent}%)`;
  const until = resetsAt === null ? "; it isn't known until when" : ` until ${toIso(resetsAt)}`;
  return `the ${window} window of the ${agent} plan is used up${used}${until}`;
}
