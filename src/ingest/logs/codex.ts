import type { Sighting } from "../../calls/mod.ts";
import { readCodexWindows } from "../../plans/sources/mod.ts";
import { HOLES } from "./holes.ts";
import {
  defineImporter,
  type LineReader,
  type LogFile,
  type LogSink,
  type OtherFiles,
  type ReaderState,
} from "./importer.ts";
import {
  advance,
  type Counts,
  countsOf,
  isNothing,
  NOTHING,
  sameCounts,
  type Totals,
  usageOfCounts,
} from "./codex_totals.ts";
import { type Fields, fieldsOf, parseRecord, textOf, timeOf } from "./log_record.ts";

const MARKERS = [
  '"session_meta"',
  '"turn_context"',
  '"task_started"',
  '"token_count"',
  '"token_usage_record"',
  '"compacted"',
];

/**
 * The rollouts of Codex CLI: one file for each thread, with a `token_usage_record` for each answer. Older versions have only
 * `token_count` events with the sums of the thread. https://github.com/openai/codex, codex-rs/protocol/src/protocol.rs.
 */
export default defineImporter({
  name: "codex",
  title: "Codex",
  seen: "0.171.0",
  holes: HOLES["codex"],
  roots: ({ home, env }) => {
    const folder = env("CODEX_HOME") ?? `${home}/.codex`;
    return [`${folder}/sessions`, `${folder}/archived_sessions`];
  },
  kinds: [
    { has: (name) => ROLLOUT.test(name), read: { form: "lines", markers: MARKERS, open } },
    {
      has: (name) => COMPRESSED.test(name),
      read: { form: "lines", markers: MARKERS, compressed: "zstd", open },
    },
  ],
});

const ROLLOUT = /(?:^|\/)rollout-[^/]*\.jsonl$/;
const COMPRESSED = /(?:^|\/)rollout-[^/]*\.jsonl\.zst$/;

/** A turn: the calls from one prompt to its answer. */
interface Turn {
  id?: string;
  /** True once it has a record of usage: then only records are calls. */
  hasRecord: boolean;
  /** Calls by the difference of sums, as long as it has no record. */
  held: Sighting[];
  compactions: number;
}

interface State {
  thread?: string;
  session?: string;
  subagent?: Sighting["subagent"];
  provider?: string;
  isPlan?: true;
  model?: string;
  folder?: string;
  branch?: string;
  turn: Turn;
  /** A call by its record, until the entry after it, which has the plan. */
  recorded?: Sighting;
  totals: Totals;
  /** The sums of the thread at its last record. */
  recordedSums?: Counts;
  /** Of a fork, until its first own call: the history that it may repeat. */
  fork?: {
    parent: string;
    startedAt: number;
    /** The number of the parent's sums that it has repeated. */
    repeated: number;
  };
  isParentMissing?: true;
}

/**
 * Purser's names of providers that bill, by those of Codex. Another one is a name of the user's own config, such as that of a
 * gateway: who bills isn't known.
 */
const PROVIDERS: Readonly<Record<string, string>> = {
  "amazon-bedrock": "bedrock",
  azure: "azure",
  deepseek: "deepseek",
  groq: "groq",
  lmstudio: "lmstudio",
  mistral: "mistral",
  ollama: "ollama",
  openai: "openai",
  openrouter: "openrouter",
  xai: "xai",
};

const newTurn = (id?: string): Turn => ({ id, hasRecord: false, held: [], compactions: 0 });

/** The most calls by the difference of sums that wait for a record in their turn. */
const MAX_HELD = 64;

function open(file: LogFile, before: ReaderState | undefined, others: OtherFiles): LineReader {
  const state = (before ?? { turn: newTurn(), totals: { last: NOTHING, epoch: 0 } }) as State;
  let parentSums: Counts[] | undefined;

  function startTurn(id: string | undefined, sink: LogSink): void {
    if (id !== undefined && id === state.turn.id) return;
    endTurn(sink);
    state.turn = newTurn(id);
  }

  function endTurn(sink: LogSink): void {
    tellRecorded(sink);
    for (const call of state.turn.held.splice(0)) sink.call(call);
    if (state.turn.hasRecord) return;
    for (; state.turn.compactions > 0; state.turn.compactions--) sink.unmetered("a compaction");
  }

  function tellRecorded(sink: LogSink): void {
    if (state.recorded) sink.call(state.recorded);
    state.recorded = undefined;
  }

  /** Names the thread of a log whose head can't be read. */
  function setThread(): void {
    state.thread ??= threadIn(file);
    state.session ??= state.thread;
  }

  /** The name of a call by the sums of its thread after it: that of its record, and of the sums themselves. */
  function nameOf(sums: Counts): string {
    const { epoch } = state.totals;
    return `${state.thread}:${sums.join("-")}${epoch > 0 ? `:${epoch}` : ""}`;
  }

  function callOf(at: number, usage: Counts): Omit<Sighting, "ref" | "quality"> {
    const marks = [
      ...state.model === undefined ? ["model_missing"] : [],
      ...state.isParentMissing ? ["fork_parent_missing"] : [],
    ];
    return {
      provider: state.provider,
      model: state.model,
      at,
      usage: usageOfCounts(usage),
      marks: marks.length > 0 ? marks : undefined,
      isPlan: state.isPlan,
      // Its telemetry has no ids.
      isFoundByCounts: true,
      session: state.session,
      subagent: state.subagent,
      folder: state.folder,
      branch: state.branch,
    };
  }

  function readRecord(record: Fields, at: number, sink: LogSink): void {
    // A fork may have copied the records of its parent, whose calls they are.
    if (record.thread_id !== undefined && record.thread_id !== state.thread) return;
    if (textOf(record.turn_id) !== undefined) startTurn(textOf(record.turn_id), sink);
    tellRecorded(sink);
    state.turn.hasRecord = true;
    state.turn.held = [];
    if (record.usage == null) return sink.unmetered("an answer without its token counts");
    const usage = countsOf(fieldsOf(record.usage));
    const sums = record.thread_token_usage == null
      ? undefined
      : countsOf(fieldsOf(record.thread_token_usage));
    // The sums may leave a compaction out: then they don't name it.
    const fingerprint = sums && !sameCounts(sums, state.recordedSums ?? NOTHING) ? nameOf(sums) : undefined;
    if (sums) state.totals.last = state.recordedSums = sums;
    if (isNothing(usage)) return;
    const responseId = textOf(record.response_id);
    const ref = responseId ?? fingerprint ?? `${state.thread}:${at}:${usage.join("-")}`;
    state.recorded = { ...callOf(at, usage), ref, responseId, fingerprint, quality: "exact" };
  }

  function readSums(payload: Fields, at: number, sink: LogSink): void {
    // The history that a fork has copied is written again with the time of the fork.
    if (!state.fork || state.turn.hasRecord) sink.plan(readCodexWindows(payload.rate_limits, at));
    // An API key has no plan.
    const plan = textOf(fieldsOf(payload.rate_limits).plan_type);
    if (plan !== undefined) state.isPlan = true;
    if (state.recorded && plan !== undefined) state.recorded.isPlan = true;
    tellRecorded(sink);
    const info = fieldsOf(payload.info);
    if (info.total_token_usage == null) return;
    const sums = countsOf(fieldsOf(info.total_token_usage));
    if (state.turn.hasRecord || isRepeated(sums, at)) {
      state.totals.last = sums;
      return;
    }
    const isStart = state.fork !== undefined && isNothing(state.totals.last);
    const { totals, used } = advance(state.totals, sums, countsOf(fieldsOf(info.last_token_usage)), isStart);
    state.totals = totals;
    state.fork = undefined;
    if (isNothing(used)) return;
    const ref = nameOf(sums);
    state.turn.held.push({ ...callOf(at, used), ref, fingerprint: ref, quality: "derived" });
    if (state.turn.held.length > MAX_HELD) sink.call(state.turn.held.shift()!);
  }

  /**
   * Returns whether sums are a part of the history that a fork has copied: those of its parent in their order; or, if the log of
   * the parent is gone, those written in the second in which the fork began.
   */
  function isRepeated(sums: Counts, at: number): boolean {
    const { fork } = state;
    if (fork === undefined) return false;
    parentSums ??= readSumsOf(fork.parent, others);
    if (parentSums === undefined) {
      state.isParentMissing = true;
      return Math.floor(at / 1000) === Math.floor(fork.startedAt / 1000);
    }
    if (fork.repeated > 0 && sameCounts(sums, parentSums[fork.repeated - 1]!)) return true;
    const next = parentSums.findIndex((one, index) => index >= fork.repeated && sameCounts(one, sums));
    if (next !== -1) fork.repeated = next + 1;
    return next !== -1;
  }

  return {
    line(text, sink) {
      const record = parseRecord(text);
      const payload = fieldsOf(record.payload);
      switch (record.type) {
        case "session_meta":
          return readMeta(state, payload, file, record.timestamp);
        case "turn_context":
          state.model = textOf(payload.model) ?? state.model;
          state.folder = textOf(payload.cwd) ?? state.folder;
          if (textOf(payload.turn_id) !== undefined) startTurn(textOf(payload.turn_id), sink);
          return;
        case "token_usage_record":
          setThread();
          return readRecord(payload, timeOf(record.timestamp), sink);
        case "compacted":
          if (state.fork === undefined && payload.compaction_response_id == null) state.turn.compactions++;
          return;
        case "event_msg":
          if (payload.type === "task_started") startTurn(textOf(payload.turn_id), sink);
          if (payload.type !== "token_count") return;
          setThread();
          readSums(payload, timeOf(record.timestamp), sink);
      }
    },
    end: endTurn,
    state: () => state,
  };
}

/** Reads the head of a file. The heads after the first one are those of the threads that it has copied. */
function readMeta(state: State, meta: Fields, file: LogFile, time: unknown): void {
  const id = textOf(meta.id) ?? threadIn(file);
  const spawn = fieldsOf(fieldsOf(fieldsOf(meta.source).subagent).thread_spawn);
  const parent = textOf(meta.parent_thread_id) ?? textOf(spawn.parent_thread_id);
  const session = textOf(meta.session_id) ?? parent ?? id;
  if (state.thread === undefined) {
    state.thread = id;
    state.session = session;
    const provider = textOf(meta.model_provider)?.toLowerCase() ?? "";
    state.provider = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
    const { subagent } = fieldsOf(meta.source);
    if (parent !== undefined || subagent !== undefined) {
      const type = textOf(meta.agent_role) ?? textOf(spawn.agent_role) ?? textOf(subagent);
      state.subagent = { id, parent: parent === session ? undefined : parent, type };
    }
    const origin = textOf(meta.forked_from_id);
    if (origin !== undefined) state.fork = { parent: origin, startedAt: timeOf(time), repeated: 0 };
  } else if (id !== state.thread) {
    // The parent of an agent, which may be an agent itself.
    if (id === state.session && session !== id && state.subagent) {
      state.subagent.parent = id;
      state.session = session;
    }
    return;
  }
  state.folder = textOf(meta.cwd) ?? state.folder;
  state.branch = textOf(fieldsOf(meta.git).branch) ?? state.branch;
}

/** The thread in the name of its file. */
const threadIn = ({ name }: LogFile) => /([0-9a-f-]{36})\.jsonl(?:\.zst)?$/.exec(name)?.[1] ?? name;

/** Reads the sums of a thread, each once; undefined if its log is gone. */
function readSumsOf(thread: string, others: OtherFiles): Counts[] | undefined {
  const find = (name: RegExp) =>
    others.lines((log) => name.test(log) && log.includes(thread), ['"token_count"']);
  const plain = find(ROLLOUT);
  const lines = plain ?? find(COMPRESSED);
  if (lines === undefined) return undefined;
  const all: Counts[] = [];
  for (const line of lines) {
    try {
      const { total_token_usage: total } = fieldsOf(fieldsOf(parseRecord(line).payload).info);
      if (total == null) continue;
      const sums = countsOf(fieldsOf(total));
      if (all.length === 0 || !sameCounts(all.at(-1)!, sums)) all.push(sums);
    } catch {
      // It is counted where that log is read.
    }
  }
  // A compressed log may be one that this platform can't read.
  return plain === undefined && all.length === 0 ? undefined : all;
}
