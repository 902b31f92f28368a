import { type AgentDefinition, describeAgent } from "../agents/mod.ts";
import { toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import { newMessage, recoverRuns, startRun } from "../sessions/mod.ts";
import type { RunnerContext } from "./context.ts";

/** Where a run belongs. */
export interface RunPlace {
  sessionId: string;
  runId: string;
  agentId: string;
}

/**
 * Claims the session, keeps the user's message, and tells the bus. Returns when the run began, in epoch milliseconds.
 * Throws `conflict` on a session that is busy.
 */
export async function beginRun(
  ctx: RunnerContext,
  agent: AgentDefinition,
  place: RunPlace,
  input: string,
): Promise<number> {
  const message = newMessage(ctx.ids, ctx.clock.now(), { role: "user", content: input });
  const payload = { model: agent.model, input, message_id: message.id, definition: describeAgent(agent) };
  const newRun = {
    ...place,
    model: agent.model,
    costBudgetNanoUsd: agent.costBudgetNanoUsd,
    budgetMode: agent.budgetMode,
    input: message,
    payload,
  };
  await ctx.store.instances.hold(ctx.instanceId);
  const { lastSeq, startedAt } = await startRun(ctx, newRun).catch(async (error) => {
    if (!await freeFromLostRun(ctx, error)) throw error;
    return await startRun(ctx, newRun);
  });
  const event = { at: toIso(startedAt), agent_id: place.agentId, session_id: place.sessionId };
  if (lastSeq === 2) { // a new session's log begins with its creation
    ctx.bus.publish({ ...event, type: "session.created", run_id: null, seq: 1, payload: {} });
  }
  ctx.bus.publish({
    ...event,
    type: "run.started",
    run_id: place.runId,
    seq: lastSeq,
    payload,
  });
  return startedAt;
}

/**
 * Frees a session whose run no process has any more; see `recoverRuns()`. Returns whether it was so.
 */
async function freeFromLostRun(ctx: RunnerContext, error: unknown): Promise<boolean> {
  const runId = error instanceof PurserError ? error.details?.active_run_id : undefined;
  if (typeof runId !== "string") return false;
  return (await recoverRuns(ctx, runId)).length > 0;
}
