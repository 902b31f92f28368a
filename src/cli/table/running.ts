import { arg, type CommandSpec, text } from "./command_spec.ts";

/** Running an agent, and the demo of it */
export const running: readonly CommandSpec[] = [
  {
    name: "run",
    args: [arg("AGENT", { live: "agent" }), arg("INPUT")],
    summary: "Run an agent on an input",
    detail:
      "Prints the answer; on a terminal as it comes. Tokens and cost go to standard error. With - the input " +
      "is read from standard input. Ctrl-C cancels the run; what its calls cost stays booked.",
    options: {
      session: text("ID", "Go on from this session, or give a new one its id", { live: "session" }),
    },
    examples: [
      ['purser run researcher "What is 17 * 23?"', "Run it in a new session"],
      ['purser run researcher "And squared?" --session ses_42', "Go on in a session"],
      ["git diff | purser run reviewer - > review.md", "Input from another program"],
    ],
    handlesInterrupt: true,
    load: async () => (await import("../commands/running/run.ts")).run,
  },
  {
    name: "demo",
    args: [],
    summary: "Show an agent and a budget at work, offline",
    detail:
      "Runs some commands on a database in a new temporary folder, and shows each with what it prints. It needs no " +
      "key and no network, and changes nothing else; the folder stays, to look around in.",
    options: {},
    examples: [["purser demo", ""]],
    loadBare: async () => (await import("../commands/running/demo.ts")).demo,
  },
];
