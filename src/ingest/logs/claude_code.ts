import type { Sighting } from "../../calls/mod.ts";
import { hasQuantity, type Usage } from "../../pricing/mod.ts";
import { usageFromRaw } from "../../pricing/usage/mod.ts";
import { HOLES } from "./holes.ts";
import {
  defineImporter,
  type LineReader,
  type LogFile,
  type LogSink,
  type Machine,
  type OtherFiles,
  type ReaderState,
} from "./importer.ts";
import {
  countOf,
  type Fields,
  fieldsOf,
  parseRecord,
  recordsOf,
  textOf,
  timeOf,
  usdOf,
} from "./log_record.ts";

/**
 * The logs of Claude Code: one file for a session and one for each of its sub-agents, with a line for each block of an answer.
 * The folders are in its documentation ("Explore the .claude directory"); the format is internal to it.
 */
export default defineImporter({
  name: "claude-code",
  title: "Claude Code",
  seen: "2.1.332",
  holes: HOLES["claude-code"],
  roots,
  kinds: [{
    has: (name) => name.endsWith(".jsonl"),
    read: { form: "lines", markers: ['"usage"', '"compact_boundary"', '"searchCount"'], open },
  }],
});

/** Claude Code's own folders, and those of the agent mode of Claude Desktop. */
function roots({ os, home, env }: Machine): string[] {
  const config = env("XDG_CONFIG_HOME") ?? `${home}/.config`;
  const set = env("CLAUDE_CONFIG_DIR")?.split(",").map((path) => path.trim()).filter(Boolean);
  const desktop = {
    linux: [config],
    darwin: [`${home}/Library/Application Support`],
    windows: [env("APPDATA") ?? `${home}/AppData/Roaming`],
  }[os];
  return [
    ...(set ?? [`${home}/.claude`, `${config}/claude`]).map((folder) => `${folder}/projects`),
    ...desktop.map((folder) => `${folder}/Claude/local-agent-mode-sessions`),
  ];
}

/** The most calls whose lines may alternate: those of sub-agents that older versions log in the file of their session. */
const MAX_HELD = 16;

/** The most calls that the state keeps although they were told. */
const MAX_KEPT = 4;

/** A call whose further lines may follow. */
interface Held {
  call: Sighting;
  /** The attempts that were declined before it. */
  declined: Sighting[];
  isSidechain: boolean;
  /** True if as much of it was told. */
  isTold: boolean;
}

interface State {
  /** By message, the oldest first. */
  held: [string, Held][];
  /** The file of the sub-agent's description; undefined until it is read. */
  agent?: { type?: string; parent?: string };
}

function open(file: LogFile, state: ReaderState | undefined, others: OtherFiles): LineReader {
  const { held: before, agent: known } = (state ?? { held: [] }) as State;
  const held = new Map(before);
  let agent = known;

  /** Reads the file beside the log of a sub-agent, which has its kind and the agent that has started it. */
  function describeAgent(): NonNullable<State["agent"]> {
    if (agent) return agent;
    try {
      const meta = parseRecord(others.text(file.name.replace(/\.jsonl$/, ".meta.json")) ?? "{}");
      return agent = { type: textOf(meta.agentType), parent: textOf(meta.parentAgentId) };
    } catch {
      // It is being written: the next call asks again.
      return {};
    }
  }

  return {
    line(text, sink) {
      const record = parseRecord(text);
      if (record.type !== "assistant") return reportHidden(record, sink);
      const message = fieldsOf(record.message);
      if (message.model === "<synthetic>" || record.isApiErrorMessage === true) return;
      const usage = readUsage(message.usage);
      if (usage === undefined) return sink.unmetered("an answer without its token counts");
      if (!hasQuantity(usage)) return;
      const key = keyOf(record, message, usage);
      const call = readCall(record, message, usage, key);
      if (record.isSidechain === true || record.agentId !== undefined) {
        call.subagent = readSubagent(record, file, describeAgent);
      }
      const one = {
        call,
        declined: readDeclined(call, message),
        isSidechain: record.isSidechain === true,
        isTold: false,
      };
      const first = held.get(key);
      held.set(key, first ? merge(first, one) : one);
      if (held.size > MAX_HELD) {
        const [oldest, done] = held.entries().next().value!;
        held.delete(oldest);
        tell(done, sink);
      }
    },
    end(sink) {
      for (const one of held.values()) tell(one, sink);
    },
    state: () => ({
      held: [...held].filter(([, { isTold }], index) => !isTold || index >= held.size - MAX_KEPT),
      agent: agent?.type === undefined ? undefined : agent,
    } satisfies State),
  };
}

function tell(held: Held, sink: LogSink): void {
  if (held.isTold) return;
  held.isTold = true;
  sink.call(held.call);
  for (const attempt of held.declined) sink.call(attempt);
}

/** Adds a further line of a call: the one with more output has the counts, the first one the time. */
function merge(first: Held, next: Held): Held {
  const isBetter = first.isSidechain === next.isSidechain
    ? next.call.usage.outputTokens > first.call.usage.outputTokens ||
      (next.call.usage.outputTokens === first.call.usage.outputTokens && next.call.quality === "exact" &&
        first.call.quality !== "exact")
    // A side question repeats the answer before it, with other counts of the cache.
    : first.isSidechain;
  const tools = [...new Set([...first.call.tools ?? [], ...next.call.tools ?? []])];
  const best = isBetter ? next : first;
  const call = {
    ...best.call,
    requestId: best.call.requestId ?? first.call.requestId ?? next.call.requestId,
    at: Math.min(first.call.at, next.call.at),
    ...(tools.length > 0 && { tools }),
  };
  const isTold = first.isTold && JSON.stringify(call) === JSON.stringify(first.call);
  return { ...best, call, isTold };
}

/** The calls that leave only a trace. */
function reportHidden(record: Fields, sink: LogSink): void {
  if (isCopied(record)) return;
  if (record.subtype === "compact_boundary") sink.unmetered("a compaction");
  if (typeof fieldsOf(record.toolUseResult).searchCount === "number") sink.unmetered("a web search");
}

const isCopied = (record: Fields) => record.forkedFrom != null || ownerOf(record) !== undefined;

/** The session that has made the call, in the file of a fork. */
function ownerOf({ requestSessionId, sessionId }: Fields): string | undefined {
  return requestSessionId === sessionId ? undefined : textOf(requestSessionId);
}

/** An id of this length is unique; a shorter one, of a proxy or a local server, may be that of all of its answers. */
const MIN_ID_LENGTH = 16;

/** The name of a call, the same in all of its lines and copies: the id of its message. The id of its request is not always there. */
function keyOf(record: Fields, message: Fields, usage: Usage): string {
  const id = textOf(message.id);
  if (id !== undefined && id.length >= MIN_ID_LENGTH) return id;
  const counts = [usage.inputTokens, usage.cacheReadTokens, usage.cacheWriteTokens].join(":");
  return `${id ?? textOf(record.requestId) ?? timeOf(record.timestamp)}:${counts}`;
}

function readCall(record: Fields, message: Fields, usage: Usage, key: string): Sighting {
  const counts = fieldsOf(message.usage);
  const id = textOf(message.id);
  const model = textOf(message.model);
  const copied = fieldsOf(record.forkedFrom);
  return {
    ref: key,
    responseId: id,
    requestId: textOf(record.requestId),
    provider: id && providerOf(id),
    model,
    at: timeOf(record.timestamp),
    usage,
    // An answer that goes on has the counts of its beginning.
    quality: message.stop_reason == null ? "provisional" : "exact",
    marks: model === undefined ? ["model_missing"] : undefined,
    serviceTier: textOf(counts.service_tier),
    speed: textOf(counts.speed),
    inferenceGeo: textOf(counts.inference_geo),
    tools: toolsOf(message.content),
    statedCostUsd: usdOf(record.costUSD),
    session: ownerOf(record) ?? textOf(copied.sessionId) ?? textOf(record.sessionId),
    isCopy: isCopied(record) || undefined,
    folder: textOf(record.cwd),
    branch: textOf(record.gitBranch),
  };
}

/**
 * The provider that a form of the id tells. Others may be Anthropic's own, or those of anyone who passes its answers on.
 */
function providerOf(id: string): string | undefined {
  return id.startsWith("msg_bdrk_") ? "bedrock" : id.startsWith("msg_vrtx_") ? "vertex" : undefined;
}

function readSubagent(
  record: Fields,
  file: LogFile,
  describe: () => NonNullable<State["agent"]>,
): Sighting["subagent"] {
  const named = /(?:^|\/)agent-([^/]+)\.jsonl$/.exec(file.name)?.[1];
  const id = textOf(record.agentId) ?? named;
  if (id === undefined) return undefined;
  const { type, parent } = id === named ? describe() : {};
  return { id, parent, type: textOf(record.attributionAgent) ?? type };
}

/**
 * Reads the usage as the gateway reads that of the same answer, so that both witnesses say the same: with the passes of compactions,
 * and those of advisors as parts of other models. Undefined without any. Throws if its counts contradict each other.
 */
function readUsage(raw: unknown): Usage | undefined {
  const counts = fieldsOf(raw);
  if (counts.input_tokens == null && counts.output_tokens == null) return undefined;
  countOf(counts.cache_read_input_tokens);
  countOf(counts.cache_creation_input_tokens);
  const usage = usageFromRaw("anthropic", counts);
  if (usage === undefined) throw new Error("its token counts contradict each other");
  return usage;
}

/**
 * The attempts of another model that were declined after output, before the one that has answered. The totals leave them out;
 * whether they are billed is disputed.
 */
function readDeclined(call: Sighting, message: Fields): Sighting[] {
  const passes = recordsOf(fieldsOf(message.usage).iterations);
  if (!passes.some(({ type }) => type === "fallback_message")) return [];
  return passes.filter(({ type }) => type === "message").flatMap((pass, index): Sighting[] => {
    const usage = usageFromRaw("anthropic", { ...pass, iterations: undefined });
    if (usage === undefined || usage.outputTokens === 0) return [];
    const model = textOf(pass.model);
    const { requestId: _, statedCostUsd: __, tools: ___, ...shared } = call;
    return [{
      ...shared,
      ref: `${call.ref}#declined:${index}`,
      responseId: call.responseId && `${call.responseId}#declined:${index}`,
      model,
      usage,
      marks: ["disputed", ...(model === undefined ? ["model_missing"] : [])],
    }];
  });
}

function toolsOf(content: unknown): string[] | undefined {
  const names = recordsOf(content).filter(({ type }) => type === "tool_use").flatMap(({ name }) =>
    textOf(name) ?? []
  );
  return names.length > 0 ? [...new Set(names)] : undefined;
}
