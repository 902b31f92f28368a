import { MINUTE_MS, toIso } from "../kernel/clock.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import type { HeaderFields } from "../kernel/header_fields.ts";
import type { Billing } from "../contract/values.ts";
import { planQuotaEnded, readPlanWindows, recordPlanWindows } from "../plans/mod.ts";
import { isPaidByPlan, type PlanWindow, readPlanHeaders, sayEnded } from "../plans/sources/mod.ts";
import type { GatewayContext, GatewayRequest } from "./context.ts";

/** The plan windows of a provider that were recorded, so that a call whose answer says nothing new writes nothing. */
export interface SeenPlan {
  /** Each window, without its time, and when it was recorded. */
  recorded: Map<string, { said: string; at: number }>;
  /** The last record in progress. */
  writing: Promise<void>;
  /** Who has paid for the last call, as its answer has said. */
  billing: Billing;
}

/** Keeps who pays for a call, by the headers of its answer. Returns true for a plan. */
export function notePayer(
  { gateway: { plans } }: GatewayContext,
  provider: string,
  headers: HeaderFields,
): boolean {
  const billing = isPaidByPlan(headers) ? "plan" : "billed";
  const seen = plans.get(provider);
  if (seen) seen.billing = billing;
  else plans.set(provider, { recorded: new Map(), writing: Promise.resolve(), billing });
  return billing === "plan";
}

/**
 * Returns who will probably pay for a call, which its answer says: who has paid for the last one of the provider; before the first one
 * of this process, a plan whose windows are recorded, unless its quota has ended.
 */
export async function payerOf(ctx: GatewayContext, provider: string, model: string): Promise<Billing> {
  const seen = ctx.gateway.plans.get(provider);
  if (seen) return seen.billing;
  if (!ctx.budgets.mayExist) return "billed";
  const filter = { reporterKeyId: "", owner: { provider } };
  const windows = await readPlanWindows(ctx, filter);
  return windows.length > 0 && !await planQuotaEnded(ctx, { ...filter, model }, ctx.clock.now())
    ? "plan"
    : "billed";
}

/**
 * Records the plan windows in the headers of an answer, which has some and was passed to `notePayer()`, once the call has ended, but at once where the plan's
 * quota has: each window when it has changed, and once a minute. The call waits for nothing, and doesn't fail by it.
 */
export function notePlan(
  ctx: GatewayContext,
  { target: { provider }, caller }: Pick<GatewayRequest, "target" | "caller">,
  model: string,
  { headers, ended }: { headers: HeaderFields; ended: Promise<void> },
): void {
  const now = ctx.clock.now();
  const seen = ctx.gateway.plans.get(provider)!;
  const record = async () => {
    const { agent, account, windows } = readPlanHeaders(headers, now)!;
    const fresh = windows.filter((window) => isNew(seen, window, now));
    if (fresh.length === 0) return;
    const keyId = caller.viewer.keyId;
    const origin = {
      agent,
      account,
      source: "gateway",
      owner: { provider },
      caller: { keyId, model },
    } as const;
    try {
      await recordPlanWindows(ctx, origin, fresh, ctx.clock.now());
    } catch (error) {
      for (const { window } of fresh) seen.recorded.delete(window);
      ctx.log.warn("The windows of a plan could not be recorded", { provider, reason: messageOf(error) });
    }
  };
  const isUrgent = sayEnded(headers);
  const writing = isUrgent ? record() : ended.then(record);
  if (isUrgent) seen.writing = writing;
  ctx.keepAlive?.(writing);
}

/** Returns whether a window has changed, or was last recorded a minute ago, and keeps it. */
function isNew({ recorded }: SeenPlan, { measuredAt: _, ...window }: PlanWindow, now: number): boolean {
  const said = JSON.stringify(window);
  const last = recorded.get(window.window);
  if (last?.said === said && now - last.at < MINUTE_MS && now >= last.at) return false;
  recorded.set(window.window, { said, at: now });
  return true;
}

/**
 * Refuses a call that would spend the paid credits of a plan: one whose quota has ended, as its provider has said.
 *
 * @throws {PurserError} `budget_exceeded`
 */
export async function stopBeforeCredits(
  ctx: GatewayContext,
  { target: { provider }, caller }: Pick<GatewayRequest, "target" | "caller">,
  model: string,
): Promise<void> {
  await ctx.gateway.plans.get(provider)?.writing;
  const filter = { reporterKeyId: "", owner: { provider }, model };
  const ended = await planQuotaEnded(ctx, filter, ctx.clock.now());
  if (!ended) return;
  const { agent, window, usedPercent, resetsAt } = ended.window;
  throw new PurserError(
    "budget_exceeded",
    `Cannot make the call: ${ended.message}, so that it would spend paid credits; the API key ${caller.name} stops ` +
      "before that, unless purser keys set allows it with --allow-credits",
    {
      details: {
        agent_id: agent,
        plan_window: window,
        used_pct: usedPercent,
        resets_at: resetsAt === null ? null : toIso(resetsAt),
      },
    },
  );
}
