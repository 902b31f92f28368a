import { type AgentHooks, TIMEOUT_SECONDS } from "./agent_hooks.ts";

const stopped = (reason: string) => ({ continue: false, stopReason: reason });

/**
 * Claude Code. A refused prompt is no call. After a batch of tools, `continue: false` ends the turn before the next call, in a
 * sub-agent that of the main agent too. Refusing a tool before it runs asks the model once more, and `continue: false` there runs it.
 */
export default {
  title: "Claude Code",
  seen: "2.1.332",
  agentId: "claude-code",
  hasLogs: true,
  stops: {
    UserPromptSubmit: (reason) => ({ decision: "block", reason }),
    PostToolUse: stopped,
    PostToolBatch: stopped,
  },
  showsMessages: true,
  // Sub-agents, and theirs, are logged below a folder with the name of the session.
  logsOf: ({ transcript }) => [transcript, transcript.replace(/\.jsonl$/, "")],
  settings: {
    userFile: ({ home, env }) => `${env("CLAUDE_CONFIG_DIR") ?? `${home}/.claude`}/settings.json`,
    projectFile: ".claude/settings.json",
    events: ["UserPromptSubmit", "PostToolBatch"],
    hook: (command) => ({ hooks: [{ type: "command", command, timeout: TIMEOUT_SECONDS }] }),
  },
} satisfies AgentHooks as AgentHooks;
