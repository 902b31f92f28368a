import { CALL_SOURCES } from "../contract/values.ts";
import type { PlanWindow as ListedWindow } from "../contract/imports/plan_windows.ts";
import { type Clock, toIso } from "../kernel/clock.ts";
import { parseTotalUsd, toUsd } from "../kernel/money.ts";
import { type CostScope, listCosts, readCostTotal, type Viewer } from "../ledger/mod.ts";
import type { Store } from "../store/mod.ts";
import { isOfAllModels, stateOf } from "./plan_quota.ts";
import { type AccountWindow, mergeAccounts } from "./merge_accounts.ts";
import { type MeasuredWindow, readPlanWindows } from "./read_plan_windows.ts";

/** The context of a list of windows. */
export interface PlanContext {
  store: Pick<Store, "read" | "readLong">;
  clock: Pick<Clock, "now">;
  /** The prices of plans in USD a month, by the agent. */
  planPrices: Readonly<Record<string, number>>;
}

/**
 * Lists the windows of plans that a viewer may see, with their pace, and with the value by the API of the calls in them. A key of
 * one agent sees the plan of that agent, and what it has reported or measured itself.
 */
export async function listPlanWindows(
  ctx: PlanContext,
  viewer: Viewer,
  { offset = 0, limit = Infinity }: { offset?: number; limit?: number } = {},
): Promise<ListedWindow[]> {
  const now = ctx.clock.now();
  const seen = (await readPlanWindows(ctx)).filter((window) =>
    viewer.sees({ agentId: window.agent, keyId: keyOf(window) })
  );
  const windows = mergeAccounts(seen).slice(offset, offset + limit);
  const values = new Map<string, Promise<number | null>>();
  return await Promise.all(windows.map(async (window) => {
    // Of a gateway's plan, the calls of all agents count.
    const seesCalls = viewer.seesAll || ("machine" in window.owner && viewer.agentId === window.agent);
    const scopes = seesCalls ? scopesOf(window, now) : [];
    const amounts = await Promise.all(scopes.map((scope) => {
      const key = JSON.stringify(scope);
      if (!values.has(key)) values.set(key, readPlanValue(ctx.store, scope));
      return values.get(key);
    }));
    const known = amounts.filter((amount) => amount != null).map((amount) => parseTotalUsd(amount));
    const value = known.length === 0 ? null : toUsd(known.reduce((sum, amount) => sum + amount));
    return { ...toListed(window, now), plan_usd: value, price_usd_per_month: priceOf(ctx, window) };
  }));
}

const keyOf = ({ reporterKeyId, caller }: MeasuredWindow) => reporterKeyId || caller?.keyId || null;

const priceOf = ({ planPrices }: PlanContext, { agent }: MeasuredWindow) =>
  Object.hasOwn(planPrices, agent) ? planPrices[agent]! : null;

/** Returns the calls of a window: of the agent on the machines with the login, or of the provider through the gateway. */
function scopesOf(window: AccountWindow, now: number): CostScope[] {
  const from = startOf(window);
  if (from === null || !isOfAllModels(window)) return [];
  const span = { from, to: Math.min(window.resetsAt!, now + 1) };
  if ("provider" in window.owner) return [{ provider: window.owner.provider, ...span }];
  return machinesOf(window).map((machine) => {
    const keys = new Set(
      window.machines.flatMap(({ owner, reporterKeyId }) =>
        "machine" in owner && owner.machine === machine ? [reporterKeyId] : []
      ),
    );
    const [keyId] = keys;
    return { agentId: window.agent, ...keys.size === 1 && keyId && { keyId }, tags: { machine }, ...span };
  });
}

const machinesOf = ({ machines }: AccountWindow) => [
  ...new Set(machines.flatMap(({ owner }) => "machine" in owner ? [owner.machine] : [])),
];

async function readPlanValue(store: PlanContext["store"], scope: CostScope): Promise<number | null> {
  if (scope.provider === undefined) return (await readCostTotal(store, scope)).plan_usd ?? null;
  // The logs of agents have calls of the same provider that other plans pay for.
  const sources = await listCosts(store, {
    ...scope,
    groupBy: "source",
    limit: CALL_SOURCES.length + 1,
    offset: 0,
  });
  return sources.find(({ source }) => source === "gateway")?.plan_usd ?? null;
}

const startOf = ({ resetsAt, lengthMs }: MeasuredWindow) =>
  resetsAt === null || lengthMs === undefined ? null : resetsAt - lengthMs;

function toListed(
  window: AccountWindow,
  now: number,
): Omit<ListedWindow, "plan_usd" | "price_usd_per_month"> {
  const { owner, resetsAt, usedPercent, credits } = window;
  const state = stateOf(window, now);
  const time = (at: number | null) => at === null ? null : toIso(at);
  return {
    agent_id: window.agent,
    source: window.source,
    machine: "machine" in owner ? owner.machine : null,
    machines: machinesOf(window),
    provider: "provider" in owner ? owner.provider : null,
    account: window.account ?? null,
    key_id: keyOf(window),
    plan: window.plan ?? null,
    window: window.window,
    models: window.models ?? null,
    used_pct: usedPercent,
    state,
    status: window.status ?? null,
    starts_at: time(startOf(window)),
    resets_at: time(resetsAt),
    ...paceOf(window, state === "reset" ? null : now),
    measured_at: toIso(window.measuredAt),
    credits: credits === undefined ? null : {
      in_use: credits.isInUse,
      has_credits: credits.hasCredits,
      unlimited: credits.isUnlimited,
      balance: credits.balance,
      reason: credits.reason,
    },
  };
}

/**
 * Returns the pace of a window: the share used by the share of its time that was gone when that was measured. `now` is null once
 * it has reset.
 */
function paceOf(
  window: MeasuredWindow,
  now: number | null,
): Pick<ListedWindow, "elapsed_pct" | "pace" | "runs_out_at"> {
  const { usedPercent: used, resetsAt, lengthMs, measuredAt } = window;
  const from = startOf(window);
  if (from === null || now === null) return { elapsed_pct: null, pace: null, runs_out_at: null };
  const shareAt = (time: number) => Math.min(1, Math.max(0, (time - from) / lengthMs!));
  const elapsed = { elapsed_pct: Math.round(shareAt(now) * 1_000) / 10 };
  const share = shareAt(measuredAt);
  if (used === null || share === 0) return { ...elapsed, pace: null, runs_out_at: null };
  const runsOutAt = used === 0 ? Infinity : from + Math.round((measuredAt - from) * 100 / used);
  // Where it has passed by then, the figure is too old to say it.
  const isAhead = used < 100 && runsOutAt > now && runsOutAt < resetsAt!;
  return {
    ...elapsed,
    pace: Math.round(used / share) / 100,
    runs_out_at: isAhead ? toIso(runsOutAt) : null,
  };
}
