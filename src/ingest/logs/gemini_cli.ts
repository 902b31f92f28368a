import type { Sighting } from "../../calls/mod.ts";
import { hasQuantity } from "../../pricing/mod.ts";
import { HOLES } from "./holes.ts";
import { defineImporter, type LineReader, type LogFile, type LogSink, type OtherFiles } from "./importer.ts";
import {
  countOf,
  type Fields,
  fieldsOf,
  messagesOf,
  modelOf,
  parseRecord,
  readEach,
  recordsOf,
  textOf,
  timeOf,
  toolNames,
  usageFrom,
} from "./log_record.ts";

/** The session of the messages that follow, and the last answer, whose record may come again with more of it. */
interface State {
  session?: string;
  folder?: string;
  held?: Answer;
}

interface Answer {
  id: string;
  /** Undefined without counts. */
  call?: Sighting;
  isTold?: boolean;
}

/** `<project>/chats/session-<time>-<id>.jsonl`; of a sub-agent `<project>/chats/<session of its parent>/<its session>.jsonl`. */
const LINES = /(?:^|\/)chats\/(?:session-[^/]+|[^/]+\/[^/]+)\.jsonl$/;
/** Older versions wrote one document per session. It stays beside the lines into which a newer version has copied it. */
const DOCUMENT = /(?:^|\/)chats\/session-[^/]+\.json$/;

/**
 * Gemini CLI: `chats/` of each project. An answer is written again under its id when its counts or the results of its tools are
 * known: the last record counts. Answers that a rewind or a compression has taken out of the conversation were billed.
 *
 * Its records: packages/core/src/services/chatRecordingTypes.ts of gemini-cli at 016443b5, and recordings of 0.61.0.
 */
export default defineImporter({
  name: "gemini-cli",
  title: "Gemini CLI",
  seen: "0.61.0",
  holes: HOLES["gemini-cli"],
  roots: ({ home, env }) => [`${env("GEMINI_CLI_HOME") ?? home}/.gemini/tmp`],
  kinds: [
    {
      has: (name) => LINES.test(name),
      read: { form: "lines", markers: ['"gemini"', '"projectHash"'], open: openChat },
    },
    {
      has: (name) => DOCUMENT.test(name),
      read: {
        form: "whole",
        read(text, file, sink, others) {
          const document = parseRecord(text);
          const state: State = { session: textOf(document.sessionId), folder: folderOf(file, others) };
          readEach(messagesOf(document.messages), sink, (message) => hold(message, file, state, sink));
          release(state, sink);
        },
      },
    },
  ],
});

function openChat(file: LogFile, before: unknown, others: OtherFiles): LineReader {
  const state: State = { ...fieldsOf(before) };
  return {
    line(text, sink) {
      // A change of the session's data, which may repeat all messages, without their counts.
      if (text.startsWith('{"$set"')) return;
      const record = parseRecord(text);
      if (record.projectHash !== undefined) {
        state.session = textOf(record.sessionId) ?? state.session;
        state.folder = textOf(Array.isArray(record.directories) ? record.directories[0] : undefined) ??
          state.folder;
        return;
      }
      state.folder ??= folderOf(file, others);
      hold(record, file, state, sink);
    },
    end: (sink) => state.held?.call && tell(state.held, sink),
    state: () => ({ ...state }),
  };
}

/** Holds an answer until the next one, as its record is written again with its counts, and with the results of its tools. */
function hold(message: Fields, file: LogFile, state: State, sink: LogSink): void {
  const answer = readAnswer(message, file, state);
  if (answer === undefined) return;
  if (state.held?.id === answer.id) answer.call ??= state.held.call;
  else release(state, sink);
  state.held = answer;
}

function release({ held }: State, sink: LogSink): void {
  if (held?.call) tell(held, sink);
  else if (held) sink.unmetered("an answer without counts");
}

function tell(answer: Answer, sink: LogSink): void {
  if (!answer.isTold) sink.call(answer.call!);
  answer.isTold = true;
}

function readAnswer(message: Fields, file: LogFile, state: State): Answer | undefined {
  const id = textOf(message.id);
  if (message.type !== "gemini" || id === undefined) return undefined;
  const usage = usageOfTokens(fieldsOf(message.tokens));
  if (!hasQuantity(usage)) {
    // Messages without a model are summaries that Gemini CLI has put into the history itself.
    return message.model === undefined ? undefined : { id };
  }
  const { session, subagent } = sessionOf(file, state);
  const call: Sighting = {
    ref: `${subagent?.id ?? session}:${id}`,
    provider: "google",
    ...modelOf(message.model),
    at: timeOf(message.timestamp),
    usage,
    quality: "exact",
    tools: toolNames(recordsOf(message.toolCalls)),
    session,
    subagent,
    folder: state.folder,
  };
  return { id, call };
}

/** Gemini's counts: thoughts are beside the output, prompts of tools beside the input, and the input has the cached tokens. */
function usageOfTokens(tokens: Fields): Sighting["usage"] {
  const thoughts = countOf(tokens.thoughts);
  return usageFrom({
    inputTokens: countOf(tokens.input) + countOf(tokens.tool),
    outputTokens: countOf(tokens.output) + thoughts,
    cacheReadTokens: countOf(tokens.cached),
    reasoningTokens: thoughts,
  });
}

/** Returns the session of a file; that of a sub-agent lies in a folder with the session of its parent. */
function sessionOf({ name }: LogFile, state: State): { session: string; subagent?: { id: string } } {
  const [, parent, stem = name] = /(?:^|\/)chats\/(?:([^/]+)\/)?([^/]+)\.jsonl?$/.exec(name) ?? [];
  const own = state.session ?? stem;
  return parent === undefined ? { session: own } : { session: parent, subagent: { id: own } };
}

/** Returns the folder of a project, from the file beside its chats that names it. */
function folderOf({ name }: LogFile, others: OtherFiles | undefined): string | undefined {
  return textOf(others?.text(`${name.slice(0, name.lastIndexOf("chats/"))}.project_root`)?.trim());
}
