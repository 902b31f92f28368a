import { type AgentHooks, TIMEOUT_SECONDS } from "./agent_hooks.ts";

/**
 * Copilot CLI, whose prompts can't be stopped: the request for a permission of a tool can, and ends the agent.
 * https://docs.github.com/en/copilot/reference/hooks-reference
 */
export default {
  title: "Copilot CLI",
  seen: "its documents of 2026-11",
  agentId: "copilot",
  hasLogs: false,
  onlyEvent: "permissionRequest",
  stops: { permissionRequest: (reason) => ({ behavior: "deny", message: reason, interrupt: true }) },
  showsMessages: false,
  logsOf: () => [],
  settings: {
    userFile: ({ home, env }) => `${env("COPILOT_HOME") ?? `${home}/.copilot`}/hooks/purser.json`,
    projectFile: ".github/hooks/purser.json",
    events: ["permissionRequest"],
    hook: (command) => ({
      type: "command",
      bash: command,
      powershell: command,
      timeoutSec: TIMEOUT_SECONDS,
    }),
    rest: { version: 1 },
  },
} satisfies AgentHooks as AgentHooks;
