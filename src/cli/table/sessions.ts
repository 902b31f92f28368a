import { arg, type CommandSpec, text } from "./command_spec.ts";

/** `purser sessions …` */
export const sessions: readonly CommandSpec[] = [
  {
    name: "sessions list",
    args: [],
    summary: "List sessions, latest first",
    options: {
      agent: text("NAME", "Only this agent's", { live: "agent" }),
      limit: text("N", "How many at most, 1 to 1000 (default 20)"),
    },
    examples: [["purser sessions list --agent researcher --limit 5", "Its five latest sessions"]],
    isReadOnly: true,
    load: async () => (await import("../commands/sessions/sessions_list.ts")).sessionsList,
  },
  {
    name: "sessions show",
    args: [arg("ID", { live: "session" })],
    summary: "Show a session: its runs and what each step cost",
    options: {},
    examples: [["purser sessions show ses_42", ""]],
    isReadOnly: true,
    load: async () => (await import("../commands/sessions/sessions_show.ts")).sessionsShow,
  },
];
