import {
  type ExportInput,
  exportSession,
  importSession,
  type Snapshot,
  type SnapshotContext,
} from "../../src/snapshots/mod.ts";
import { GenerationsInUse } from "../../src/snapshots/generations/mod.ts";
import { createTurns } from "../../src/kernel/turns.ts";
import type { TestBooking } from "./booking.ts";

/** A booking context that can export and import snapshots. */
export type TestSnapshots = TestBooking & SnapshotContext & {
  liveRuns: Map<string, { cancel(reason: string): void }>;
};

/** Extends the booking contexts of a process by snapshots. */
export function withSnapshots(
  booking: TestBooking,
  more: Partial<Pick<SnapshotContext, "environment" | "maxSnapshotBytes">> = {},
): TestSnapshots {
  return {
    ...booking,
    turns: createTurns(() => Promise.resolve()),
    environment: "test",
    maxSnapshotBytes: 1024 * 1024,
    maxContextBytes: Infinity,
    generationsInUse: new GenerationsInUse(),
    author: { actor: "code" },
    liveRuns: new Map(),
    ...more,
  };
}

/** A text or bytes as the stream that an import reads. */
export async function* streamOf(
  content: string | Uint8Array,
  chunkBytes = 65_536,
): AsyncGenerator<Uint8Array> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    yield bytes.subarray(start, start + chunkBytes);
  }
}

/** The whole stream as text. */
export async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) text += decoder.decode(bytes, { stream: true });
  return text;
}

/** A session's document as text. */
export async function exportText(ctx: SnapshotContext, input: ExportInput): Promise<string> {
  return await textOf((await exportSession(ctx, input)).write());
}

/** Imports a document, given as a value or as its text. */
export function restore(ctx: SnapshotContext, document: unknown, options?: { dryRun?: boolean }) {
  const text = typeof document === "string" ? document : JSON.stringify(document);
  return importSession(ctx, streamOf(text), options);
}

/** A small document with the given fields changed. */
export function snapshotOf(
  more: Record<string, unknown> = {},
  state: Record<string, unknown> = {},
): Snapshot {
  return {
    schema_version: 1,
    agent_id: "agent",
    session_id: "ses",
    state: {
      messages: [
        { id: "msg_1", created_at: "2026-11-20T08:00:00.000Z", role: "user", content: "hello" },
        { id: "msg_2", created_at: "2026-11-20T08:00:01.000Z", role: "assistant", content: "hi" },
      ],
      status: "completed",
      ...state,
    },
    event_log_count: 7,
    tags: { ticket: "4711" },
    source_environment: "production",
    exported_at: "2026-11-20T08:01:00.000Z",
    ...more,
  } as Snapshot;
}
