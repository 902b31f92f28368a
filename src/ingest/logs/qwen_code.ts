import type { Sighting } from "../../calls/mod.ts";
import { hasQuantity, type Usage } from "../../pricing/mod.ts";
import { HOLES } from "./holes.ts";
import { defineImporter, type LineReader, type LogSink } from "./importer.ts";
import {
  countOf,
  type Fields,
  fieldsOf,
  modelOf,
  nameByCounts,
  parseRecord,
  textOf,
  timeOf,
  usageFrom,
} from "./log_record.ts";
import { billedBy } from "./provider_ids.ts";

/** The facts that the next import of a file goes on with. */
interface State {
  /** True if the file has events of calls: its messages repeat them. */
  hasEvents?: boolean;
  /** The last event of a call, if it has no counts. */
  uncounted?: Fields;
}

/**
 * Qwen Code: `projects/<project>/chats/<session>.jsonl`. Each call is written twice: as an event (`ui_telemetry`), with the id of
 * its response, and as a message. The events have the calls of sub-agents too, whose messages lie in files of their own
 * (`subagents/`), which are not read. `usage_record.jsonl` has sums of sessions; `usage/token-usage-<month>.jsonl`, of some
 * versions, repeats the events without the ids.
 *
 * Its records: packages/core/src/telemetry/types.ts and services/chatRecordingService.ts of qwen-code at 015346f1 and 086d8138, and
 * recordings of 0.24.4.
 */
export default defineImporter({
  name: "qwen-code",
  title: "Qwen Code",
  seen: "0.24.4",
  holes: HOLES["qwen-code"],
  roots: ({ home, env }) => [`${env("QWEN_RUNTIME_DIR") ?? env("QWEN_HOME") ?? `${home}/.qwen`}`],
  kinds: [{
    has: (name) => /(?:^|\/)chats\/(?!session-)[^/]+\.jsonl$/.test(name),
    read: {
      form: "lines",
      markers: ["api_response", '"usageMetadata"'],
      open: (_file, state) => openChat(state),
    },
  }],
});

function openChat(before: unknown): LineReader {
  const state: State = { ...fieldsOf(before) };
  return {
    line(text, sink) {
      const record = parseRecord(text);
      const event = fieldsOf(fieldsOf(record.systemPayload).uiEvent);
      if (event["event.name"] === "qwen-code.api_response") readEvent(record, event, state, sink);
      else if (record.type === "assistant" && record.usageMetadata) readMessage(record, state, sink);
    },
    state: () => ({ ...state }),
  };
}

function readEvent(record: Fields, event: Fields, state: State, sink: LogSink): void {
  state.hasEvents = true;
  if (state.uncounted) sink.unmetered("an answer without counts");
  state.uncounted = undefined;
  const usage = usageOfCounts({
    prompt: countOf(event.input_token_count),
    candidates: countOf(event.output_token_count),
    thoughts: countOf(event.thoughts_token_count),
    toolPrompts: countOf(event.tool_token_count),
    total: countOf(event.total_token_count),
    cached: countOf(event.cached_content_token_count),
  });
  if (hasQuantity(usage)) sink.call(callOf(record, event, usage));
  else state.uncounted = { ...record, message: undefined };
}

/** Reads a message where no event has its counts: before a file's first event, or after an event without counts. */
function readMessage(record: Fields, state: State, sink: LogSink): void {
  if (state.hasEvents && !state.uncounted) return;
  const counts = fieldsOf(record.usageMetadata);
  const usage = usageOfCounts({
    prompt: countOf(counts.promptTokenCount),
    candidates: countOf(counts.candidatesTokenCount),
    thoughts: countOf(counts.thoughtsTokenCount),
    toolPrompts: countOf(counts.toolUsePromptTokenCount),
    total: countOf(counts.totalTokenCount),
    cached: countOf(counts.cachedContentTokenCount),
  });
  if (!hasQuantity(usage)) return sink.unmetered("an answer without counts");
  const event = fieldsOf(fieldsOf(fieldsOf(state.uncounted).systemPayload).uiEvent);
  sink.call(callOf(state.uncounted ?? record, { model: record.model, ...event }, usage));
  state.uncounted = undefined;
}

function callOf(record: Fields, event: Fields, usage: Usage): Sighting {
  const model = textOf(event.model);
  const answeredAt = timeOf(event["event.timestamp"] ?? record.timestamp);
  const durationMs = countOf(event.duration_ms);
  return {
    ref: nameByCounts(answeredAt, model, usage),
    responseId: textOf(event.response_id),
    ...billedBy(loginOf(textOf(event.auth_type))),
    ...modelOf(event.model),
    at: answeredAt - durationMs,
    durationMs: durationMs || undefined,
    usage,
    quality: "exact",
    session: textOf(record.sessionId),
    subagent: subagentOf(event),
    folder: textOf(record.cwd),
    branch: textOf(record.gitBranch),
  };
}

/** The id of a prompt is `<session>########<number>`, in a sub-agent `<session>#<its id>#<number>`. */
function subagentOf(event: Fields): Sighting["subagent"] {
  const type = textOf(event.subagent_name);
  const id = /#([^#]+)#\d+$/.exec(textOf(event.prompt_id) ?? "")?.[1] ?? type;
  return id === undefined ? undefined : { id, type };
}

/** The login `openai` is that of any server with OpenAI's protocol. */
function loginOf(authType: string | undefined): string | undefined {
  return authType === "openai" ? "openai-compatible" : authType;
}

interface Counts {
  prompt: number;
  candidates: number;
  thoughts: number;
  toolPrompts: number;
  total: number;
  cached: number;
}

/**
 * The thoughts are within the candidates for a server with OpenAI's protocol, and beside them for Gemini's: the total tells. Without
 * one that fits, they are within where they can be.
 */
function usageOfCounts(
  { prompt, candidates, thoughts, toolPrompts, total, cached }: Counts,
): Usage {
  const inputTokens = prompt + toolPrompts;
  const isWithin = inputTokens + candidates === total ||
    (inputTokens + candidates + thoughts !== total && thoughts <= candidates);
  return usageFrom({
    inputTokens,
    outputTokens: isWithin ? candidates : candidates + thoughts,
    cacheReadTokens: cached,
    reasoningTokens: thoughts,
  });
}
