import { formatUsd } from "../../kernel/money.ts";
import { countOf, formatCount } from "../../kernel/counts.ts";
import type { SessionEventType } from "../values.ts";
import { formatTokens } from "./format_totals.ts";
import { formatDuration, formatInstant } from "./format_duration.ts";
import {
  isRecord,
  MESSAGE,
  payloadOf,
  readCost,
  readCount,
  readText,
  type ReplayEvent,
} from "./replay_event.ts";
import type { ReplayStep } from "./replay_steps.ts";
import { keepFacts, type Section, sectionOf, type StepView } from "./step_view.ts";

type Payload = Record<string, unknown>;
type Describe = (payload: Payload, step: ReplayStep) => StepView;

/** Describes a step. An unknown type, of a newer version, shows its payload. */
export function describeStep(step: ReplayStep): StepView {
  const { event } = step;
  const describe = Object.hasOwn(DESCRIBE, event.type)
    ? DESCRIBE[event.type as keyof typeof DESCRIBE]
    : describeUnknown;
  const { facts, sections } = describe(payloadOf(event), step);
  const origin = readText(event.imported_from);
  return { facts: keepFacts(...facts, origin && `imported from ${origin}`), sections };
}

const describeUnknown: Describe = (payload) => ({ facts: [], sections: sectionOf("Payload", payload) });

/** Describes a restore: the origin of the session, the restored parts, and the parts that they have replaced. */
const describeRestore: Describe = (payload, { event }) => {
  const { source_environment, exported_at, status, messages, events_imported, token_usage } = payload;
  const { new_session, messages_before, fenced_run_id } = payload;
  const origin = readText(source_environment);
  const exported = readText(exported_at);
  const replaced = new_session === false && countOf(readCount(messages_before), "message");
  return {
    facts: keepFacts(
      event.session_id ?? undefined,
      agentFact(event),
      origin && `from ${origin}`,
      exported && `exported ${formatInstant(exported)} UTC`,
      readText(status) && `${status} there`,
    ),
    // An event of another version is shown as it is.
    sections: origin === undefined ? sectionOf("Payload", payload) : [
      ...sectionOf(
        "Restored",
        `${countOf(readCount(messages), "message")}, ${
          countOf(readCount(events_imported), "event")
        } of the log there`,
      ),
      ...sectionOf("Cost there", isRecord(token_usage) ? describeUsage(token_usage) : undefined),
      ...sectionOf("Replaced", replaced || undefined),
      ...sectionOf("Run ended", readText(fenced_run_id)),
      ...sectionOf("Payload", payload, { isDetail: true }),
    ],
  };
};

function describeUsage({ cost_usd, total_tokens, model_calls }: Payload): string {
  const cost = readCost(cost_usd);
  return `${cost === null ? "no price" : `$${formatUsd(cost)}`}, ${
    countOf(readCount(total_tokens), "token")
  } in ${countOf(readCount(model_calls), "call")}; not counted here`;
}

/** Describes an anomaly that the monitor has detected. */
const describeAnomaly: Describe = ({ severity, kind, message, call_id, details }) => ({
  facts: keepFacts(readText(severity), readText(kind), readText(call_id)),
  sections: [
    ...sectionOf("Anomaly", message, { tone: "error" }),
    ...sectionOf("Details", details, { isDetail: true }),
  ],
});

const describeReason: Describe = ({ reason }) => ({ facts: [], sections: sectionOf("Reason", reason) });

const describeProblem: Describe = ({ code, message, details }) => ({
  facts: keepFacts(readText(code)),
  sections: [
    ...sectionOf("Error", message, { tone: "error" }),
    ...sectionOf("Details", details, { isDetail: true }),
  ],
});

/** One for each type of event that this version logs. */
const DESCRIBE: Readonly<Record<SessionEventType | typeof MESSAGE, Describe>> = {
  "session.created": (payload, { event }) => ({
    facts: keepFacts(event.session_id ?? undefined, agentFact(event)),
    sections: sectionOf("Payload", payload),
  }),
  "session.restored": describeRestore,
  "run.started": (payload, { event }) => ({
    facts: keepFacts(event.run_id ?? undefined, agentFact(event), readText(payload.model)),
    sections: [
      ...sectionOf("Input", payload.input),
      ...sectionOf("Definition", payload.definition, { isDetail: true }),
    ],
  }),
  "model.called": (payload, { sent, costRecorded }) => ({
    facts: callFacts(payload, costRecorded && payloadOf(costRecorded)),
    sections: [
      ...sent.flatMap(sentSection),
      ...sectionOf("Reasoning", payload.reasoning, { tone: "dim" }),
      ...sectionOf("Answer", payload.text),
      ...toolCallsOf(payload).flatMap(toolCallSection),
    ],
  }),
  "cost.recorded": (payload) => ({ facts: callFacts(payload, payload), sections: [] }),
  "tool.called": ({ tool_name, input }) => ({
    facts: keepFacts(readText(tool_name)),
    sections: [{ title: "Input", value: input ?? null }],
  }),
  "tool.returned": ({ tool_name, duration_ms, ...result }) => ({
    facts: keepFacts(readText(tool_name), durationFact(duration_ms)),
    sections: [resultSection(result)],
  }),
  "model.failed": ({ step, error }, { sent }) => ({
    facts: keepFacts(stepFact(step)),
    sections: [...sent.flatMap(sentSection), ...sectionOf("Error", error, { tone: "error" })],
  }),
  "budget.refused": describeRefusal,
  "budget.exceeded": describeRefusal,
  "budget.overshot": ({ call_id, bound_usd, cost_usd }) => ({
    facts: keepFacts(readText(call_id), amountFact("bound", bound_usd), amountFact("cost", cost_usd)),
    sections: [],
  }),
  "run.completed": ({ output, finish_reason, steps }) => ({
    facts: keepFacts(
      readText(finish_reason),
      steps !== undefined && countOf(readCount(steps), "step"),
    ),
    sections: sectionOf("Output", output),
  }),
  "run.failed": describeProblem,
  "run.cancelled": describeReason,
  "run.interrupted": describeReason,
  "anomaly.detected": describeAnomaly,
  [MESSAGE]: describeMessage,
};

function describeRefusal({ message, cost_usd_so_far, budget_usd, refused_by }: Payload): StepView {
  return {
    facts: keepFacts(amountFact("cost", cost_usd_so_far), amountFact("budget", budget_usd)),
    sections: [
      ...sectionOf("Error", message, { tone: "error" }),
      ...sectionOf("Refused by", refused_by, { isDetail: true }),
    ],
  };
}

function callFacts(payload: Payload, recorded: Payload | undefined): string[] {
  const { provider, model } = payload;
  const name = keepFacts(readText(provider), readText(model)).join(":");
  // The totals are sums of the ledger's figures.
  const { input_tokens, output_tokens, cost_usd, duration_ms, estimated } = recorded ?? payload;
  const cost = readCost(cost_usd);
  return keepFacts(
    stepFact(payload.step),
    name,
    formatTokens(readCount(input_tokens), readCount(output_tokens)),
    tokensFact(recorded?.cache_read_tokens, "read from cache"),
    tokensFact(recorded?.cache_write_tokens, "written to cache"),
    tokensFact(recorded?.reasoning_tokens, "for reasoning"),
    cost === null ? "no price" : `$${formatUsd(cost)}`,
    durationFact(duration_ms),
    readText(payload.finish_reason),
    estimated === true && "tokens estimated",
  );
}

function tokensFact(tokens: unknown, what: string): string | false {
  return readCount(tokens) > 0 && `${formatCount(readCount(tokens))} ${what}`;
}

function stepFact(step: unknown): string | false {
  return typeof step === "number" && `step ${step}`;
}

function durationFact(durationMs: unknown): string | false {
  return typeof durationMs === "number" && `took ${formatDuration(durationMs)}`;
}

function amountFact(name: string, usd: unknown): string | false {
  const amount = readCost(usd);
  return amount !== null && `${name} $${formatUsd(amount)}`;
}

function agentFact({ agent_id }: ReplayEvent): string | false {
  return agent_id !== null && `agent ${agent_id}`;
}

function sentSection(event: ReplayEvent): Section[] {
  const { input, tool_name, ...result } = payloadOf(event);
  if (event.type === "run.started") return sectionOf("Sent", input, { isDetail: true });
  const { value, tone } = resultSection(result);
  return [{ title: `Sent: result of ${readText(tool_name) ?? "a tool"}`, value, tone, isDetail: true }];
}

function resultSection({ output, error }: Payload): Section {
  return error === undefined
    ? { title: "Output", value: output ?? null }
    : { title: "Error", value: error, tone: "error" };
}

function toolCallsOf({ tool_calls }: Payload): Payload[] {
  return Array.isArray(tool_calls) ? tool_calls.filter(isRecord) : [];
}

function toolCallSection({ tool_name, input }: Payload): Section[] {
  return [{ title: `Call of ${readText(tool_name) ?? "a tool"}`, value: input ?? null }];
}

/** Describes a message of a session: its role, and each part of its content. */
function describeMessage({ role, content }: Record<string, unknown>): StepView {
  const parts = Array.isArray(content) ? content : [content];
  return { facts: keepFacts(readText(role)), sections: parts.flatMap(describePart) };
}

/** Describes a part of an AI SDK message; a part of an unknown type is shown as JSON. */
function describePart(part: unknown): Section[] {
  if (typeof part === "string") return sectionOf("Text", part);
  if (!isRecord(part)) return sectionOf("Content", part);
  const tool = readText(part.toolName) ?? "a tool";
  switch (part.type) {
    case "text":
      return sectionOf("Text", part.text);
    case "reasoning":
      return sectionOf("Reasoning", part.text, { tone: "dim" });
    case "tool-call":
      return [{ title: `Call of ${tool}`, value: part.input ?? null }];
    case "tool-result":
      return [describeToolResult(tool, part.output)];
    default:
      return sectionOf("Content", part);
  }
}

function describeToolResult(tool: string, output: unknown): Section {
  const { type, value } = isRecord(output) ? output : { type: undefined, value: undefined };
  const isError = typeof type === "string" && type.startsWith("error");
  return {
    title: `Result of ${tool}`,
    value: value === undefined ? output ?? null : value,
    ...(isError && { tone: "error" as const }),
  };
}
