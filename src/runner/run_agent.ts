import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelMessage, ToolSet } from "ai";
import type { AgentDefinition } from "../agents/mod.ts";
import type { Budget } from "../budgets/mod.ts";
import { toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import { NAME_PATTERN, NAME_RULE } from "../kernel/ids.ts";
import { readRunUsage } from "../ledger/mod.ts";
import { formatUsd } from "../kernel/money.ts";
import { listMessages, type RunEnd } from "../sessions/mod.ts";
import { type RunTrace, traceRun, traceTool } from "../telemetry/mod.ts";
import { beginRun, type RunPlace } from "./begin_run.ts";
import { CallsInFlight } from "./metering/calls_in_flight.ts";
import type { RunnerContext } from "./context.ts";
import { modelErrorText } from "./models/explain_model_error.ts";
import { listen, tellSafely } from "./hear_run.ts";
import { keepLease } from "./keep_lease.ts";
import { enterLiveRun } from "./live_run.ts";
import { meterModel } from "./metering/meter_model.ts";
import { toModelMessages } from "./models/model_messages.ts";
import type { ResolvedModel } from "./models/models.ts";
import { warnOfOvershoot } from "./metering/overshoot.ts";
import { endAfter, endIn, endOf } from "./run_end.ts";
import { RunLog } from "./run_log.ts";
import { runLoop } from "./run_loop.ts";
import type { RunPart } from "./run_result.ts";
import type { RunResult } from "../contract/runs.ts";

/** What to run. */
export interface RunInput {
  agent: AgentDefinition;
  input: string;
  /** Goes on from an existing session, or gives a new one its id. */
  sessionId?: string;
  /** Cancels the run; what was booked stays booked. */
  signal?: AbortSignal;
  /** Hears the answer as it comes and every event after its commit. */
  onPart?: (part: RunPart) => void;
}

/**
 * Runs an agent on an input until its answer, its budget, its `max_steps` or a cancel.
 *
 * @throws {BudgetExceededError} the budget does not allow the next model call
 * @throws {PurserError} `conflict` when the session is busy or another agent's, `provider_error` when the
 * model failed, `invalid` when the agent can't be run as it is defined; those that ended a run carry
 * `run_id` and `session_id`
 */
export function runAgent(ctx: RunnerContext, run: RunInput): Promise<RunResult> {
  const running = runToEnd(ctx, run);
  ctx.keepAlive?.(running);
  return running;
}

async function runToEnd(ctx: RunnerContext, run: RunInput): Promise<RunResult> {
  const { agent } = run;
  if (ctx.stopping?.aborted) {
    throw new PurserError("unavailable", "Cannot start a run: this process is ending");
  }
  const onPart = run.onPart && tellSafely(ctx, run.onPart);
  const resolved = await ctx.models.resolve(agent.model);
  const tools = await ctx.toolbox.pick(agent.tools);
  if (run.input === "") {
    throw new PurserError("invalid", "Cannot run the agent: the input is empty, which no provider takes");
  }
  await ctx.prices.ready?.();
  const budget = checkBudget(ctx, agent, resolved);
  const sessionId = checkSessionId(run.sessionId) ?? ctx.ids.next("ses");
  const place = { sessionId, runId: ctx.ids.next("run"), agentId: agent.agentId };
  const input = run.input.toWellFormed();

  const trace = traceRun(ctx.telemetry, {
    ...place,
    provider: resolved.provider,
    model: resolved.modelId,
    budgetNanoUsd: agent.costBudgetNanoUsd,
  });
  const prepared = { place, input, resolved, tools, budget, onPart, trace };
  return await trace.run(() => carryOut(ctx, run, prepared));
}

/** What is known of a run before it begins. */
interface PreparedRun {
  place: RunPlace;
  input: string;
  resolved: ResolvedModel;
  tools: ToolSet;
  budget: Budget | null;
  onPart?: RunInput["onPart"];
  trace: RunTrace;
}

async function carryOut(ctx: RunnerContext, run: RunInput, prepared: PreparedRun): Promise<RunResult> {
  const { agent } = run;
  const { place, input, resolved, tools, budget, onPart, trace } = prepared;
  const { sessionId } = place;
  const unsubscribe = listen(ctx, place.runId, onPart);
  const live = enterLiveRun(ctx, place.runId, run.signal);
  let isUnfinished = false;
  try {
    // Without an answer it is not known whether the run was written.
    const startedAt = await beginRun(ctx, agent, place, input).catch((error) => {
      isUnfinished = error instanceof PurserError && error.code === "unavailable";
      throw error;
    });
    const log = new RunLog(ctx, place, live.heed);
    const calls = new CallsInFlight();
    const stopLease = keepLease(ctx, place, live.heed);
    let end: RunEnd;
    let failure: PurserError | undefined;
    try {
      const model = meterRun(ctx, resolved, log, budget, calls, trace);
      const messages = await readModelMessages(ctx, sessionId);
      const onText = onPart && ((text: string) => onPart({ type: "text", text }));
      const traceTool = traceRunTools(ctx, place, trace);
      const loop = { agent, model, tools, messages, signal: live.signal, log, traceTool, onText };
      const outcome = await runLoop(loop);
      const reason = outcome.finishReason === "tool-calls" ? "max_steps" : outcome.finishReason;
      const payload = { output: outcome.text, finish_reason: reason, steps: log.steps };
      end = endOf(ctx, "completed", log, outcome.text, null, { type: "run.completed", payload });
    } catch (error) {
      await calls.settle();
      ({ end, failure } = endAfter(ctx, error, live, log));
    } finally {
      stopLease();
    }
    const written = await endIn(log, end);
    end = written.end;
    isUnfinished = written.failure !== undefined;
    failure = written.failure ?? failure;
    if (failure) throw failure.with({ run_id: place.runId, session_id: sessionId });
    return {
      run_id: place.runId,
      agent_id: agent.agentId,
      session_id: sessionId,
      status: end.status,
      output: end.output,
      steps: end.steps,
      token_usage: await readRunUsage(ctx.store, place.runId),
      started_at: toIso(startedAt),
      ended_at: toIso(end.endedAt),
    };
  } finally {
    unsubscribe();
    live.leave();
    if (isUnfinished) ctx.unfinishedRuns?.add(place.runId);
  }
}

function checkSessionId(sessionId: string | undefined): string | undefined {
  if (sessionId === undefined || NAME_PATTERN.test(sessionId)) return sessionId;
  throw new PurserError(
    "invalid",
    `Cannot use ${JSON.stringify(sessionId)} as a session's id: use ${NAME_RULE}`,
  );
}

/** A budget over a model without a price would never be reached; that needs the agent's explicit word. */
function checkBudget(
  ctx: RunnerContext,
  agent: AgentDefinition,
  { provider, modelId }: ResolvedModel,
): Budget | null {
  if (agent.costBudgetNanoUsd === null) return null;
  const rates = ctx.prices.rates({ provider, model: modelId, at: ctx.clock.now() });
  if (rates === null && !agent.allowUnpriced) {
    throw new PurserError(
      "invalid",
      `Cannot run ${agent.agentId} with a budget of $${
        formatUsd(agent.costBudgetNanoUsd)
      }: no price is known for ` +
        `${provider}:${modelId}; add one to "prices" in the config, or set allow_unpriced`,
    );
  }
  return { limitNanoUsd: agent.costBudgetNanoUsd, mode: agent.budgetMode };
}

function meterRun(
  ctx: RunnerContext,
  resolved: ResolvedModel,
  log: RunLog,
  budget: Budget | null,
  calls: CallsInFlight,
  trace: RunTrace,
): LanguageModelV4 {
  let hasOvershot = false;
  const metered = meterModel(ctx, resolved.model, {
    provider: resolved.provider,
    modelId: resolved.modelId,
    ...log.place,
    isLoop: true,
    budget,
    hasOvershot: () => hasOvershot,
    nextStep: () => log.steps + 1,
    lastCostNanoUsd: () => log.lastCostNanoUsd,
    async book(call, answer, grant) {
      await calls.track(log.book(call, answer, grant));
      trace.add(call);
    },
    span: trace.span,
    failed: (error, at) => log.add("model.failed", { step: log.steps + 1, error: modelErrorText(error) }, at),
    overshot: (call, reservedNanoUsd) => {
      hasOvershot = true;
      log.add("budget.overshot", warnOfOvershoot(ctx, call, reservedNanoUsd));
    },
  });
  return { ...metered, doStream: (options) => calls.track(Promise.resolve(metered.doStream(options))) };
}

function traceRunTools({ telemetry }: RunnerContext, place: RunPlace, { span: parent }: RunTrace) {
  if (!telemetry.isOn) return undefined;
  return (toolName: string, toolCallId: string) =>
    traceTool(telemetry, { ...place, toolName, toolCallId, parent });
}

async function readModelMessages(ctx: RunnerContext, sessionId: string): Promise<ModelMessage[]> {
  const messages = await listMessages(ctx, sessionId).catch((error) => {
    // Not to be taken for a failure of the model, whose words are told to the caller.
    if (error.cause instanceof PurserError) throw error.cause;
    if (error instanceof PurserError) throw error; // a database that is away is not this program's fault
    throw new PurserError("internal", `Cannot read the messages of session ${sessionId}`, { cause: error });
  });
  return toModelMessages(messages);
}
