import { arg, type CommandSpec, flag, text } from "./command_spec.ts";

/** `purser agents …` */
export const agents: readonly CommandSpec[] = [
  {
    name: "agents list",
    args: [],
    summary: "List the agents",
    options: {},
    examples: [["purser agents list", ""]],
    isReadOnly: true,
    load: async () => (await import("../commands/agents/agents_list.ts")).agentsList,
  },
  {
    name: "agents show",
    args: [arg("NAME", { live: "agent" })],
    summary: "Show an agent and what it has cost",
    options: {},
    examples: [["purser agents show researcher", ""]],
    isReadOnly: true,
    load: async () => (await import("../commands/agents/agents_show.ts")).agentsShow,
  },
  {
    name: "agents set",
    args: [arg("NAME", { live: "agent" })],
    summary: "Define an agent, or change one",
    detail: "Only what you give is changed. A new agent needs --model.",
    options: {
      model: text("MODEL", "PROVIDER:MODEL, such as openai:gpt-5, local:my-model or demo:echo", {
        some: ["demo:echo"],
      }),
      system: text("TEXT", "The system prompt"),
      budget: text("USD", "The most that one run may cost; none for no limit", { some: ["none"] }),
      "budget-mode": text("MODE", "stop: end when the budget is reached; strict: never go over it", {
        oneOf: ["stop", "strict"],
      }),
      "max-steps": text("N", "The most model calls of one run"),
      "max-output-tokens": text("N", "The most output tokens of one call; none for no limit", {
        some: ["none"],
      }),
      tool: text("NAME", "A tool it may use; repeat for more. Replaces the tools it had", {
        some: ["calculator", "current_time"],
      }),
      "no-tools": flag("It may use no tools"),
      "allow-unpriced": flag("Accept a budget although the model has no known price"),
      "no-allow-unpriced": flag("Take that back"),
    },
    examples: [
      ['purser agents set researcher --model openai:gpt-5 --system "Be brief."', "A new agent"],
      ["purser agents set researcher --budget 0.25 --budget-mode strict", "Limit each run to $0.25"],
      [
        "purser agents set helper --model demo:echo --tool calculator --tool current_time",
        "An agent with tools",
      ],
    ],
    load: async () => (await import("../commands/agents/agents_set.ts")).agentsSet,
  },
  {
    name: "agents remove",
    args: [arg("NAME", { live: "agent" })],
    summary: "Forget an agent; its sessions and costs stay",
    options: {},
    examples: [["purser agents remove researcher", ""]],
    load: async () => (await import("../commands/agents/agents_remove.ts")).agentsRemove,
  },
];
