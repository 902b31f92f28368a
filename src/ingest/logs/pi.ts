import { hasQuantity } from "../../pricing/mod.ts";
import { HOLES } from "./holes.ts";
import { defineImporter, type LineReader } from "./importer.ts";
import {
  countOf,
  type Fields,
  fieldsOf,
  modelOf,
  nameByCounts,
  parseRecord,
  recordsOf,
  textOf,
  timeOf,
  toolNames,
  usageWithCache,
  usdOf,
} from "./log_record.ts";
import { billedBy } from "./provider_ids.ts";

/** The header of a session. */
interface State {
  session?: string;
  folder?: string;
  /** The start of a session that begins with entries of another one. */
  forkedAt?: number;
}

/**
 * pi, and OMP and OpenClaw, which write its sessions: `<time>_<session>.jsonl`. Entries have ids of their own, which version 1 had
 * not, and which a fork copies: a call is named by its time, model and counts.
 *
 * Its records: packages/ai/src/types.ts and the document on sessions of pi-mono at 04693336, and recordings of 0.73.1.
 */
export default defineImporter({
  name: "pi",
  title: "pi",
  seen: "0.73.1",
  holes: HOLES["pi"],
  roots: ({ home, env }) => [
    `${env("PI_CODING_AGENT_DIR") ?? `${home}/.pi/agent`}/sessions`,
    `${home}/.omp/agent/sessions`,
    `${home}/.openclaw/agents`,
  ],
  kinds: [{
    has: (name) => name.endsWith(".jsonl"),
    read: {
      form: "lines",
      markers: ['"session"', '"assistant"'],
      open: (_file, state) => openSession(state),
    },
  }],
});

function openSession(before: unknown): LineReader {
  let state: State = { ...fieldsOf(before) };
  return {
    line(text, sink) {
      const record = parseRecord(text);
      const message = fieldsOf(record.message);
      if (record.type === "session") state = readHeader(record);
      if (record.type !== "message" || message.role !== "assistant") return;
      const usage = usageOfCounts(fieldsOf(message.usage));
      const isCut = message.stopReason === "aborted" || message.stopReason === "error";
      if (!hasQuantity(usage)) {
        // A request that was refused has no counts and no bill; messages of OpenClaw itself answer nothing.
        if (message.stopReason !== "error" && message.provider !== "openclaw") {
          sink.unmetered("an answer without counts");
        }
        return;
      }
      const at = timeOf(message.timestamp ?? record.timestamp);
      const model = textOf(message.model);
      const content = recordsOf(message.content);
      sink.call({
        ref: nameByCounts(at, model, usage),
        responseId: textOf(message.responseId),
        ...billedBy(textOf(message.provider)),
        ...modelOf(message.model),
        at,
        usage,
        // The counts of an answer that was stopped are those that the stream had named by then.
        quality: isCut ? "provisional" : "exact",
        statedCostUsd: usdOf(fieldsOf(fieldsOf(message.usage).cost).total),
        tools: toolNames(content.filter(({ type }) => type === "toolCall")),
        session: state.session,
        isCopy: (state.forkedAt !== undefined && at < state.forkedAt) || undefined,
        folder: state.folder,
      });
    },
    state: () => ({ ...state }),
  };
}

function readHeader(header: Fields): State {
  return {
    session: textOf(header.id),
    folder: textOf(header.cwd),
    forkedAt: textOf(header.parentSession) === undefined ? undefined : timeOf(header.timestamp),
  };
}

/** pi's counts are disjoint for every provider; reasoning, where it is told, is within the output. */
const usageOfCounts = (counts: Fields) =>
  usageWithCache({
    inputTokens: countOf(counts.input),
    outputTokens: countOf(counts.output),
    cacheReadTokens: countOf(counts.cacheRead),
    cacheWriteTokens: countOf(counts.cacheWrite),
    cacheWrite1hTokens: countOf(counts.cacheWrite1h),
    reasoningTokens: countOf(counts.reasoning),
  });
