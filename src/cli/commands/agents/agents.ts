import { AGENT_LIMITS } from "../../../contract/limits.ts";
import { BUDGET_MODES } from "../../../contract/values.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { withoutUndefined } from "../../../kernel/records.ts";
import { arg, type Command, type CommandContext, earlierFlag, flag, option } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { checkExclusive, orNone, parseAmount, readEither } from "../../parse/given_fields.ts";
import type { Options } from "../../parse/options.ts";
import { readTags } from "../../parse/parse_tags.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { formatCost } from "../../render/format_cost.ts";
import { formatTags, formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderFields } from "../../render/render_fields.ts";
import { renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { type Api, type Kind, removeCommand, withNearest } from "../authored_commands.ts";

/** Agents, as their commands know them: the name is the id. */
export const AGENTS: Kind = {
  group: "agents",
  noun: "agent",
  one: "an agent",
  arg: arg("NAME", { live: "agent" }),
  isId: () => true,
  listNamed: async (api) =>
    (await (await api.agents.$get({ query: {} })).json()).map(({ name }) => ({ id: name, name })),
  remove: (api, id) => api.agents[":agent_id"].$delete({ param: { agent_id: idInPath(id) } }),
};

/** `purser agents list` */
const agentsList: Command = {
  name: "agents list",
  args: [],
  summary: "List agents",
  options: {},
  examples: [["purser agents list", ""]],
  isReadOnly: true,
  run: listAgents,
};

async function listAgents(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  await printAnswer(ctx, await api.agents.$get({ query: {} }), (agents) => {
    if (agents.length === 0) return "No agents yet. Define one: purser agents set helper --model demo:echo";
    return renderTable(agents, [
      { title: "AGENT", cell: (agent) => agent.name, paint: (_, style) => style.bold },
      { title: "MODEL", cell: (agent) => agent.model, cutTo: 12 },
      {
        title: "BUDGET",
        align: "right",
        cell: (agent) => agent.cost_budget_usd === null ? "none" : formatCost(agent.cost_budget_usd),
      },
      { title: "MODE", cell: (agent) => agent.cost_budget_usd === null ? "" : agent.budget_mode, drop: 2 },
      { title: "STEPS", align: "right", cell: (agent) => String(agent.max_steps), drop: 3 },
      { title: "TOOLS", cell: (agent) => agent.tools.join(", "), cutTo: 8, drop: 1 },
    ], ctx.layout);
  });
}

/** `purser agents show NAME` */
const agentsShow: Command = {
  name: "agents show",
  args: [AGENTS.arg],
  summary: "Show an agent, its usage and its cost",
  options: {},
  examples: [["purser agents show researcher", ""]],
  isReadOnly: true,
  run: showAgent,
};

async function showAgent(ctx: CommandContext): Promise<void> {
  const answer = await withNearest(
    ctx,
    AGENTS,
    (api, id) => api.agents[":agent_id"].$get({ param: { agent_id: idInPath(id) } }),
  );
  const { usageFields } = await import("../../render/render_usage.ts");
  await printAnswer(ctx, answer, (agent) =>
    renderFields({
      "Agent": agent.name,
      "Model": agent.model,
      "System prompt": agent.system_prompt || "none",
      "Budget": describeBudget(agent),
      "Max steps": String(agent.max_steps),
      "Max output": agent.max_output_tokens === null
        ? "no limit"
        : `${agent.max_output_tokens} tokens a call`,
      "Tools": agent.tools.join(", ") || "none",
      "Tags": formatTags(agent.tags) || undefined,
      "Created": `${formatTime(agent.created_at)} UTC`,
      "Updated": `${formatTime(agent.updated_at)} UTC`,
    }, ctx.layout) + `\n\n${ctx.style.bold("Lifetime usage")}\n` +
    renderFields(usageFields(agent.token_usage), ctx.layout));
}

/** The fields of an agent that define its budget. */
interface Budgeted {
  cost_budget_usd: number | null;
  budget_mode: string;
  allow_unpriced: boolean;
}

/** Describes a budget: `$0.25 a run, strict`. */
function describeBudget(agent: Budgeted): string {
  if (agent.cost_budget_usd === null) return "no budget";
  const unpriced = agent.allow_unpriced ? ", unpriced models allowed" : "";
  return `${formatCost(agent.cost_budget_usd)} a run, ${agent.budget_mode}${unpriced}`;
}

/** The fields of an agent that an author sets, as the options of `agents add` and `agents set`. */
const FIELDS = {
  model: option("MODEL", "PROVIDER:MODEL, such as openai:gpt-6-sol, local:my-model or demo:echo", {
    some: ["demo:echo"],
  }),
  system: option("TEXT", "System prompt"),
  budget: option("USD", "Budget per run in USD, or the word none for no limit", { some: ["none"] }),
  "budget-mode": option(
    "MODE",
    "stop: no call once the budget is reached; strict: no call that could exceed it",
    {
      oneOf: BUDGET_MODES,
    },
  ),
  "max-steps": option("N", "Maximum model calls of one run"),
  "max-output-tokens": option("N", "Maximum output tokens of one call, or the word none for no limit", {
    some: ["none"],
  }),
  tool: option("NAME", "Tool it may use, or the word none; repeat for more. Replaces the current tools", {
    some: ["calculator", "current_time", "none"],
  }),
  tag: option("KEY=VALUE", "Tag of its calls, or the word none; repeat for more. Replaces the current tags", {
    live: "tag",
  }),
  "allow-unpriced": flag("Allow a budget on a model without a known price; its calls count as $0"),
};

/** `purser agents add NAME …` */
const agentsAdd: Command = {
  name: "agents add",
  args: [arg("NAME")],
  summary: "Add an agent",
  detail: "Fails if an agent of that name exists. --model is required.",
  options: FIELDS,
  examples: [
    ['purser agents add researcher --model openai:gpt-6-sol --system "Be brief."', ""],
    ["purser agents add helper --model demo:echo --tool calculator --tool current_time", "With tools"],
  ],
  run: (ctx) => setAgent(ctx, { isNew: true }),
};

/** `purser agents set NAME …` */
const agentsSet: Command = {
  name: "agents set",
  args: [arg("NAME", { live: "agent" })],
  summary: "Create or change an agent",
  detail: "Changes only the given settings. A new agent needs --model.",
  options: {
    ...FIELDS,
    "no-allow-unpriced": flag("Undo --allow-unpriced"),
    "no-tools": earlierFlag("--tool none"),
    "no-tags": earlierFlag("--tag none"),
  },
  examples: [
    ["purser agents set researcher --budget 0.25 --budget-mode strict", "Limit each run to $0.25"],
    ["purser agents set researcher --tag team=search", "Attribute the cost of its runs"],
    ["purser agents set helper --model demo:echo --tool none", "Another model, and no tools"],
  ],
  run: (ctx) => setAgent(ctx),
};

async function setAgent(ctx: CommandContext, { isNew = false } = {}): Promise<void> {
  const name = readId(ctx);
  const changes = readChanges(ctx.options);
  const { api } = await ctx.connect();
  const { answer, before } = await mergeAgent(ctx, api, name, changes, isNew);
  await printAnswer(ctx, answer, (agent) => {
    const tools = agent.tools.length > 0 ? `, tools ${agent.tools.join(", ")}` : "";
    const tags = formatTags(agent.tags);
    return escapeText(
      `${before ? "Changed" : isNew ? "Added" : "Created"} agent ${agent.name}: ${agent.model}, ${
        describeBudget(agent)
      }${tools}${tags && `, tags ${tags}`}`,
    );
  });
}

/** The most attempts to merge changes into a definition that others keep changing. */
const MAX_MERGES = 10;

/** Puts the changes over the definition that it has read, or reads again if another client has changed that meanwhile. */
async function mergeAgent(
  ctx: CommandContext,
  api: Api,
  name: string,
  changes: ReturnType<typeof readChanges>,
  isNew: boolean,
) {
  const param = { agent_id: idInPath(name) };
  for (let merge = 1;; merge++) {
    const { agent: before, etag } = await findAgent(api, name) ?? {};
    if (before && isNew) {
      throw new PurserError(
        "conflict",
        `Cannot add agent ${name}: an agent of that name exists; change it with purser agents set ${name}`,
      );
    }
    const model = changes.model ?? before?.model;
    if (model === undefined) {
      throw new UsageError(
        `Cannot ${isNew ? "add" : "create"} agent ${name} without --model, such as demo:echo`,
        ctx.options.command,
      );
    }
    const json = { ...(before && definitionOf(before)), ...changes, model };
    const headers: Record<string, string> = before === undefined
      ? { "if-none-match": "*" }
      : etag
      ? { "if-match": etag }
      : {};
    try {
      return { answer: await api.agents[":agent_id"].$put({ param, json }, { headers }), before };
    } catch (error) {
      const isOutdated = error instanceof PurserError && error.code === "precondition_failed";
      if (!isOutdated || merge === MAX_MERGES) throw error;
    }
  }
}

async function findAgent(api: Api, name: string) {
  try {
    const answer = await api.agents[":agent_id"].$get({ param: { agent_id: idInPath(name) } });
    return { agent: await answer.json(), etag: answer.headers.get("etag") };
  } catch (error) {
    if (error instanceof PurserError && error.code === "not_found") return undefined;
    throw error;
  }
}

/** Returns the fields of a GET that a PUT accepts. */
function definitionOf(agent: NonNullable<Awaited<ReturnType<typeof findAgent>>>["agent"]) {
  const { agent_id: _id, token_usage: _usage, created_at: _created, updated_at: _updated, ...definition } =
    agent;
  return definition;
}

function readChanges(options: Options) {
  checkExclusive(options, ["tool", "no-tools"], ["tag", "no-tags"]);
  const removes = (option: string) => options.has(`no-${option}s`) || options.text(option) === "none";
  return withoutUndefined({
    model: options.text("model"),
    system_prompt: options.text("system"),
    cost_budget_usd: options.read("budget", orNone(parseAmount)),
    budget_mode: options.oneOf("budget-mode", BUDGET_MODES),
    max_steps: options.wholeNumber("max-steps", { min: 1, max: AGENT_LIMITS.maxSteps }),
    max_output_tokens: options.text("max-output-tokens") === "none"
      ? null
      : options.wholeNumber("max-output-tokens", { min: 1, max: AGENT_LIMITS.maxOutputTokens }),
    tools: removes("tool") ? [] : options.has("tool") ? [...options.texts("tool")] : undefined,
    tags: removes("tag") ? {} : readTags(options),
    allow_unpriced: readEither(options, "allow-unpriced", "no-allow-unpriced"),
  });
}

/** `purser agents remove NAME` */
const agentsRemove = removeCommand(AGENTS, {
  summary: "Remove an agent; its sessions and costs stay",
  done: "its sessions and costs stay",
  examples: [["purser agents remove researcher", ""]],
});

/** The commands of agents, in the order of the help. */
export const AGENT_COMMANDS: readonly Command[] = [
  agentsList,
  agentsShow,
  agentsAdd,
  agentsSet,
  agentsRemove,
];
