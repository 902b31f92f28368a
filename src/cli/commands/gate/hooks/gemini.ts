import { type AgentHooks, TIMEOUT_SECONDS } from "./agent_hooks.ts";

/** Gemini CLI, whose hook runs before each model call. https://geminicli.com/docs/hooks/reference */
export default {
  title: "Gemini CLI",
  seen: "0.61.0",
  agentId: "gemini-cli",
  hasLogs: true,
  stops: { BeforeModel: (reason) => ({ decision: "deny", reason }) },
  showsMessages: true,
  // Sub-agents are logged beside the session, in a folder with its id.
  logsOf: ({ transcript, session }) => [transcript, transcript.replace(/[^/]+$/, () => session)],
  settings: {
    userFile: ({ home, env }) => `${env("GEMINI_CLI_HOME") ?? home}/.gemini/settings.json`,
    projectFile: ".gemini/settings.json",
    events: ["BeforeModel"],
    hook: (command) => ({
      hooks: [{ name: "purser-gate", type: "command", command, timeout: TIMEOUT_SECONDS * 1_000 }],
    }),
  },
} satisfies AgentHooks as AgentHooks;
