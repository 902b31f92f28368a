import { hasQuantity } from "../../pricing/mod.ts";
import { HOLES } from "./holes.ts";
import { defineImporter, type LogFile, type LogSink, type Machine, type OtherFiles } from "./importer.ts";
import {
  countOf,
  type Fields,
  fieldsOf,
  messagesOf,
  modelOf,
  nameByCounts,
  parseRecord,
  readBeside,
  readEach,
  recordsOf,
  textOf,
  timeOf,
  toolNames,
  usageWithCache,
  usdOf,
} from "./log_record.ts";
import { billedBy } from "./provider_ids.ts";
import { editorFolders, tasksKind } from "./cline_tasks.ts";

/** `<session>/<session>.messages.json`, beside it `<id>.messages.json` of each sub-agent and team mate. */
const MESSAGES = /(?:([^/]+)\/)?([^/]+)\.messages\.json$/;

/**
 * Cline: `~/.cline/data/sessions/` of its CLI and newer extensions, and `tasks/` of the older extension. The usage on a session,
 * which also `db/sessions.db` has, is a sum and leaves sub-agents out.
 *
 * Its records: sdk/packages/core/src/services/session-data.ts of cline at 21cb8d25, and recordings of the CLI 3.0.65.
 */
export default defineImporter({
  name: "cline",
  title: "Cline",
  seen: "CLI 3.0.65",
  holes: HOLES["cline"],
  roots: (machine) => [
    ...[machine.env("CLINE_SESSION_DATA_DIR")].flatMap((folder) => folder ?? []),
    dataFolder(machine),
    ...editorFolders(machine, "saoudrizwan.claude-dev"),
  ],
  kinds: [
    { has: (name) => MESSAGES.test(name), read: { form: "whole", read: readSession } },
    tasksKind("cline"),
  ],
});

function dataFolder({ env, home }: Machine): string {
  return env("CLINE_DATA_DIR") ?? `${env("CLINE_DIR") ?? `${home}/.cline`}/data`;
}

function readSession(text: string, file: LogFile, sink: LogSink, others?: OtherFiles): void {
  const document = parseRecord(text);
  const messages = messagesOf(document.messages);
  const { forkedAt, ...facts } = factsOf(document, file, others);
  readEach(messages.entries(), sink, ([index, message]) => {
    if (message.role !== "assistant" || message.metrics === undefined) return;
    const metrics = fieldsOf(message.metrics);
    const usage = usageOfMetrics(metrics);
    if (!hasQuantity(usage)) return sink.unmetered("a message without counts");
    const at = timeOf(message.ts);
    const model = textOf(fieldsOf(message.modelInfo).id);
    const content = recordsOf(message.content);
    sink.call({
      ...facts,
      // The ids of messages are given anew where they are missing, and a fork or the next task of a team mate copies messages.
      ref: nameByCounts(at, model, usage),
      ...billedBy(textOf(fieldsOf(message.modelInfo).provider)),
      ...modelOf(model),
      at,
      usage,
      quality: isSumOfRun(messages, index) ? "aggregate" : "exact",
      statedCostUsd: usdOf(metrics.cost),
      tools: toolNames(content.filter(({ type }) => type === "tool_use")),
      isCopy: (forkedAt !== undefined && at < forkedAt) || undefined,
    });
  });
}

/** Returns the session of a document, with the time of its fork, and of a sub-agent its id and that of its parent. */
function factsOf(document: Fields, { name }: LogFile, others: OtherFiles | undefined) {
  const [, folder, stem = name] = MESSAGES.exec(name) ?? [];
  const session = folder ?? textOf(document.sessionId) ?? stem;
  const manifest = readBeside(others, `${name.slice(0, name.lastIndexOf("/") + 1)}${session}.json`);
  const parent = textOf(fieldsOf(document.origin).parentThreadId);
  const fork = textOf(fieldsOf(fieldsOf(manifest.metadata).fork).forkedAt);
  return {
    session,
    subagent: stem === session || document.agent === "lead" ? undefined : {
      id: stem,
      // The id of a sub-agent's session is that of the session, two underscores, and that of the sub-agent.
      parent: parent?.startsWith(`${session}__`) ? parent.slice(session.length + 2) : undefined,
      type: textOf(document.agent),
    },
    folder: textOf(manifest.cwd),
    forkedAt: fork === undefined ? undefined : timeOf(fork),
  };
}

/**
 * Returns whether a message has the sum of its run: Cline writes it to the last message of a run whose messages have no counts of
 * their own. A run begins with what the user has written.
 */
function isSumOfRun(messages: readonly Fields[], index: number): boolean {
  let hasOthers = false;
  for (let before = index - 1; before >= 0; before--) {
    const message = messages[before]!;
    if (message.role === "assistant") {
      if (message.metrics !== undefined) return false;
      hasOthers = true;
    } else if (!recordsOf(message.content).some(({ type }) => type === "tool_result")) return hasOthers;
  }
  return hasOthers;
}

/** The input has the cached tokens; a server that counts them beside it is told by the sum. */
const usageOfMetrics = (metrics: Fields) =>
  usageWithCache({
    inputTokens: countOf(metrics.inputTokens),
    outputTokens: countOf(metrics.outputTokens),
    cacheReadTokens: countOf(metrics.cacheReadTokens),
    cacheWriteTokens: countOf(metrics.cacheWriteTokens),
  }, true);
