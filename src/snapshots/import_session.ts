import type { ImportResult } from "../contract/snapshot/snapshots.ts";
import { AGENT_DEFAULTS } from "../contract/limits.ts";
import type { AgentDefinition } from "../agents/mod.ts";
import { toIso } from "../kernel/clock.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { parseUsd } from "../kernel/money.ts";
import { recoverRuns } from "../sessions/mod.ts";
import { ConstraintError, toObjects } from "../store/mod.ts";
import type { SnapshotContext } from "./context.ts";
import { extrasOf } from "./document/extras.ts";
import { openGeneration, type StagedGeneration, stageGeneration } from "./generations/stage_generation.ts";
import { type Flip, flipGeneration, type NewState, type Settle } from "./generations/flip_generation.ts";
import { readDocument, type ReadSnapshot } from "./document/read_document.ts";
import { type SnapshotAgent, type SnapshotHead, TokenUsage } from "../contract/snapshot/snapshot.ts";
import { removeGeneration, sweepGenerations } from "./generations/sweep_generations.ts";

const FENCED = "its session was restored from a snapshot";

const FIND = `SELECT s.agent_id, s.message_count, s.active_run_id,
  EXISTS (SELECT 1 FROM agents WHERE agent_id = ?2) AS is_defined
FROM (SELECT 1) given LEFT JOIN sessions s ON s.session_id = ?1`;

interface Found {
  agent_id: string | null;
  message_count: bigint | null;
  active_run_id: string | null;
  is_defined: bigint;
}

/**
 * Restores a session from a snapshot: validates all of it, stages it invisibly, and makes it the session's state in one
 * commit. A run in progress is fenced: its costs are still booked, its messages refused. With `dryRun` it only reports
 * the outcome.
 *
 * @throws {PurserError} `invalid` with every problem of the document; `too_large`; `conflict` when the session belongs
 * to another agent here, or with `keepLonger` has more messages here
 */
export async function importSession(
  ctx: SnapshotContext,
  bytes: AsyncIterable<Uint8Array>,
  { dryRun = false, keepLonger = false, once }: ImportOptions = {},
): Promise<ImportResult> {
  await using snapshot = await readDocument(bytes, {
    maxBytes: ctx.maxSnapshotBytes,
    maxContextBytes: ctx.maxContextBytes,
    spool: ctx.spool,
    turns: ctx.turns,
  });
  if (dryRun || !once) return await importDocument(ctx, snapshot, { dryRun, keepLonger });
  return await once((settle) => importDocument(ctx, snapshot, { keepLonger, settle }));
}

/** Options of `importSession`. */
export interface ImportOptions {
  /** Reports the outcome, and writes nothing. */
  dryRun?: boolean;
  /** Refuses to replace a session that has more messages. */
  keepLonger?: boolean;
  /** Called when the whole document is valid; restores it, or returns the result of an earlier import of it. */
  once?: (restore: (settle?: Settle) => Promise<ImportResult>) => Promise<ImportResult>;
}

async function importDocument(
  ctx: SnapshotContext,
  snapshot: ReadSnapshot,
  { dryRun = false, keepLonger = false, settle }: {
    dryRun?: boolean;
    keepLonger?: boolean;
    settle?: Settle;
  },
): Promise<ImportResult> {
  const { agent_id: agentId, session_id: sessionId } = snapshot.head;
  const found = toObjects<Found>(await ctx.store.read({ sql: FIND, args: [sessionId, agentId] }))[0]!;
  if (found.agent_id !== null && found.agent_id !== agentId) {
    throw belongsToAnother(snapshot.head, found.agent_id);
  }
  const messagesBefore = Number(found.message_count ?? 0);
  if (keepLonger && messagesBefore > snapshot.messageCount) throw isLonger(snapshot, messagesBefore);
  const result = {
    agent_id: agentId,
    session_id: sessionId,
    messages_restored: snapshot.messageCount,
    dry_run: dryRun,
    events_imported: snapshot.eventCount,
    agent_defined: snapshot.head.agent !== undefined && Number(found.is_defined) === 0,
  };
  if (dryRun) {
    return {
      ...result,
      new_session: found.agent_id === null,
      messages_before: messagesBefore,
      fenced_run_id: found.active_run_id,
    };
  }
  const flip = await restore(ctx, snapshot, { result, keepLonger, settle });
  return {
    ...result,
    new_session: flip.isNewSession,
    messages_before: flip.messagesBefore,
    fenced_run_id: flip.fencedRunId,
  };
}

async function restore(
  ctx: SnapshotContext,
  snapshot: ReadSnapshot,
  outcome: { result: object; keepLonger: boolean; settle?: Settle },
): Promise<Flip> {
  const { head } = snapshot;
  const importId = `${ctx.instanceId}/${ctx.ids.next("evt")}`;
  const endUse = ctx.generationsInUse.begin(importId);
  let flip: Flip | undefined;
  try {
    const staged = await openGeneration(ctx, head.session_id, importId);
    try {
      await stageGeneration(ctx, staged, snapshot);
      flip = await flipGeneration(ctx, staged, newState(ctx, snapshot), outcome);
    } catch (error) {
      if (!outcome.keepLonger || !(error instanceof ConstraintError)) throw error;
      throw isLonger(snapshot, await countMessages(ctx, head.session_id));
    } finally {
      if (!flip) await removeStaged(ctx, staged);
    }
  } finally {
    endUse();
  }
  if (!flip) throw await explainRefusal(ctx, head);
  publishRestore(ctx, head, flip);
  await fence(ctx, flip.fencedRunId);
  await sweep(ctx);
  return flip;
}

function newState(ctx: SnapshotContext, { head, messageCount, eventCount }: ReadSnapshot): NewState {
  return {
    agentId: head.agent_id,
    // No process runs it here.
    status: head.state.status === "running" ? "interrupted" : head.state.status,
    messageCount,
    tags: head.tags,
    restoredFrom: {
      source_environment: head.source_environment,
      exported_at: head.exported_at,
      restored_at: toIso(ctx.clock.now()),
      schema_version: head.schema_version,
      status: head.state.status,
      event_log_count: head.event_log_count,
      events_imported: eventCount,
      ...(head.state.token_usage && { token_usage: knownUsage(head.state.token_usage) }),
      ...(head.integrity && { integrity: head.integrity }),
    },
    extras: extrasOf(head),
    agent: head.agent && toDefinition(head.agent_id, head.agent),
  };
}

/** Picks the known fields: the event log keeps them for ever. */
function knownUsage(usage: NonNullable<SnapshotHead["state"]["token_usage"]>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(usage).filter(([key]) => key in TokenUsage.shape));
}

function toDefinition(agentId: string, agent: SnapshotAgent): AgentDefinition {
  const budget = agent.cost_budget_usd ?? null;
  return {
    agentId,
    model: agent.model,
    systemPrompt: agent.system_prompt ?? AGENT_DEFAULTS.systemPrompt,
    costBudgetNanoUsd: budget === null ? null : parseUsd(budget),
    budgetMode: agent.budget_mode ?? AGENT_DEFAULTS.budgetMode,
    allowUnpriced: agent.allow_unpriced ?? AGENT_DEFAULTS.allowUnpriced,
    maxSteps: agent.max_steps ?? AGENT_DEFAULTS.maxSteps,
    maxOutputTokens: agent.max_output_tokens ?? AGENT_DEFAULTS.maxOutputTokens,
    tools: agent.tools ?? AGENT_DEFAULTS.tools,
    tags: agent.tags ?? {},
  };
}

/** Removes staged rows. Where that fails too, the next sweep removes them. */
async function removeStaged(ctx: SnapshotContext, staged: StagedGeneration): Promise<void> {
  try {
    await removeGeneration(ctx, staged.sessionId, staged.generation);
  } catch (error) {
    ctx.log.warn("Cannot remove the rows of a failed import: the next sweep removes them", {
      reason: messageOf(error),
    });
  }
}

async function explainRefusal(ctx: SnapshotContext, head: SnapshotHead): Promise<PurserError> {
  const { rows } = await ctx.store.read({
    sql: "SELECT agent_id FROM sessions WHERE session_id = ?",
    args: [head.session_id],
  });
  const owner = rows[0]?.[0] as string | undefined;
  if (owner !== undefined && owner !== head.agent_id) return belongsToAnother(head, owner);
  return new PurserError(
    "unavailable",
    `Cannot restore session ${head.session_id}: it was so slow that it was swept as dead; try again`,
  );
}

async function countMessages({ store }: SnapshotContext, sessionId: string): Promise<number> {
  const sql = "SELECT message_count FROM sessions WHERE session_id = ?";
  return Number((await store.read({ sql, args: [sessionId] })).rows[0]?.[0] ?? 0);
}

function isLonger({ head, messageCount }: ReadSnapshot, messagesBefore: number): PurserError {
  const { session_id } = head;
  return new PurserError(
    "conflict",
    `Cannot restore session ${session_id}: it has more messages here (${messagesBefore}) than the snapshot has ` +
      `(${messageCount}), which would replace them`,
    { details: { session_id, messages_before: messagesBefore, messages_restored: messageCount } },
  );
}

function belongsToAnother(head: SnapshotHead, owner: string): PurserError {
  return new PurserError(
    "conflict",
    `Cannot restore session ${head.session_id} of agent ${head.agent_id}: here it belongs to agent ${owner}`,
    { details: { session_id: head.session_id, agent_id: owner } },
  );
}

function publishRestore(
  ctx: SnapshotContext,
  head: SnapshotHead,
  { seq, payload, isNewSession }: Flip,
): void {
  const event = {
    at: toIso(ctx.clock.now()),
    agent_id: head.agent_id,
    session_id: head.session_id,
    run_id: null,
  };
  if (isNewSession) ctx.bus.publish({ ...event, type: "session.created", seq: seq - 1, payload: {} });
  ctx.bus.publish({ ...event, type: "session.restored", seq, payload });
}

/** Cancels a run of this process at once; one of another instance is refused at its next commit. */
async function fence(ctx: SnapshotContext, runId: string | null): Promise<void> {
  if (runId === null) return;
  const run = ctx.liveRuns.get(runId);
  if (run) run.cancel(FENCED);
  else await recoverRuns(ctx, runId);
}

/** Sweeps after a restore, which has succeeded whether this does or not. */
async function sweep(ctx: SnapshotContext): Promise<void> {
  try {
    await sweepGenerations(ctx);
  } catch (error) {
    ctx.log.warn("Cannot sweep replaced messages: the next sweep removes them", { reason: messageOf(error) });
  }
}
