import type { Issues } from "./issues.ts";
import { SnapshotMessage } from "./message.ts";
import { SnapshotEvent } from "./snapshot.ts";

/** Checks messages, in order, against the schema and each other. */
export class MessageCheck {
  /** The tool calls so far. */
  #calls = new Set<string>();

  constructor(private readonly issues: Issues) {}

  check(index: number, value: unknown): void {
    const place = ["state", "messages", index];
    const message = SnapshotMessage.safeParse(value);
    if (!message.success) this.issues.addSchemaIssues(place, message.error.issues);
    // Also of a message that is wrong elsewhere: its calls are not to be missed by their results.
    const content = (value as { content?: unknown } | null)?.content;
    if (!Array.isArray(content)) return;
    content.forEach((part, at) => {
      if (typeof part?.toolCallId !== "string") return;
      if (part.type === "tool-call") this.#calls.add(part.toolCallId);
      else if (part.type === "tool-result" && !this.#calls.has(part.toolCallId)) {
        this.issues.add(
          [...place, "content", at, "toolCallId"],
          `there is no tool call ${JSON.stringify(part.toolCallId)} before this result`,
        );
      }
    });
  }
}

/** Checks one event of the log against the schema. */
export function checkEvent(issues: Issues, index: number, value: unknown): void {
  const event = SnapshotEvent.safeParse(value);
  if (!event.success) issues.addSchemaIssues(["events", index], event.error.issues);
}
