import type { Connection } from "../../client/mod.ts";
import { NAME_PATTERN } from "../../kernel/ids.ts";
import { idInPath } from "../parse/command_id.ts";
import { type ImportedEvent, MESSAGE, type ReplayEvent } from "./steps/replay_event.ts";

/** The events of a replay. */
export interface Replay {
  sessionId: string;
  /** In order, imported history first. Can be read once. */
  events: AsyncIterable<ReplayEvent> | Iterable<ReplayEvent>;
  /** `messages` for a snapshot without an event log. */
  kind: "events" | "messages";
}

/** The fields of a snapshot that a replay uses. */
export interface ReplaySnapshot {
  agent_id: string;
  session_id: string;
  state: { messages: readonly SnapshotMessage[] };
  events?: readonly ReplayEvent[];
}

interface SnapshotMessage {
  id?: string;
  created_at?: string;
  role: string;
  content: unknown;
}

/** The reads of a replay. */
export interface ReplaySources {
  connect(): Promise<Connection>;
  /** Reads a snapshot; `-` is standard input. */
  readSnapshot(path: string): Promise<ReplaySnapshot>;
  /** Reads a page of a session's imported history. Without it, there is none. */
  listImported?: ListImported;
}

/** Returns the events after a position of a session's imported history, in order. */
export type ListImported = (
  connection: Connection,
  page: { sessionId: string; after: number; limit: number },
) => Promise<ImportedEvent[]>;

/** Loads a snapshot file, or a session, whose events are read page by page. */
export async function loadReplay(argument: string, sources: ReplaySources): Promise<Replay> {
  if (isFileArgument(argument)) return replayOf(await sources.readSnapshot(argument));
  const connection = await sources.connect();
  return { sessionId: argument, events: readLog(connection, argument, sources.listImported), kind: "events" };
}

/** Returns whether an argument is a file rather than a session. */
export function isFileArgument(argument: string): boolean {
  return /[/\\]|\.(json|gz)$/.test(argument) || !NAME_PATTERN.test(argument);
}

async function* readLog(
  connection: Connection,
  sessionId: string,
  listImported: ListImported | undefined,
): AsyncGenerator<ReplayEvent> {
  if (listImported) {
    yield* readPages(
      (after) => listImported(connection, { sessionId, after, limit: PAGE_SIZE }),
      ({ position }) => position,
    );
  }
  const param = { session_id: idInPath(sessionId) };
  const readPage = async (after: number): Promise<ReplayEvent[]> => {
    const query = { after: String(after), limit: String(PAGE_SIZE) };
    return await (await connection.api.sessions[":session_id"].events.$get({ param, query })).json();
  };
  yield* readPages(readPage, ({ seq }) => seq);
}

function replayOf(snapshot: ReplaySnapshot): Replay {
  const { session_id: sessionId, events, state } = snapshot;
  if (events) return { sessionId, events, kind: "events" };
  return { sessionId, events: state.messages.map(eventOf(snapshot)), kind: "messages" };
}

/** Returns a function that converts a message to an event, with its position as the seq. */
function eventOf({ agent_id, session_id }: ReplaySnapshot) {
  return (message: SnapshotMessage, index: number): ReplayEvent => ({
    seq: index + 1,
    type: MESSAGE,
    at: message.created_at ?? null,
    agent_id,
    session_id,
    run_id: null,
    call_id: null,
    payload: { ...message },
  });
}

/** The number of events per page. */
const PAGE_SIZE = 500;

/** Reads a list page by page, each on demand. */
async function* readPages<T>(
  readPage: (after: number) => Promise<T[]>,
  positionOf: (item: T) => number | null,
): AsyncGenerator<T> {
  for (let after = 0;;) {
    const page = await readPage(after);
    yield* page;
    const last = page.at(-1);
    const next = last === undefined ? null : positionOf(last);
    // The last page is the empty one: large events make pages short. A position that doesn't grow would loop forever.
    if (next === null || next <= after) return;
    after = next;
  }
}
