import { createHash } from "node:crypto";
import { describeAgent, getAgentDefinition } from "../agents/mod.ts";
import { canonicalize, FORBIDDEN_KEY, toCanonicalText } from "../kernel/json/canonical_json.ts";
import { toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import { type MemoryShare, paced, SLICE_UNITS } from "../kernel/turns.ts";
import { sessionUsageStatement, type TokenUsage, toSessionUsage } from "../ledger/mod.ts";
import { readEventTexts, readMessageTexts } from "../sessions/mod.ts";
import { toObjects } from "../store/mod.ts";
import type { SnapshotContext } from "./context.ts";
import { writeDocument } from "./document/write_document.ts";
import { exportUse } from "./generations/sweep_generations.ts";
import type { Extras } from "./document/extras.ts";
import { readImportedEventTexts } from "./generations/imported_events.ts";
import { areSmall, SCHEMA_VERSION, TAGS_RULE } from "../contract/snapshot/snapshot.ts";

/** The session to export, and its options. */
export interface ExportInput {
  sessionId: string;
  /** The expected agent of the session. */
  agentId?: string;
  /** Added to the session's own tags in the document only. */
  tags?: Readonly<Record<string, string>>;
  withEvents?: boolean;
}

/** A session as of one moment, ready to be written. */
export interface SessionExport {
  /** The document without messages, events and integrity. */
  head: Record<string, unknown>;
  messageCount: number;
  /** Weak: two exports of the same state differ in their time. */
  etag: string;
  /** Writes the document's bytes as canonical JSON, once; may be ended early. Its pages are held in the memory of an answer. */
  write(share?: MemoryShare): AsyncGenerator<Uint8Array<ArrayBuffer>>;
  /** Releases the generation without writing it; `write` releases it at its end. */
  close(): void;
}

const READ_SESSION = `SELECT agent_id, status, generation, message_count, event_count, tags, extras
FROM sessions WHERE session_id = ?`;
// The agent's definition at its latest run, if the agent is not stored.
const READ_DEFINITION = `SELECT payload FROM events WHERE session_id = ? AND type = 'run.started'
ORDER BY seq DESC LIMIT 1`;

interface SessionRow {
  agent_id: string;
  status: string;
  generation: bigint;
  message_count: bigint;
  event_count: bigint;
  tags: string;
  extras: string | null;
}

/**
 * Exports a session's current state, also while a run is in progress. Read-only.
 *
 * @throws {PurserError} `not_found`; `conflict` when the session is another agent's
 */
export async function exportSession(ctx: SnapshotContext, input: ExportInput): Promise<SessionExport> {
  const { sessionId, withEvents = false } = input;
  checkTags(input.tags ?? {});
  const [found, usage, started] = await ctx.store.readAll([
    { sql: READ_SESSION, args: [sessionId] },
    sessionUsageStatement(sessionId),
    { sql: READ_DEFINITION, args: [sessionId] },
  ]);
  const row = toObjects<SessionRow>(found!)[0];
  if (!row) {
    const isReported = toSessionUsage(usage!).model_calls > 0;
    const reason =
      `Cannot export session ${sessionId}: it is known from its calls alone, and has no state here`;
    throw new PurserError("not_found", isReported ? reason : `Cannot find session ${sessionId}`);
  }
  const generation = Number(row.generation);
  // Before the next await, so that the sweep after a restore keeps the generation.
  const close = ctx.generationsInUse.begin(exportUse(sessionId, generation));
  try {
    checkAgent(input, row.agent_id);
    const extras = JSON.parse(row.extras ?? "{}") as Extras;
    const agent = await findDefinition(ctx, row.agent_id, started!.rows[0]?.[0] as string | null, extras);
    const lastSeq = Number(row.event_count);
    const head = {
      ...extras.document,
      schema_version: SCHEMA_VERSION,
      agent_id: row.agent_id,
      session_id: sessionId,
      state: {
        ...extras.state,
        status: row.status,
        token_usage: toSessionUsage(usage!) satisfies TokenUsage,
      },
      event_log_count: lastSeq,
      tags: mergeTags(JSON.parse(row.tags), input.tags),
      source_environment: ctx.environment,
      exported_at: toIso(ctx.clock.now()),
      ...(agent && { agent }),
    };
    const messageCount = Number(row.message_count);
    const span = { sessionId, generation, to: messageCount };
    return {
      head,
      messageCount,
      etag: etagOf(head, generation, messageCount, withEvents),
      async *write(share) {
        try {
          // In turn from the first page on: exports that begin together may have large messages.
          await ctx.turns.spend(SLICE_UNITS);
          const messages = paced(readMessageTexts(ctx, span), share);
          const events = withEvents ? paced(allEvents(ctx, span, lastSeq), share) : undefined;
          yield* writeDocument({ head, messages, events }, ctx.turns);
        } finally {
          close();
        }
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

type Tags = Readonly<Record<string, string>>;

/** Merges the session's own tags with those of the export; an import would refuse too many. */
function mergeTags(own: Tags, given: Tags = {}): Tags {
  const tags = { ...own, ...given };
  if (areSmall(tags)) return tags;
  throw new PurserError("invalid", `Cannot export the session with these tags: they ${TAGS_RULE}`);
}

/** Refuses malformed tags: those of a query or a command line are well-formed, those of a program may have any form. */
function checkTags(tags: Tags): void {
  canonicalize(tags, (path, message) => {
    throw new PurserError("invalid", `Cannot use the tag ${path.join(".").toWellFormed()}: it ${message}`);
  });
}

function checkAgent({ agentId, sessionId }: ExportInput, owner: string): void {
  if (agentId === undefined || agentId === owner) return;
  throw new PurserError(
    "conflict",
    `Cannot export session ${sessionId} of agent ${agentId}: it belongs to agent ${owner}`,
    { details: { session_id: sessionId, agent_id: owner } },
  );
}

/** Finds the agent's definition: the stored one, else that of the latest run, else the imported one. */
async function findDefinition(
  ctx: SnapshotContext,
  agentId: string,
  started: string | null | undefined,
  extras: Extras,
): Promise<Record<string, unknown> | undefined> {
  const defined = await getAgentDefinition(ctx, agentId).catch((error) => {
    if (error instanceof PurserError && error.code === "not_found") return undefined;
    throw error;
  });
  if (defined) {
    const { tags, ...definition } = describeAgent(defined);
    const hasTags = Object.keys(tags).length > 0;
    return { ...extras.agent, ...definition, ...(hasTags && { tags }) }; // documents of earlier versions have no tags
  }
  const atRun = started ? JSON.parse(started).definition : undefined;
  return atRun ? { ...extras.agent, ...atRun } : extras.agent;
}

/** Reads the imported history, then the session's own log. */
async function* allEvents(
  ctx: SnapshotContext,
  span: { sessionId: string; generation: number },
  lastSeq: number,
): AsyncGenerator<readonly string[]> {
  yield* readImportedEventTexts(ctx, span);
  yield* readEventTexts(ctx, { sessionId: span.sessionId, lastSeq });
}

/** Returns the ETag of a document; it does not depend on the time of the export. */
function etagOf(
  head: Record<string, unknown>,
  generation: number,
  messageCount: number,
  withEvents: boolean,
): string {
  const { exported_at: _exportedAt, ...stable } = head;
  const options = createHash("sha256").update(toCanonicalText([stable, withEvents])).digest("hex").slice(
    0,
    16,
  );
  return `W/"g${generation}-m${messageCount}-e${String(head.event_log_count)}-${options}"`;
}

/**
 * Parses tags from `key=value` texts; the last one of a key counts. The value may be empty and contain `=`.
 *
 * @throws {Error} on an invalid tag; its message completes "Cannot use --tag: "
 */
export function parseTags(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map((text) => {
    const split = text.indexOf("=");
    const key = text.slice(0, split);
    if (split < 1) throw new Error(`${JSON.stringify(text)} is not of the form key=value`);
    if (key === FORBIDDEN_KEY) throw new Error(`${FORBIDDEN_KEY} can't be the key of a tag`);
    if (!text.isWellFormed()) throw new Error("a tag must be well-formed Unicode");
    return [key, text.slice(split + 1)];
  }));
}
