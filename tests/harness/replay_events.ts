import type { SessionEventType } from "../../src/contract/values.ts";
import type { ReplayEvent } from "../../src/contract/replay/replay_event.ts";
import { type ReplayStep, replaySteps } from "../../src/contract/replay/replay_steps.ts";

/** Returns an event of session s1, at a number of milliseconds after 09:30. */
export function event(
  seq: number | null,
  type: string,
  payload: Record<string, unknown> = {},
  { ms = 0, ...more }: Partial<ReplayEvent> & { ms?: number } = {},
): ReplayEvent {
  return {
    seq,
    type,
    at: new Date(Date.UTC(2026, 10, 21, 9, 30) + ms).toISOString(),
    agent_id: "helper",
    session_id: "s1",
    run_id: "run_1",
    call_id: null,
    payload,
    ...more,
  };
}

/** Returns the two events of a call. */
export function called(
  seq: number,
  callId: string,
  cost_usd: unknown,
  { ms = 0, ...payload }: { ms?: number } & Record<string, unknown> = {},
): [ReplayEvent, ReplayEvent] {
  const call = {
    call_id: callId,
    provider: "acme",
    model: "gpt-x",
    input_tokens: 10,
    output_tokens: 2,
    cost_usd,
  };
  const answer = { step: 1, text: "", reasoning: "", tool_calls: [], finish_reason: "stop", duration_ms: 5 };
  return [
    event(seq, "model.called", { ...answer, ...call, ...payload }, { ms }),
    event(seq + 1, "cost.recorded", { ...call, duration_ms: 5 }, { ms, call_id: callId }),
  ];
}

/** A short session: a tool call, and an answer. */
export const STORY: readonly ReplayEvent[] = [
  event(1, "session.created", {}, { run_id: null }),
  event(2, "run.started", { model: "acme:gpt-x", input: "What is 2 + 3?", definition: { max_steps: 20 } }),
  ...called(3, "c1", 0.1, {
    ms: 120,
    finish_reason: "tool-calls",
    reasoning: "It is a sum.",
    tool_calls: [{ tool_call_id: "t1", tool_name: "calculator", input: { expression: "2 + 3" } }],
  }),
  event(5, "tool.called", { tool_call_id: "t1", tool_name: "calculator", input: { expression: "2 + 3" } }, {
    ms: 1_400,
  }),
  event(6, "tool.returned", {
    tool_call_id: "t1",
    tool_name: "calculator",
    output: { result: 5 },
    duration_ms: 3,
  }, { ms: 1_403 }),
  ...called(7, "c2", 0.2, { ms: 1_410, step: 2, text: "It is 5." }),
  event(9, "run.completed", { output: "It is 5.", finish_reason: "stop", steps: 2 }, { ms: 65_000 }),
];

/** Returns all steps of a log. */
export function stepsOf(events: Iterable<ReplayEvent>): Promise<ReplayStep[]> {
  return Array.fromAsync(replaySteps(events));
}

/** Returns the last step of a log. */
export async function lastStepOf(...events: ReplayEvent[]): Promise<ReplayStep> {
  return (await stepsOf(events)).at(-1)!;
}

/** A payload of each type of event, as this version logs it, and what a person must be able to read in its view. */
export const PAYLOADS: Readonly<
  Record<SessionEventType, { payload: Record<string, unknown>; shows: readonly string[] }>
> = {
  "session.created": { payload: {}, shows: ["s1", "agent helper"] },
  "session.restored": {
    payload: {
      import_id: "inst_1/evt_2",
      messages: 4,
      source_environment: "production",
      exported_at: "2026-11-20T08:00:00.000Z",
      restored_at: "2026-11-21T09:30:00.000Z",
      schema_version: 1,
      status: "completed",
      event_log_count: 9,
      events_imported: 9,
      token_usage: { cost_usd: 0.0001074, total_tokens: 45, model_calls: 2 },
      integrity: "sha256:b39906dd",
      messages_before: 3,
      fenced_run_id: "run_9",
      new_session: false,
    },
    shows: [
      "s1",
      "agent helper",
      "from production",
      "exported 2026-11-20 08:00:00.000 UTC",
      "completed there",
      "4 messages, 9 events",
      "$0.0001074, 45 tokens in 2 calls; not counted here",
      "3 messages",
      "run_9",
    ],
  },
  "run.started": {
    payload: { model: "acme:gpt-x", input: "What is 2 + 3?", definition: { max_steps: 20 } },
    shows: ["run_1", "acme:gpt-x", "What is 2 + 3?"],
  },
  "model.called": {
    payload: {
      step: 1,
      text: "It is 5.",
      reasoning: "",
      tool_calls: [],
      finish_reason: "stop",
      duration_ms: 5,
      provider: "acme",
      model: "gpt-x",
      input_tokens: 10,
      output_tokens: 2,
      cost_usd: 0.1,
    },
    shows: ["step 1", "acme:gpt-x", "10 + 2 tokens", "$0.1", "It is 5."],
  },
  "model.failed": {
    payload: { step: 2, error: "429 Too Many Requests" },
    shows: ["step 2", "429 Too Many Requests"],
  },
  "tool.called": {
    payload: { tool_call_id: "t1", tool_name: "calculator", input: { expression: "2 + 3" } },
    shows: ["calculator", "2 + 3"],
  },
  "tool.returned": {
    payload: { tool_call_id: "t1", tool_name: "calculator", output: { result: 5 }, duration_ms: 3 },
    shows: ["calculator", "5"],
  },
  "cost.recorded": {
    payload: {
      provider: "acme",
      model: "gpt-x",
      input_tokens: 10,
      output_tokens: 2,
      cost_usd: 0.1,
      duration_ms: 5,
    },
    shows: ["acme:gpt-x", "10 + 2 tokens", "$0.1"],
  },
  "budget.exceeded": {
    payload: { message: "Cannot continue", cost_usd_so_far: 0.3, budget_usd: 0.25 },
    shows: ["Cannot continue", "cost $0.3", "budget $0.25"],
  },
  "budget.refused": {
    payload: {
      message: "The budget “Day” is spent",
      cost_usd_so_far: 2,
      budget_usd: 1,
      refused_by: [{ budget_id: "bud_1", name: "Day", reason: "spent" }],
    },
    shows: ["The budget “Day” is spent", "cost $2", "budget $1"],
  },
  "budget.overshot": {
    payload: { call_id: "c1", bound_usd: "0.1", cost_usd: "0.2" },
    shows: ["c1", "bound $0.1", "cost $0.2"],
  },
  "anomaly.detected": {
    payload: {
      anomaly_id: "anom_1",
      kind: "costly_call",
      severity: "critical",
      call_id: "c1",
      agent_id: "helper",
      session_id: "s1",
      run_id: "run_1",
      detected_at: "2026-11-21T09:30:00.000Z",
      message: "A call of helper to gpt-x cost $2.4539, usually $0.0478",
      details: { cost_usd: 2.4539, usual_cost_usd: 0.0478 },
    },
    shows: ["critical", "costly_call", "c1", "A call of helper to gpt-x cost $2.4539, usually $0.0478"],
  },
  "run.completed": {
    payload: { output: "It is 5.", finish_reason: "stop", steps: 2 },
    shows: ["stop", "2 steps", "It is 5."],
  },
  "run.failed": {
    payload: { code: "provider_error", message: "no answer" },
    shows: ["provider_error", "no answer"],
  },
  "run.cancelled": { payload: { reason: "by its user" }, shows: ["by its user"] },
  "run.interrupted": { payload: { reason: "its process ended" }, shows: ["its process ended"] },
};
