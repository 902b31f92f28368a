import { Buffer } from "node:buffer";
import type { ToolSet } from "ai";
import type { AgentDefinition } from "../agents/mod.ts";
import type { Budget } from "../budgets/mod.ts";
import { toIso } from "../kernel/clock.ts";
import { BudgetExceededError, messageOf, PurserError } from "../kernel/errors.ts";
import { NAME_PATTERN, NAME_RULE } from "../kernel/ids.ts";
import { checkTags, scrubTags, type Tags, withKeyTags } from "../contract/tags/tags.ts";
import type { SessionEventType } from "../contract/values.ts";
import { formatUsd } from "../kernel/money.ts";
import { ALL_SEEING, readRunUsage, type Viewer } from "../ledger/mod.ts";
import {
  type AncestorRun,
  keepLease,
  readMessageBytes,
  readRunsAbove,
  registerRun,
  type RunEnd,
  type RunRef,
  startRun,
} from "../sessions/mod.ts";
import { type RunTrace, traceRun, traceTool } from "../telemetry/mod.ts";
import type { RunnerContext } from "./context.ts";
import { CallsInFlight, meterRun } from "./metering/meter.ts";
import { type LoopOutcome, readModelMessages, runLoop } from "./run_loop.ts";
import type { ResolvedModel } from "./models/mod.ts";
import { RunRecorder } from "./run_recorder.ts";
import type { RunEvent, RunResult } from "../contract/runs.ts";
import { modelError } from "./models/model_error.ts";

/** A run to make. */
export interface RunInput {
  agent: AgentDefinition;
  input: string;
  /** Continues an existing session, or gives a new one its id. */
  sessionId?: string;
  /** The run's id; a new one if not given. No run starts under an id that another has. */
  runId?: string;
  /** The run that makes this one, as by a tool: the budgets of the runs above count its calls too. */
  parentRunId?: string;
  /** The caller, whose API key the calls are of. */
  viewer?: Viewer;
  /** Tags of the run's calls, over those of the agent. */
  tags?: Tags;
  /** The tags that the caller's API key gives its calls, over all others. */
  keyTags?: Tags;
  /** Cancels the run; booked calls stay booked. */
  signal?: AbortSignal;
  /** Called before the run begins with the bytes of its system prompt, session and input; an error that it throws refuses the run. */
  onContext?: (bytes: number) => void;
  /** Receives the answer as it is streamed, and every event after its commit. */
  onPart?: (part: RunPart) => void;
}

/** A part of a run in progress: text as it is streamed, or a committed event. */
export type RunPart =
  | { type: "text"; text: string }
  | {
    type: "event";
    event: RunEvent;
  };

/**
 * Runs an agent on an input until its answer, its budget, its `max_steps` or a cancel.
 *
 * @throws {BudgetExceededError} the budget does not allow the next model call
 * @throws {PurserError} `conflict` when the session is busy or another agent's, `provider_error` when the
 * model failed, `invalid` when the agent can't be run as it is defined; those that ended a run carry
 * `run_id` and `session_id`
 */
export function runAgent(ctx: RunnerContext, input: RunInput): Promise<RunResult> {
  const running = prepareAndExecute(ctx, input);
  ctx.keepAlive?.(running);
  return running;
}

async function prepareAndExecute(ctx: RunnerContext, input: RunInput): Promise<RunResult> {
  const prepared = await prepareRun(ctx, input);
  return await prepared.trace.run(() => executeRun(ctx, prepared));
}

/** A run whose agent, model, tools, budget and ids have been checked. */
interface PreparedRun {
  run: RunRef;
  agent: AgentDefinition;
  input: string;
  tags: Tags;
  resolved: ResolvedModel;
  tools: ToolSet;
  budget: Budget | null;
  above: readonly AncestorRun[];
  viewer: Viewer;
  trace: RunTrace;
  signal?: AbortSignal;
  onPart?: (part: RunPart) => void;
}

async function prepareRun(ctx: RunnerContext, { agent, ...given }: RunInput): Promise<PreparedRun> {
  if (ctx.stopping?.aborted) {
    throw new PurserError("unavailable", "Cannot start a run: this process is ending");
  }
  const resolved = await ctx.models.resolve(agent.model);
  const tools = await ctx.toolbox.pick(agent.tools);
  if (given.input === "") {
    throw new PurserError("invalid", "Cannot run the agent: the input is empty, which no provider accepts");
  }
  await ctx.prices.ready?.();
  const budget = checkBudget(ctx, agent, resolved);
  checkSessionId(given.sessionId);
  await checkRoom(ctx, agent, given);
  const sessionId = given.sessionId ?? ctx.ids.next("ses");
  const above = given.parentRunId === undefined ? [] : await readRunsAbove(ctx, given.parentRunId);
  const run = { sessionId, runId: given.runId ?? ctx.ids.next("run"), agentId: agent.agentId };
  const trace = traceRun(ctx.telemetry, {
    ...run,
    provider: resolved.provider,
    model: resolved.modelId,
    budgetNanoUsd: agent.costBudgetNanoUsd,
  });
  return {
    run,
    agent,
    input: ctx.secrets.scrub(given.input.toWellFormed()),
    tags: mergeTags(ctx, agent, given),
    resolved,
    tools,
    budget,
    above,
    viewer: given.viewer ?? ALL_SEEING,
    trace,
    signal: given.signal,
    onPart: given.onPart && safeListener(ctx, given.onPart),
  };
}

async function executeRun(ctx: RunnerContext, prepared: PreparedRun): Promise<RunResult> {
  const { run, agent, onPart, trace } = prepared;
  const ids = { run_id: run.runId, session_id: run.sessionId };
  const unsubscribe = subscribe(ctx, run, onPart);
  const live = registerRun(ctx, run.runId, prepared.signal);
  let isUnfinished = false;
  try {
    const startedAt = await startRun(ctx, agent, run, prepared.input, prepared).catch((error) => {
      // Without an answer from the database, the start may or may not have been committed.
      isUnfinished = error instanceof PurserError && error.code === "unavailable";
      throw error;
    });
    const recorder = new RunRecorder(ctx, run, live.applyState);
    const calls = new CallsInFlight();
    const stopLease = keepLease(ctx, run, async (state) => {
      live.applyState(state);
      await ctx.gate.renew();
    });
    let outcome: ReturnType<typeof endAfterError>;
    try {
      const answer = await runLoop({
        agent,
        model: meterRun(ctx, prepared.resolved, { ...prepared, recorder, calls }),
        tools: prepared.tools,
        secrets: ctx.secrets,
        ...await readModelMessages(ctx, run.sessionId, agent, prepared.resolved.model),
        signal: live.signal,
        recorder,
        traceTool: toolTracer(ctx, run, trace),
        onText: onPart && ((text) => onPart({ type: "text", text })),
      });
      outcome = { end: endAfterAnswer(answer, recorder.steps) };
    } catch (error) {
      await calls.settle();
      outcome = endAfterError(error, live.signal);
    } finally {
      stopLease();
    }
    const end = await recorder.end({ ...outcome.end, endedAt: ctx.clock.now() }).catch((error) => {
      isUnfinished = true;
      throw error.with(ids);
    });
    if (outcome.failure) throw outcome.failure.with(ids);
    return {
      run_id: run.runId,
      agent_id: agent.agentId,
      session_id: run.sessionId,
      status: end.status,
      output: end.output,
      steps: end.steps,
      token_usage: await readRunUsage(ctx.store, run.runId),
      started_at: toIso(startedAt),
      ended_at: toIso(end.endedAt),
    };
  } finally {
    unsubscribe();
    live.unregister();
    if (isUnfinished) ctx.runEndRetries?.add(run.runId);
  }
}

/** Refuses an input without room beside the system prompt and the session, before it is in the session. */
async function checkRoom(
  ctx: RunnerContext,
  { systemPrompt }: AgentDefinition,
  { input, sessionId, onContext }: Pick<RunInput, "input" | "sessionId" | "onContext">,
): Promise<void> {
  const { maxContextBytes } = ctx;
  const bytes = Buffer.byteLength(JSON.stringify([systemPrompt, input]));
  const kept = sessionId === undefined ? 0 : await readMessageBytes(ctx, sessionId);
  if (bytes + kept <= maxContextBytes) return onContext?.(bytes + kept);
  throw new PurserError(
    "too_large",
    `Cannot run the agent: its system prompt and the input have ${bytes} bytes of JSON, the session ${kept}, and ` +
      `max_context_bytes in the config allows ${maxContextBytes} in all; ` +
      (kept > 0 ? "start a new session, or allow more" : "shorten them, or allow more"),
  );
}

/** Returns the tags of a run: those of its agent, its own, and those of the caller's key; the later ones replace the earlier. */
function mergeTags(
  { secrets }: RunnerContext,
  agent: AgentDefinition,
  { tags, keyTags }: Pick<RunInput, "tags" | "keyTags">,
): Tags {
  return withKeyTags(scrubTags(checkTags({ ...agent.tags, ...tags }, "the run"), secrets), keyTags);
}

/** Logs the errors of a listener, which must not end the run. */
function safeListener(ctx: RunnerContext, onPart: (part: RunPart) => void): (part: RunPart) => void {
  return (part) => {
    try {
      onPart(part);
    } catch (error) {
      ctx.log.error("A listener of a run failed", { reason: messageOf(error) });
    }
  };
}

/** Forwards the events of a run to its listener. Returns the function that ends the subscription. */
function subscribe({ bus }: RunnerContext, run: RunRef, onPart: PreparedRun["onPart"]): () => void {
  if (!onPart) return () => {};
  return bus.subscribe(({ type, seq, at, run_id, session_id, payload }) => {
    if (run_id !== run.runId || session_id === null) return;
    // Whatever a run publishes with its session is in the session's log.
    const event = { type: type as SessionEventType, seq, at, run_id, session_id, payload };
    onPart({ type: "event", event });
  });
}

function toolTracer({ telemetry }: RunnerContext, run: RunRef, { span: parent }: RunTrace) {
  if (!telemetry.isOn) return undefined;
  return (toolName: string, toolCallId: string) =>
    traceTool(telemetry, { ...run, toolName, toolCallId, parent });
}

function checkSessionId(sessionId: string | undefined): void {
  if (sessionId === undefined || NAME_PATTERN.test(sessionId)) return;
  throw new PurserError(
    "invalid",
    `Cannot use ${JSON.stringify(sessionId)} as a session's id: use ${NAME_RULE}`,
  );
}

/** A budget for a model without a price is never reached, so the agent must allow that explicitly. */
function checkBudget(
  ctx: RunnerContext,
  agent: AgentDefinition,
  { provider, modelId }: ResolvedModel,
): Budget | null {
  if (agent.costBudgetNanoUsd === null) return null;
  const rates = ctx.prices.rates({ provider, model: modelId, at: ctx.clock.now() });
  if (rates === null && !agent.allowUnpriced) {
    const nearest = ctx.prices.nearest?.({ provider, model: modelId });
    throw new PurserError(
      "invalid",
      `Cannot run ${agent.agentId} with a budget of $${
        formatUsd(agent.costBudgetNanoUsd)
      }: no price is known for ` +
        `${provider}:${modelId}${nearest === undefined ? "" : ` (the nearest with one is ${nearest})`}; ` +
        `set it by purser prices set ${provider}:${modelId} --input … --output …, or set allow_unpriced`,
    );
  }
  const { costBudgetNanoUsd: limitNanoUsd, budgetMode: mode, allowUnpriced } = agent;
  return { limitNanoUsd, mode, allowUnpriced };
}

type End = Omit<RunEnd, "endedAt" | "steps">;

/** Returns the end of a run whose loop has ended with an answer. */
function endAfterAnswer({ text, finishReason }: LoopOutcome, steps: number): End {
  const reason = finishReason === "tool-calls" ? "max_steps" : finishReason;
  const payload = { output: text, finish_reason: reason, steps };
  return { status: "completed", output: text, error: null, event: { type: "run.completed", payload } };
}

/** Returns the end of a run whose loop has failed, and the error for the caller unless the run was cancelled. */
function endAfterError(error: unknown, signal: AbortSignal): { end: End; failure?: PurserError } {
  const failure = modelError(error);
  if (failure instanceof BudgetExceededError) {
    const { message, details } = failure.logged;
    const event = { type: "budget.exceeded" as const, payload: { message, ...details } };
    const error = { code: failure.code, message, details };
    return {
      end: { status: "budget_exceeded", output: null, error, event },
      failure,
    };
  }
  if (signal.aborted) {
    const event = { type: "run.cancelled" as const, payload: { reason: messageOf(signal.reason) } };
    return { end: { status: "cancelled", output: null, error: null, event } };
  }
  const event = { type: "run.failed" as const, payload: problemOf(failure) };
  return { end: { status: "failed", output: null, error: problemOf(failure), event }, failure };
}

function problemOf(error: PurserError): Record<string, unknown> {
  return { code: error.code, message: error.message, ...(error.details && { details: error.details }) };
}
