import type { ReplayEvent } from "./replay_event.ts";
import { type ReplayStep, replaySteps } from "./replay_steps.ts";

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
