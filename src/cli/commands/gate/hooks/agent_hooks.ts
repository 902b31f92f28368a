import type { Machine } from "../../../../ingest/logs/mod.ts";

/** The hooks of an agent: where they are set, what they receive, and which of their answers stop a model call. */
export interface AgentHooks {
  /** The name of the agent for people. */
  title: string;
  /** The version whose hooks were seen, or the document that describes them. */
  seen: string;
  /** The agent of its calls in the ledger. */
  agentId: string;
  /** The importer of its logs is that of `agentId`; false if there is none. */
  hasLogs: boolean;
  /** The event of an input that names none. */
  onlyEvent?: string;
  /**
   * The answer that stops the agent at an event, as JSON on standard output with the exit code 0. At other events no answer is
   * known to stop it, or one makes it go on: it gets none.
   */
  stops: Readonly<Record<string, (reason: string) => Readonly<Record<string, unknown>>>>;
  /** At these events it shows its user the `systemMessage` of an answer, and goes on. */
  showsMessages: boolean;
  /** Returns the files and folders with the logs of a session and of its sub-agents. */
  logsOf(session: HookSession): readonly string[];
  settings: HookSettings;
}

/** The session that an agent names to its hook. */
export interface HookSession {
  /** The path of its log. */
  transcript: string;
  session: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** The settings file of an agent in which its hooks are set. */
export interface HookSettings {
  /** Returns the file of the user's hooks. */
  userFile(machine: Pick<Machine, "home" | "env">): string;
  /** The file of a project's hooks, below its folder. */
  projectFile: string;
  /** The events at which the gate is set. */
  events: readonly string[];
  /** The setting of a hook that runs a command: an item of the list of its event. */
  hook(command: string): Readonly<Record<string, unknown>>;
  /** The settings beside `hooks` that a new file needs. */
  rest?: Readonly<Record<string, unknown>>;
  /** A sentence about the step that the agent asks of its user before it runs a new hook. */
  afterwards?: string;
}

/** The seconds after which an agent gives up a hook, and goes on: longer than the gate takes at most. */
export const TIMEOUT_SECONDS = 30;

/** The hooks of agents by their names on the command line. */
export const AGENT_HOOKS: Readonly<Record<string, () => Promise<{ default: AgentHooks }>>> = {
  "claude-code": () => import("./claude_code.ts"),
  codex: () => import("./codex.ts"),
  copilot: () => import("./copilot.ts"),
  gemini: () => import("./gemini.ts"),
};
