import type { CallContext } from "./context.ts";
import {
  type Budget,
  budgetExceeded,
  type CallScopes,
  readStandingsOf,
  type Refusal,
} from "../budgets/mod.ts";
import { readNames } from "../keys/mod.ts";
import { BudgetExceededError, messageOf } from "../kernel/errors.ts";
import { formatUsd, parseTotalUsd, toUsd } from "../kernel/money.ts";
import { readRunUsage, type Viewer } from "../ledger/mod.ts";
import { appendEvents, countInSessions, findLogOwner, type NewEvent } from "../sessions/mod.ts";

/** The caller of a refused call, and the model that it asks for. */
export interface Refused {
  scopes: CallScopes;
  provider: string;
  model: string;
  viewer: Viewer;
}

/** Returns the error for a call that budgets refuse. */
export async function refusedCall(
  ctx: CallContext,
  { scopes, provider, model, viewer }: Refused,
  { refusals, because }: { refusals: readonly Refusal[]; because?: string },
): Promise<BudgetExceededError> {
  const { runId } = scopes;
  const runCost = runId === null ? null : await readRunCost(ctx, runId);
  const isUnpriced = refusals.some(({ reason }) => reason === "unpriced");
  return budgetExceeded({
    action: runId === null ? "Cannot make the model call" : `Cannot make the next model call of run ${runId}`,
    refusals,
    because,
    model: { provider, model, ...(isUnpriced && { nearest: ctx.prices.nearest?.({ provider, model }) }) },
    scopes,
    names: await readNames(ctx, refusals.map(({ standing }) => standing.scope)),
    viewer,
    logOwner: await findLogOwner(ctx, scopes),
    runCostNanoUsd: runCost === null ? null : parseTotalUsd(runCost),
  });
}

/** Returns what a run has cost, in USD; null where it has calls, and no price of them is known. */
async function readRunCost({ store }: Pick<CallContext, "store">, runId: string): Promise<number | null> {
  const { cost_usd, model_calls } = await readRunUsage(store, runId);
  return cost_usd ?? (model_calls === 0 ? 0 : null);
}

/** Returns the error for the next call after an overshoot: the bound that a strict budget relied on was wrong. */
export async function overshotBudget(
  ctx: CallContext,
  { scopes }: { scopes: CallScopes & { runId: string } },
): Promise<BudgetExceededError> {
  const { budget, runId } = scopes;
  const cost = await readRunCost(ctx, runId);
  const strict = budget?.mode === "strict" ? budget : await findStrict(ctx, scopes);
  return new BudgetExceededError(
    `Cannot make the next model call of run ${runId}: a call cost more than its bound, or has a part without a known price, so that ` +
      `${strict === budget ? "its" : "a"} strict budget of $${
        formatUsd(strict.limitNanoUsd)
      } can't be kept; ${
        cost === null ? "its cost is unknown" : `the run has cost $${formatUsd(parseTotalUsd(cost))}`
      }`,
    { cost_usd_so_far: cost as number, budget_usd: toUsd(strict.limitNanoUsd) },
  );
}

async function findStrict(ctx: CallContext, scopes: CallScopes): Promise<Pick<Budget, "limitNanoUsd">> {
  const standings = await readStandingsOf(ctx, { scopes, at: ctx.clock.now() });
  return standings.find(({ mode }) => mode === "strict") ?? { limitNanoUsd: 0n };
}

/** Returns the event of a refusal, without its time. */
export function refusalEvent({ logged: { message, details, facts, withheld } }: BudgetExceededError) {
  return { type: "budget.refused" as const, payload: { message, ...facts, ...details }, withheld };
}

/** Logs an event of a call that no run of Purser makes, since a run logs its own. Never rejects. */
export async function logCallEvent(
  ctx: Pick<CallContext, "store" | "clock" | "log">,
  { agentId, sessionId, runId }: Pick<CallScopes, "agentId" | "sessionId" | "runId">,
  event: Omit<NewEvent, "at">,
): Promise<void> {
  // In the payload too, since the session need not be stored here.
  const payload = { ...event.payload, ...(sessionId !== null && { session_id: sessionId }) };
  const events = [{ agentId, sessionId, runId, event: { ...event, payload, at: ctx.clock.now() } }];
  try {
    await ctx.store.write([...appendEvents(events), ...countInSessions(events, [])]);
  } catch (error) {
    ctx.log.warn("An event of a call could not be logged", {
      type: event.type,
      agent: agentId,
      run: runId,
      reason: messageOf(error),
    });
  }
}

/** Logs that a call waits for a person: without the amounts, which not every reader of the log may see. */
export function logAsked(
  { log }: Pick<CallContext, "log">,
  { agentId, sessionId, runId }: CallScopes,
  refusals: readonly Refusal[],
): void {
  for (const { standing, ticket } of refusals) {
    log.warn(`A model call waits for a person to raise the budget ${standing.name}`, {
      ticket_id: ticket!.ticketId,
      budget_id: standing.budgetId,
      agent_id: agentId,
      session_id: sessionId,
      run_id: runId,
    });
  }
}
