import { MINUTE_MS } from "../../../../kernel/clock.ts";
import { type AgentHooks, type HookSession, TIMEOUT_SECONDS } from "./agent_hooks.ts";

const DAY_MS = 24 * 60 * MINUTE_MS;
/** The days of a session whose folders are searched for its sub-agents. */
const MAX_DAYS = 31;

/**
 * Codex. Prompts and the start of a session can be stopped. Within a turn nothing does: `continue: false` after a tool has no
 * effect, a refused tool asks the model once more, and a refused end of the turn makes it go on.
 */
export default {
  title: "Codex",
  seen: "0.171.0",
  agentId: "codex",
  hasLogs: true,
  stops: {
    // Without a reason the hook counts as failed, and the prompt goes on.
    UserPromptSubmit: (reason) => ({ decision: "block", reason }),
    SessionStart: (reason) => ({ continue: false, stopReason: reason }),
  },
  showsMessages: true,
  logsOf: daysOf,
  settings: {
    userFile: ({ home, env }) => `${env("CODEX_HOME") ?? `${home}/.codex`}/hooks.json`,
    projectFile: ".codex/hooks.json",
    events: ["SessionStart", "UserPromptSubmit"],
    hook: (command) => ({ hooks: [{ type: "command", command, timeout: TIMEOUT_SECONDS }] }),
    afterwards:
      "Codex runs a new hook once you trust it: it asks at its next start, and shows hooks by /hooks",
  },
} satisfies AgentHooks as AgentHooks;

/** Sub-agents have logs of their own, which only their first lines tell apart: those of the days since the session began. */
function daysOf({ transcript, now }: HookSession): string[] {
  const found = /^(.*\/)(\d{4})\/(\d\d)\/(\d\d)\/[^/]+$/.exec(transcript);
  if (!found) return [transcript];
  const [, root, ...date] = found;
  const folders: string[] = [];
  // The folders are those of the local time: the next day of UTC may have begun.
  const end = now + DAY_MS;
  let at = Date.parse(date.join("-"));
  for (; folders.length < MAX_DAYS && at <= end; at += DAY_MS) {
    folders.push(root + new Date(at).toISOString().slice(0, 10).replaceAll("-", "/"));
  }
  return folders.length === 0 ? [transcript] : folders;
}
