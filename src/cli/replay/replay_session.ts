import { readSnapshot } from "../../snapshots/document/mod.ts";
import { type SnapshotSource } from "../../snapshots/files/mod.ts";
import type { CommandContext } from "../command.ts";
import { EXIT } from "../exit_code.ts";
import { idInPath } from "../parse/command_id.ts";
import { UsageError } from "../parse/usage_error.ts";
import { formatCount } from "../render/format_values.ts";
import { escapeText } from "../terminal/escape_text.ts";
import { renderJsonStep, renderPlainStep } from "./screen/render_step.ts";
import { viewSteps } from "./screen/view_steps.ts";
import type { Connection } from "../../client/mod.ts";
import { NAME_PATTERN } from "../../kernel/ids.ts";
import {
  type HoldLimits,
  holdSteps,
  type ImportedEvent,
  MESSAGE,
  type ReplayEvent,
  replaySteps,
  selectSteps,
  type SeqRange,
} from "../../contract/replay/mod.ts";

const MAX_SEQ = 1_000_000_000_000;

/** The reads of a replay, and the limits of the viewer's memory. Tests pass their own. */
export interface ReplayOptions extends Pick<ReplaySources, "listImported"> {
  readSnapshot: (
    source: SnapshotSource,
    options: { maxBytes: number },
  ) => ReturnType<ReplaySources["readSnapshot"]>;
  holdLimits?: HoldLimits;
}

const SOURCES: ReplayOptions = {
  readSnapshot,
  listImported: async ({ api }, { sessionId, after, limit }) => {
    const param = { session_id: idInPath(sessionId) };
    const query = { after: String(after), limit: String(limit) };
    return await (await api.sessions[":session_id"].events.imported.$get({ param, query })).json();
  },
};

/** Shows the steps of a session or a snapshot: in a viewer on a terminal, else as lines. Returns the exit code. */
export async function replaySession(
  ctx: CommandContext,
  { readSnapshot, listImported, holdLimits }: ReplayOptions = SOURCES,
): Promise<number> {
  const range = readRange(ctx);
  const replay = await loadReplay(ctx.args[0]!, {
    listImported,
    connect: ctx.connect,
    readSnapshot: (path) =>
      readSnapshot(path === "-" ? ctx.terminal.stdin() : path, { maxBytes: ctx.config.maxSnapshotBytes }),
  });
  const { terminal: { stdout, keys }, isJson, style } = ctx;
  const hints = hintsOn(replay);
  for (const hint of hints) ctx.say(hint);
  const steps = selectSteps(replaySteps(replay.events), range);
  let count = 0;
  if (stdout.isTerminal && keys && !isJson) {
    const held = await holdSteps(steps, holdLimits);
    count = held.steps.length;
    if (held.next) hints.push(describeRest(count, held.next.event.seq));
    if (count > 0) return await view(ctx, { steps: held.steps, sessionId: replay.sessionId, hints });
  } else {
    for await (const step of steps) {
      ctx.print(isJson ? renderJsonStep(step) : renderPlainStep(step, style));
      count++;
    }
  }
  if (count === 0) ctx.say(describeEmpty(replay, range));
  return EXIT.done;
}

/** Throws a `UsageError`. */
function readRange({ options }: CommandContext): SeqRange {
  const from = options.wholeNumber("from", { min: 1, max: MAX_SEQ });
  const until = options.wholeNumber("until", { min: 1, max: MAX_SEQ });
  if (from === undefined || until === undefined || from <= until) return { from, until };
  throw new UsageError(
    `Cannot use --from ${from} with --until ${until}: --from is greater`,
    options.command,
  );
}

async function view(ctx: CommandContext, input: Parameters<typeof viewSteps>[0]): Promise<number> {
  const { terminal, style } = ctx;
  const { stdout, hasUnicode, interrupted } = terminal;
  const end = await viewSteps(input, { stdout, keys: terminal.keys!(), hasUnicode, style, interrupted });
  return end === "interrupted" ? EXIT.interrupted : EXIT.done;
}

function hintsOn({ kind, sessionId }: Replay): string[] {
  if (kind === "events") return [];
  return [
    "The file has no event log, so these are its messages; for the log: " +
    `purser state export AGENT --session ${escapeText(sessionId)} --with-events --output FILE`,
  ];
}

function describeRest(count: number, nextSeq: number | null): string {
  const more = nextSeq === null ? "" : `; --from ${nextSeq} shows the next ones`;
  return `The log is too long for the viewer, which shows ${formatCount(count)} steps${more}`;
}

function describeEmpty({ kind, sessionId }: Replay, { from, until }: SeqRange): string {
  const noun = kind === "events" ? "event" : "message";
  if (from === undefined && until === undefined) {
    return kind === "events"
      ? `The event log of session ${escapeText(sessionId)} is empty`
      : "The file has no messages either";
  }
  const range = [from && `from ${from}`, until && `until ${until}`].filter(Boolean).join(" ");
  return `There is no ${noun} with a seq ${range}`;
}

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
  /** Reads a page of a session's imported history. Undefined if the session has none. */
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
