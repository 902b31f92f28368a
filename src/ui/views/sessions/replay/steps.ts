import type { NanoUsd } from "../../../../kernel/money.ts";
import { shorten } from "../../../../kernel/text.ts";
import {
  callIdOf,
  describeStep,
  formatTokens,
  payloadOf,
  readCost,
  readCount,
  readText,
  type ReplayStep,
  textOf,
} from "../../../../contract/replay/mod.ts";

/** Returns the cost of the call of a step; null if it has no price, undefined if the step has no call. */
export function costOf(step: ReplayStep): NanoUsd | null | undefined {
  const event = step.costRecorded ?? step.event;
  if (event.type !== "cost.recorded" && event.type !== "model.called") return undefined;
  return readCost(payloadOf(event).cost_usd);
}

/** Returns the time that a step took, in milliseconds; 0 for an instant. */
export function durationOf({ event, costRecorded }: ReplayStep): number {
  return readCount(Math.floor(Number(payloadOf(costRecorded ?? event).duration_ms ?? 0)));
}

/** Events of calls have the time at which the call began; any other event has the time at which it is logged. */
const BEGIN = /^(model\.called|cost\.recorded)$/;

/** Returns the part of the log's time that a step took, in milliseconds; undefined where its time is unknown. */
export function timeOf(step: ReplayStep): { from: number; until: number } | undefined {
  const { event, elapsedMs } = step;
  if (elapsedMs === null) return undefined;
  const duration = durationOf(step);
  return BEGIN.test(event.type)
    ? { from: elapsedMs, until: elapsedMs + duration }
    : { from: Math.max(0, elapsedMs - duration), until: elapsedMs };
}

/** Returns whether a step reports that something failed or was refused. */
export function isBad({ event }: ReplayStep): boolean {
  return BAD.test(event.type) || (event.type === "tool.returned" && payloadOf(event).error !== undefined);
}

const BAD =
  /^(run\.(failed|interrupted)|model\.failed|budget\.(exceeded|refused|overshot)|anomaly\.detected)$/;

/** Returns whether a compact replay shows a step: runs, model calls, and what is bad. */
export function isMain(step: ReplayStep): boolean {
  return isBad(step) || /^(run\.|model\.called|session\.restored|message)/.test(step.event.type);
}

/** Returns a step in one line: the model, its tokens and what it asks for, the input of a run, the result of a tool. */
export function summaryOf(step: ReplayStep): string {
  const payload = payloadOf(step.event);
  const text = (value: unknown) => shorten(textOf(value ?? ""), MAX_SUMMARY);
  switch (step.event.type) {
    case "run.started":
      return text(payload.input);
    case "run.completed":
      return text(payload.output);
    case "model.called": {
      const call = payloadOf(step.costRecorded ?? step.event);
      const tools = Array.isArray(payload.tool_calls) ? payload.tool_calls : [];
      const names = tools.map((tool) => readText(tool?.tool_name) ?? "a tool");
      return [
        `${payload.provider}:${payload.model}`,
        formatTokens(readCount(call.input_tokens), readCount(call.output_tokens)),
        names.length > 0 ? `calls ${names.join(", ")}` : text(payload.text),
      ].join(" · ");
    }
    case "tool.called":
      return `${payload.tool_name} ${text(payload.input)}`;
    case "tool.returned":
      return `${payload.tool_name} ${text(payload.error ?? payload.output)}`;
    default:
      return readText(payload.message) ?? readText(payload.reason) ?? readText(payload.error) ??
        describeStep(step).facts.join(" · ");
  }
}

const MAX_SUMMARY = 200;

/** The step that a link names: by its seq, its call, or the run that it begins. */
export interface StepTarget {
  step?: string;
  call?: string;
  run?: string;
}

/** Returns the test for the step of a link; undefined for a link to none. */
export function targetOf({ step, call, run }: StepTarget): ((step: ReplayStep) => boolean) | undefined {
  const seq = Number(step);
  if (step && Number.isSafeInteger(seq)) {
    return ({ event, costRecorded }) =>
      event.imported_from === undefined && (costRecorded?.seq ?? event.seq ?? 0) >= seq;
  }
  if (call) return ({ event }) => callIdOf(event) === call;
  if (run) return ({ event }) => event.run_id === run && event.imported_from === undefined;
  return undefined;
}
