import { readSnapshot, type SnapshotSource } from "../../../snapshots/mod.ts";
import type { Command, CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { EXIT } from "../../exit_code.ts";
import { formatCount } from "../../render/format_values.ts";
import {
  type HoldLimits,
  holdSteps,
  loadReplay,
  renderJsonStep,
  renderPlainStep,
  type Replay,
  type ReplaySources,
  replaySteps,
  selectSteps,
  type SeqRange,
  viewSteps,
} from "../../replay/mod.ts";
import { UsageError } from "../../parse/usage_error.ts";

const MAX_SEQ = 1_000_000_000_000;

/** `purser state replay SESSION|FILE [--from SEQ] [--until SEQ]` */
export const stateReplay: Command = createStateReplay({
  readSnapshot,
  listImported: async ({ api }, { sessionId, after, limit }) => {
    const param = { session_id: idInPath(sessionId) };
    const query = { after: String(after), limit: String(limit) };
    return await (await api.sessions[":session_id"].events.imported.$get({ param, query })).json();
  },
});

/** The command over what it reads from; tests bring their own. */
export function createStateReplay(
  { holdLimits, readSnapshot, ...sources }:
    & Omit<ReplaySources, "connect" | "readSnapshot">
    & {
      readSnapshot: (
        source: SnapshotSource,
        options: { maxBytes: number },
      ) => ReturnType<ReplaySources["readSnapshot"]>;
      holdLimits?: HoldLimits;
    },
): Command {
  return async (ctx) => {
    const range = readRange(ctx);
    const replay = await loadReplay(ctx.args[0]!, {
      ...sources,
      connect: ctx.connect,
      readSnapshot: (path) =>
        readSnapshot(path === "-" ? ctx.terminal.stdin() : path, { maxBytes: ctx.config.maxSnapshotBytes }),
    });
    const { terminal: { stdout, keys }, isJson, style } = ctx;
    const notes = notesOn(replay);
    for (const note of notes) ctx.say(note);
    const steps = selectSteps(replaySteps(replay.events), range);
    let count = 0;
    if (stdout.isTerminal && keys && !isJson) {
      const held = await holdSteps(steps, holdLimits);
      count = held.steps.length;
      if (held.next) notes.push(tellOfRest(count, held.next.event.seq));
      if (count > 0) return await view(ctx, { steps: held.steps, sessionId: replay.sessionId, notes });
    } else {
      for await (const step of steps) {
        ctx.print(isJson ? renderJsonStep(step) : renderPlainStep(step, style));
        count++;
      }
    }
    if (count === 0) ctx.say(tellOfNothing(replay, range));
  };
}

/** Throws a `UsageError`. */
function readRange({ options }: CommandContext): SeqRange {
  const from = options.wholeNumber("from", { min: 1, max: MAX_SEQ });
  const until = options.wholeNumber("until", { min: 1, max: MAX_SEQ });
  if (from === undefined || until === undefined || from <= until) return { from, until };
  throw new UsageError(`Cannot use --from ${from} with --until ${until}: it comes after it`, options.command);
}

async function view(ctx: CommandContext, input: Parameters<typeof viewSteps>[0]): Promise<number> {
  const { terminal, style } = ctx;
  const { stdout, hasUnicode, interrupted } = terminal;
  const end = await viewSteps(input, { stdout, keys: terminal.keys!(), hasUnicode, style, interrupted });
  return end === "interrupted" ? EXIT.interrupted : EXIT.done;
}

function notesOn({ kind, sessionId }: Replay): string[] {
  if (kind === "events") return [];
  return [
    "The file has no event log, so these are its messages; for the log: " +
    `purser state export AGENT --session ${escapeText(sessionId)} --with-events --output FILE`,
  ];
}

function tellOfRest(count: number, nextSeq: number | null): string {
  const more = nextSeq === null ? "" : `; --from ${nextSeq} shows what follows`;
  return `The log is longer than fits here: these are ${formatCount(count)} steps of it${more}`;
}

function tellOfNothing({ kind, sessionId }: Replay, { from, until }: SeqRange): string {
  const what = kind === "events" ? "event" : "message";
  if (from === undefined && until === undefined) {
    return kind === "events"
      ? `The event log of session ${escapeText(sessionId)} is empty`
      : "There are no messages either";
  }
  const range = [from && `from ${from}`, until && `until ${until}`].filter(Boolean).join(" ");
  return `There is no ${what} with a seq ${range}`;
}
