import { hasQuantity, type Usage } from "../../pricing/mod.ts";
import { trackDeletedRequests } from "./deleted_requests.ts";
import type { LogFile, LogKind, LogSink, Machine, OtherFiles, ReaderState } from "./importer.ts";
import {
  countOf,
  type Fields,
  fieldsOf,
  messagesOf,
  modelOf,
  parseJson,
  parseRecord,
  readBeside,
  readEach,
  recordsOf,
  textOf,
  timeOf,
  usageWithCache,
  usdOf,
} from "./log_record.ts";
import { billedBy } from "./provider_ids.ts";

/*
 * The tasks of Cline's extension for VS Code and of those that began as copies of it: Roo Code and Kilo Code.
 *
 * Their records: src/shared/getApiMetrics.ts of cline at 02207ca5, packages/types/src/message.ts and
 * packages/core/src/message-utils/consolidateTokenUsage.ts of Roo Code.
 */

/** Returns the folders in which an extension keeps its data, for each editor that runs extensions of VS Code. */
export function editorFolders({ os, home, env }: Machine, extension: string): string[] {
  const settings = os === "darwin"
    ? `${home}/Library/Application Support`
    : os === "windows"
    ? env("APPDATA") ?? `${home}/AppData/Roaming`
    : env("XDG_CONFIG_HOME") ?? `${home}/.config`;
  return [
    ...EDITORS.map((editor) => `${settings}/${editor}/User/globalStorage/${extension}`),
    ...SERVERS.map((server) => `${home}/${server}/data/User/globalStorage/${extension}`),
  ];
}

const EDITORS = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];
/** The folders of an editor's server, which runs the extensions of a remote window. */
const SERVERS = [".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server"];

interface Context {
  others: OtherFiles | undefined;
  state: ReaderState | undefined;
}

/** The agents that write tasks. */
export type TaskAgent = "cline" | "roo" | "kilo";

/** Reads `tasks/<task>/ui_messages.json`. */
export function tasksKind(agent: TaskAgent): LogKind {
  return {
    has: (name) => /(?:^|\/)tasks\/[^/]+\/ui_messages\.json$/.test(name),
    read: {
      form: "whole",
      read: (text, file, sink, others, state) => readTask(agent, text, file, sink, { others, state }),
    },
  };
}

/** The messages with the sum of requests that were deleted. */
const DELETED = new Set(["deleted_api_reqs", "api_req_deleted"]);
/** All messages with counts or a cost. */
const COUNTED = new Set(["api_req_started", "condense_context", "subagent_usage", ...DELETED]);

/** A message of a task that has counts. */
interface Entry {
  message: Fields;
  at: number;
  request: Fields;
}

/**
 * Reads the requests of a task. Requests that the user has cancelled or deleted were billed: of the deleted ones their sum is
 * left. The requests of sub-agents are known by their sum alone (`subagent_usage`). The totals of `history_item.json` are sums
 * of what is read here.
 */
function readTask(
  agent: TaskAgent,
  text: string,
  file: LogFile,
  sink: LogSink,
  context: Context,
): ReaderState {
  const task = taskOf(file, context.others);
  const deleted = trackDeletedRequests(context.state);
  const entries: Entry[] = [];
  const messages = messagesOf(parseJson(text)).filter(({ type }) => type === "say");
  /** The last request that began. Older versions wrote its counts into a message of its end. */
  let started: Entry | undefined;
  readEach(messages, sink, (message) => {
    const say = textOf(message.say) ?? "";
    if (say === "api_req_finished" && started) {
      started.request = { ...started.request, ...requestOf(message) };
    }
    if (!COUNTED.has(say)) return;
    const request = say === "condense_context"
      ? { cost: fieldsOf(message.contextCondense).cost }
      : requestOf(message);
    const entry = { message, at: timeOf(message.ts), request };
    if (say === "api_req_started") started = entry;
    entries.push(entry);
  });
  for (const { at, request } of entries) deleted.add(at, request);
  readEach(entries, sink, ({ message, at, request }) => {
    if (message.say === "api_req_started") return tellRequest({ agent, task, message, at, request, sink });
    const counts = DELETED.has(String(message.say)) ? deleted.restOf(at, request) : request;
    const usage = usageOfRequest(agent, counts, undefined, at);
    const statedCostUsd = usdOf(counts.cost);
    if (!hasQuantity(usage) && statedCostUsd === undefined) return;
    const quality = hasQuantity(usage) ? "aggregate" : "cost_only";
    sink.call({ ...callOf(task, {}, at), usage, quality, statedCostUsd });
  });
  return deleted.state();
}

function tellRequest(
  { agent, task, message, at, request, sink }: Entry & { agent: TaskAgent; task: Task; sink: LogSink },
): void {
  const model = modelUsed(message, task);
  const usage = usageOfRequest(agent, request, model.id, at);
  const statedCostUsd = usdOf(request.cost);
  if (hasQuantity(usage) || statedCostUsd !== undefined) {
    const quality = !hasQuantity(usage) ? "cost_only" : request.cancelReason ? "provisional" : "exact";
    return sink.call({ ...callOf(task, model, at), usage, quality, statedCostUsd });
  }
  // A request without a cost or a reason for its end is still running.
  if (request.cost !== undefined || request.cancelReason) sink.unmetered("a request without counts");
}

/** Returns the counts of a request, which are JSON in the text of its message. */
function requestOf(message: Fields | undefined): Fields {
  return typeof message?.text === "string" && message.text !== "" ? parseRecord(message.text) : {};
}

interface Model {
  /** The extension's id of the provider. */
  id?: string;
  model?: string;
}

interface Task {
  id: string;
  /** The task that has begun the one of which this is a part. */
  root: string;
  parent: string | undefined;
  mode: string | undefined;
  folder: string | undefined;
  /** The changes of the model, in the order of time. */
  models: readonly (Model & { at: number })[];
}

/** Reads the files beside a task: `history_item.json` of Roo and Kilo, `task_metadata.json` of Cline. */
function taskOf({ name }: LogFile, others: OtherFiles | undefined): Task {
  const folder = name.slice(0, name.lastIndexOf("/") + 1);
  const id = folder.split("/").at(-2) ?? name;
  const item = readBeside(others, `${folder}history_item.json`);
  const models = recordsOf(readBeside(others, `${folder}task_metadata.json`).model_usage);
  return {
    id,
    root: textOf(item.rootTaskId) ?? id,
    parent: textOf(item.parentTaskId),
    mode: textOf(item.mode),
    folder: textOf(item.workspace),
    models: models.map(({ ts, model_id, model_provider_id }) => ({
      at: typeof ts === "number" ? ts : 0,
      id: textOf(model_provider_id),
      model: textOf(model_id),
    })),
  };
}

/** Returns the model of a request, which newer versions of Cline write to its message; Roo and Kilo don't record it. */
function modelUsed(message: Fields, task: Task): Model {
  const info = fieldsOf(message.modelInfo);
  if (info.modelId !== undefined) return { id: textOf(info.providerId), model: textOf(info.modelId) };
  return task.models.findLast(({ at }) => at <= timeOf(message.ts)) ?? task.models[0] ?? {};
}

/** Returns what is known of a request but its counts. */
function callOf(task: Task, { id, model }: Model, at: number) {
  return {
    ref: `${task.id}:${at}`,
    // The extensions' provider `openai` is any server with OpenAI's protocol.
    ...billedBy(id === "openai" ? "openai-compatible" : id),
    ...modelOf(model),
    at,
    session: task.root,
    subagent: task.root === task.id ? undefined : {
      id: task.id,
      parent: task.parent === task.root ? undefined : task.parent,
      type: task.mode,
    },
    folder: task.folder,
  };
}

/** From these times on, `tokensIn` is the whole input: Roo Code 3.29.5 (RooCodeInc/Roo-Code#8954) and Kilo Code 4.119.0. */
const WHOLE_INPUT_SINCE = {
  roo: Date.parse("2025-11-01T00:00:00Z"),
  kilo: Date.parse("2025-11-12T00:00:00Z"),
};

/** The providers for which Cline passes on the whole input of OpenAI's protocol; for all others it is without the cached tokens. */
const WHOLE_INPUT_IN_CLINE = new Set([
  "doubao",
  "fireworks",
  "hicap",
  "litellm",
  "lmstudio",
  "openai",
  "qwen",
  "xai",
  "zai",
]);

function usageOfRequest(agent: TaskAgent, request: Fields, provider: string | undefined, at: number): Usage {
  const isWhole = agent === "cline"
    ? provider !== undefined && WHOLE_INPUT_IN_CLINE.has(provider)
    : request.apiProtocol !== "anthropic" || at >= WHOLE_INPUT_SINCE[agent];
  return usageWithCache({
    inputTokens: countOf(request.tokensIn),
    outputTokens: countOf(request.tokensOut),
    cacheReadTokens: countOf(request.cacheReads),
    cacheWriteTokens: countOf(request.cacheWrites),
  }, isWhole);
}
