import type { BookingContext } from "./context.ts";
import {
  type Budget,
  budgetExceeded,
  type CallScopes,
  readStandingsOf,
  type Refusal,
} from "../budgets/mod.ts";
import { BudgetExceededError, messageOf } from "../kernel/errors.ts";
import { formatUsd, parseTotalUsd, toUsd } from "../kernel/money.ts";
import { readRunUsage } from "../ledger/mod.ts";
import { appendEvents, countInSessions, findLogOwner } from "../sessions/mod.ts";

/** The caller of a refused call. */
export interface Refused {
  scopes: CallScopes;
  /** The only agent whose amounts the caller may see. */
  onlyAgentId?: string;
}

/** Returns the error for a call that budgets refuse. */
export async function refusedCall(
  ctx: BookingContext,
  { scopes, onlyAgentId }: Refused,
  { refusals, because }: { refusals: readonly Refusal[]; because?: string },
): Promise<BudgetExceededError> {
  const { runId, above } = scopes;
  const runCost = runId === null ? null : (await readRunUsage(ctx.store, runId)).cost_usd;
  return budgetExceeded({
    action: runId === null ? "Cannot make the model call" : `Cannot make the next model call of run ${runId}`,
    refusals,
    because,
    onlyAgentId,
    logOwner: await findLogOwner(ctx, scopes),
    above,
    runCostNanoUsd: parseTotalUsd(runCost ?? 0),
  });
}

/** Returns the error for the next call after an overshoot: the bound that a strict budget relied on was wrong. */
export async function overshotBudget(
  ctx: BookingContext,
  { scopes }: { scopes: CallScopes & { runId: string } },
): Promise<BudgetExceededError> {
  const { budget, runId } = scopes;
  const { cost_usd: cost } = await readRunUsage(ctx.store, runId);
  const strict = budget?.mode === "strict" ? budget : await findStrict(ctx, scopes);
  return new BudgetExceededError(
    `Cannot make the next model call of run ${runId}: a call cost more than its bound, or has a part without a known price, so that ` +
      `${strict === budget ? "its" : "a"} strict budget of $${
        formatUsd(strict.limitNanoUsd)
      } can't be kept; the run has cost $${formatUsd(parseTotalUsd(cost ?? 0))}`,
    { cost_usd_so_far: cost ?? 0, budget_usd: toUsd(strict.limitNanoUsd) },
  );
}

async function findStrict(ctx: BookingContext, scopes: CallScopes): Promise<Pick<Budget, "limitNanoUsd">> {
  const standings = await readStandingsOf(ctx, { scopes, at: ctx.clock.now() });
  return standings.find(({ mode }) => mode === "strict") ?? { limitNanoUsd: 0n };
}

/** Logs the refusal of a call outside of a run's loop, whose own log has it; never rejects. */
export async function logRefusal(
  ctx: BookingContext,
  { scopes: { agentId, sessionId, runId } }: Refused,
  { logged }: BudgetExceededError,
): Promise<void> {
  const at = ctx.clock.now();
  const events = [{
    agentId,
    sessionId,
    runId,
    event: { type: "budget.refused" as const, at, payload: { message: logged.message, ...logged.details } },
  }];
  try {
    await ctx.store.write([...appendEvents(events), ...countInSessions(events, [])]);
  } catch (error) {
    ctx.log.warn("The refusal of a call could not be logged", { run: runId, reason: messageOf(error) });
  }
}
