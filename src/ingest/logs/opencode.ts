import { hasQuantity } from "../../pricing/mod.ts";
import { HOLES } from "./holes.ts";
import { defineImporter, type LogDatabase, type LogKind, type LogSink } from "./importer.ts";
import {
  countOf,
  type Fields,
  fieldsOf,
  modelOf,
  nameByCounts,
  parseRecord,
  readEach,
  textOf,
  timeOf,
  usageWithCache,
  usdOf,
} from "./log_record.ts";
import { billedBy } from "./provider_ids.ts";

/**
 * OpenCode: `opencode.db`, or `opencode-<channel>.db` of another release channel, and `storage/` of versions before 1.2.
 *
 * Its rows: packages/opencode/src/session and packages/core/src/session/message.ts of opencode at 008456f4 and 08e3e1f9, and
 * recordings of 1.18.33.
 */
export default defineImporter({
  name: "opencode",
  title: "OpenCode",
  seen: "1.18.33",
  holes: HOLES["opencode"],
  roots: ({ home, env }) => [`${env("XDG_DATA_HOME") ?? `${home}/.local/share`}/opencode`],
  kinds: [
    databaseKind(/(?:^|\/)opencode(?:-[^/]+)?\.db$/),
    {
      has: (name) => /(?:^|\/)storage\/message\/[^/]+\/[^/]+\.json$/.test(name),
      read: {
        form: "whole",
        read(text, { name }, sink) {
          const data = parseRecord(text);
          const message = {
            id: textOf(data.id) ?? name.replace(/^.*\/|\.json$/g, ""),
            session: textOf(data.sessionID),
            data,
          };
          if (data.role === "assistant") {
            readMessage({ message, sessions: new Map(), steps: [], sink });
          }
        },
      },
    },
  ],
});

/** The database of OpenCode, or of an agent that is built on it, whose file has such a name. */
export function databaseKind(name: RegExp): LogKind {
  return {
    has: (file) => name.test(file),
    read: {
      form: "sqlite",
      read: (db, _file, state, sink) => readDatabase(db, fieldsOf(state), sink),
    },
  };
}

interface Session {
  parent?: string;
  folder?: string;
  createdAt: number;
}

interface Message {
  id: string;
  session?: string;
  data: Fields;
}

/** Rows that were changed this long before the newest one of the last import are read again: clocks are set back. */
const OVERLAP_MS = 600_000;

/** Reads the messages that have changed since the last import. The sums on the rows of sessions, and events, repeat them. */
function* readDatabase(
  db: LogDatabase,
  before: Fields,
  sink: LogSink,
): Generator<void, { changedAt: number }> {
  const tables = new Set(db.tables());
  const lastChange = typeof before.changedAt === "number" ? before.changedAt : 0;
  let changedAt = lastChange;
  const sessions = readSessions(db, tables);
  for (const table of MESSAGE_TABLES) {
    if (!tables.has(table)) continue;
    const where = table === "message" || !tables.has("message")
      ? ""
      : " AND session_id NOT IN (SELECT session_id FROM message)";
    const rows = db.rows(
      `SELECT id, session_id, time_created, time_updated, data FROM ${table}
        WHERE time_updated > ? AND instr(data, '"tokens"') > 0${where}`,
      lastChange - OVERLAP_MS,
    );
    for (const row of rows) {
      const [createdAt, time] = [Number(row.time_created), Number(row.time_updated)];
      changedAt = Math.max(changedAt, time);
      const rowSink = time > lastChange ? sink : onlyCalls(sink);
      readEach([String(row.id)], rowSink, (id) => {
        const message = { id, session: textOf(row.session_id), data: parseRecord(String(row.data)) };
        const steps = createdAt < ONE_CALL_SINCE && tables.has("part") ? stepsOf(db, id) : [];
        readMessage({ message, sessions, steps, sink: rowSink });
      });
      yield;
    }
  }
  if (!MESSAGE_TABLES.some((table) => tables.has(table))) {
    sink.malformed("The database has no table of messages");
  }
  return { changedAt };
}

/** Of a row that is read again, what has no counts and what can't be read was counted the first time. */
function onlyCalls(sink: LogSink): LogSink {
  const none = () => {};
  return { call: sink.call, unmetered: none, malformed: none, plan: none, note: none, unknown: none };
}

/** The tables of messages; the second one is that of OpenCode 2, which earlier versions have, too, for an experiment. */
const MESSAGE_TABLES = ["message", "session_message"] as const;

function readSessions(db: LogDatabase, tables: ReadonlySet<string>): Map<string, Session> {
  const sessions = new Map<string, Session>();
  for (const table of ["session_v2", "session"].filter((table) => tables.has(table))) {
    for (const row of db.rows(`SELECT id, parent_id, directory, time_created FROM ${table}`)) {
      sessions.set(String(row.id), {
        parent: textOf(row.parent_id),
        folder: textOf(row.directory),
        createdAt: typeof row.time_created === "number" ? row.time_created : 0,
      });
    }
  }
  return sessions;
}

/** A message from then on is one call; those of versions before the autumn of 2025 may have several. */
const ONE_CALL_SINCE = Date.parse("2026-01-01T00:00:00Z");

/** Returns the calls of an older message, which has a part for each. Parts have what tools have read, and are slow to search. */
function stepsOf(db: LogDatabase, message: string): Fields[] {
  const rows = db.rows(
    `SELECT data FROM part WHERE message_id = ? AND instr(data, '"step-finish"') > 0 ORDER BY id`,
    message,
  );
  return Array.from(rows, ({ data }) => parseRecord(String(data)))
    .filter(({ type, tokens }) => type === "step-finish" && tokens !== undefined);
}

interface MessageInput {
  message: Message;
  sessions: ReadonlyMap<string, Session>;
  steps: readonly Fields[];
  sink: LogSink;
}

/** Reads the calls of an assistant's message. The last one has the name of the message, which has its counts. */
function readMessage({ message, sessions, steps, sink }: MessageInput): void {
  const { id, data } = message;
  const time = fieldsOf(data.time);
  const calls = steps.length > 1 ? steps : [data];
  const facts = factsOf(message, sessions);
  const wasRefused = data.error !== undefined && fieldsOf(data.error).name !== "MessageAbortedError";
  const isDone = time.completed !== undefined && time.completed !== null;
  calls.forEach((call, index) => {
    const usage = usageOfTokens(fieldsOf(call.tokens));
    if (!hasQuantity(usage)) {
      // A message without counts is still being written, or was refused.
      if (isDone && !wasRefused) sink.unmetered("a message without counts");
      return;
    }
    const at = timeOf(time.created);
    const step = index === calls.length - 1 ? "" : `#${index + 1}`;
    sink.call({
      ...facts,
      ref: id + step,
      // A fork copies messages under new ids.
      fingerprint: nameByCounts(at, `${facts.provider ?? ""}/${facts.model ?? ""}${step}`, usage),
      at,
      usage,
      quality: "exact",
      statedCostUsd: usdOf(call.cost),
    });
  });
}

/** Returns what all calls of a message share. */
function factsOf({ session, data }: Message, sessions: ReadonlyMap<string, Session>) {
  const inVersion2 = fieldsOf(data.model);
  const own = sessions.get(session ?? "");
  const root = session && rootOf(session, sessions);
  const created = fieldsOf(data.time).created;
  return {
    ...billedBy(textOf(data.providerID) ?? textOf(inVersion2.providerID)),
    ...modelOf(data.modelID ?? inVersion2.id),
    session: root,
    subagent: session === undefined || session === root ? undefined : {
      id: session,
      parent: own?.parent === root ? undefined : own?.parent,
      type: textOf(data.agent) ?? textOf(data.mode),
    },
    // Only the copies in a fork are older than their session.
    isCopy: (own !== undefined && typeof created === "number" && created < own.createdAt) || undefined,
    folder: textOf(fieldsOf(data.path).cwd) ?? own?.folder,
  };
}

/** Returns the session without a parent above a session. */
function rootOf(session: string, sessions: ReadonlyMap<string, Session>): string {
  const visited = new Set<string>();
  for (let root = session;;) {
    const parent = sessions.get(root)?.parent;
    if (parent === undefined || visited.has(parent)) return root;
    visited.add(parent);
    root = parent;
  }
}

/** OpenCode's counts are disjoint; reasoning is beside the output. */
function usageOfTokens(tokens: Fields) {
  const cache = fieldsOf(tokens.cache);
  const reasoningTokens = countOf(tokens.reasoning);
  return usageWithCache({
    inputTokens: countOf(tokens.input),
    outputTokens: countOf(tokens.output) + reasoningTokens,
    cacheReadTokens: countOf(cache.read),
    cacheWriteTokens: countOf(cache.write),
    reasoningTokens,
  });
}
