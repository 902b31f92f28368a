import { shorten } from "../../kernel/text.ts";
import type { Issues } from "./issues.ts";
import { SnapshotMessage } from "../../contract/snapshot/message.ts";
import { SnapshotEvent } from "../../contract/snapshot/snapshot.ts";
import type { ZodType } from "zod";
import { messageOf } from "../../kernel/errors.ts";
import { parseUsd } from "../../kernel/money.ts";

/** Validates messages, in order, against the schema and each other. */
export class MessageCheck {
  #calls = new Set<string>();
  /** Set once a message could not be read: it may have contained any call. */
  #isBlind = false;

  constructor(private readonly issues: Issues) {}

  check(index: number, value: unknown): void {
    const path = ["state", "messages", index];
    const message = SnapshotMessage.safeParse(value, { reportInput: true });
    if (!message.success) this.issues.addSchemaIssues(path, message.error.issues);
    // An invalid message too, so that no result is reported for its calls.
    const content = (value as { content?: unknown } | null)?.content;
    if (!Array.isArray(content)) return;
    content.forEach((part, at) => {
      if (typeof part?.toolCallId !== "string") return;
      if (part.type === "tool-call") this.#calls.add(part.toolCallId);
      else if (part.type === "tool-result" && !this.#calls.has(part.toolCallId) && !this.#isBlind) {
        const id = JSON.stringify(shorten(part.toolCallId, 80));
        const idPath = [...path, "content", at, "toolCallId"];
        this.issues.add(idPath, `there is no tool call ${id} before this result`);
      }
    });
  }

  /** Skips a message that is not valid JSON. */
  skip(): void {
    this.#isBlind = true;
  }
}

/** Validates one event of the log against the schema. */
export function checkEvent(issues: Issues, index: number, value: unknown): void {
  const event = SnapshotEvent.safeParse(value, { reportInput: true });
  if (!event.success) issues.addSchemaIssues(["events", index], event.error.issues);
}

/**
 * Validates a document without its messages and events: its schema, and that the agent matches. Of `faulty` members, whose
 * value is not valid JSON, no issues of the schema are reported.
 */
export function checkHead(
  head: Record<string, unknown>,
  { schema, faulty, issues }: { schema: ZodType; faulty: ReadonlySet<string>; issues: Issues },
): void {
  const checked = schema.safeParse(head, { reportInput: true });
  if (!checked.success) {
    const isNew = ({ path: [first, second] }: { path: readonly PropertyKey[] }) =>
      !faulty.has(String(first)) && !faulty.has(`${String(first)}.${String(second)}`);
    issues.addSchemaIssues([], checked.error.issues.filter(isNew));
  }
  checkAgent(head, issues);
}

function checkAgent(head: Record<string, unknown>, issues: Issues): void {
  const { agent_id: agentId } = head;
  const agent = (head.agent ?? {}) as { agent_id?: unknown; name?: unknown; cost_budget_usd?: unknown };
  if (typeof agent.cost_budget_usd === "number") {
    try {
      parseUsd(agent.cost_budget_usd);
    } catch (error) {
      issues.add(["agent", "cost_budget_usd"], messageOf(error));
    }
  }
  for (const key of ["agent_id", "name"] as const) {
    const given = agent[key];
    if (typeof given !== "string" || typeof agentId !== "string" || given === agentId) continue;
    issues.add(["agent", key], "is not the snapshot's agent_id");
  }
}
