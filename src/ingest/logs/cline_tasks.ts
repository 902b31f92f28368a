import { hasQuantity, type Usage, usageOf } from "../../pricing/mod.ts";
import type { LogFile, LogKind, LogSink, Machine, OtherFiles } from "./importer.ts";
import {
  countOf,
  type Fields,
  fieldsOf,
  modelOf,
  parseJson,
  parseRecord,
  readBeside,
  readEach,
  recordsOf,
  textOf,
  timeOf,
  usageFrom,
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

/** The agents that write tasks. */
export type TaskAgent = "cline" | "roo" | "kilo";

/** Reads `tasks/<task>/ui_messages.json`. */
export function tasksKind(agent: TaskAgent): LogKind {
  return {
    has: (name) => /(?:^|\/)tasks\/[^/]+\/ui_messages\.json$/.test(name),
    read: { form: "whole", read: (text, file, sink, others) => readTask(agent, text, file, sink, others) },
  };
}

/** The messages with sums of requests that stand nowhere else: deleted ones, and those of sub-agents. */
const SUMS = new Set(["deleted_api_reqs", "api_req_deleted", "subagent_usage"]);

/**
 * Reads the requests of a task. Requests that the user has cancelled or deleted were billed; of the deleted ones their sum is
 * left. The totals of `history_item.json` are sums of what is read here.
 */
function readTask(
  agent: TaskAgent,
  text: string,
  file: LogFile,
  sink: LogSink,
  others: OtherFiles | undefined,
): void {
  const messages = recordsOf(parseJson(text)).filter(({ type }) => type === "say");
  const task = taskOf(file, others);
  // Older versions wrote the counts of a request into a message of its end.
  const ends = new Map<Fields, Fields>();
  let started: Fields | undefined;
  for (const message of messages) {
    if (message.say === "api_req_started") started = message;
    else if (message.say === "api_req_finished" && started) ends.set(started, message);
  }
  readEach(messages, sink, (message) => {
    const say = textOf(message.say) ?? "";
    const at = message.ts;
    if (say === "condense_context") {
      const statedCostUsd = usdOf(fieldsOf(message.contextCondense).cost);
      if (statedCostUsd === undefined) return;
      return sink.call({
        ...callOf(task, {}, timeOf(at)),
        usage: usageOf({}),
        quality: "cost_only",
        statedCostUsd,
      });
    }
    const isSum = SUMS.has(say);
    if (say !== "api_req_started" && !isSum) return;
    const request = { ...requestOf(message), ...requestOf(ends.get(message)) };
    const model = modelUsed(message, task);
    const usage = usageOfRequest(agent, request, model.id, timeOf(at));
    const statedCostUsd = usdOf(request.cost);
    if (!hasQuantity(usage) && statedCostUsd === undefined) {
      // A request without a cost or a reason for its end is still running.
      if (!isSum && (request.cost !== undefined || request.cancelReason)) {
        sink.unmetered("a request without counts");
      }
      return;
    }
    sink.call({
      ...callOf(task, isSum ? {} : model, timeOf(at)),
      usage,
      quality: !hasQuantity(usage)
        ? "cost_only"
        : isSum
        ? "aggregate"
        : request.cancelReason
        ? "provisional"
        : "exact",
      statedCostUsd,
    });
  });
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
const WHOLE_INPUT_SINCE = { roo: Date.UTC(2025, 10, 1), kilo: Date.UTC(2025, 10, 12) };

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
  const input = countOf(request.tokensIn);
  const cacheReadTokens = countOf(request.cacheReads);
  const cacheWriteTokens = countOf(request.cacheWrites);
  const cached = cacheReadTokens + cacheWriteTokens;
  const isWhole = agent === "cline"
    ? provider !== undefined && WHOLE_INPUT_IN_CLINE.has(provider)
    : request.apiProtocol !== "anthropic" || at >= WHOLE_INPUT_SINCE[agent];
  return usageFrom({
    inputTokens: isWhole && input >= cached ? input : input + cached,
    outputTokens: countOf(request.tokensOut),
    cacheReadTokens,
    cacheWriteTokens,
  });
}
