import { type Clock, toIso } from "../kernel/clock.ts";
import { invalidField, PurserError } from "../kernel/errors.ts";
import type { Agent, AgentBody } from "../contract/agents.ts";
import { scrubTags, sortTags, type Tags } from "../contract/tags/tags.ts";
import { AGENT_DEFAULTS } from "../contract/limits.ts";
import { NAME_PATTERN, NAME_RULE } from "../kernel/ids.ts";
import { type NanoUsd, parseUsd, toUsd } from "../kernel/money.ts";
import {
  type Author,
  type Check,
  defineAuthored,
  type Edit,
  type Query,
  replaceState,
  type Statement,
  type Store,
  tables,
} from "../store/mod.ts";
import { and, asc, eq, gt, inArray, lt, sql } from "drizzle-orm";
import type { Secrets } from "../redaction/values/mod.ts";
import type { BudgetMode } from "../contract/values.ts";

/** The definitions of agents. */
export type { Agent } from "../contract/agents.ts";

/** The definition of an agent, for the runner. */
export interface AgentDefinition {
  agentId: string;
  /** `provider:model`, or a model name that belongs to one provider. */
  model: string;
  systemPrompt: string;
  /** The cost limit of one run in nano-USD; null for none. */
  costBudgetNanoUsd: NanoUsd | null;
  budgetMode: BudgetMode;
  /** Accepts a budget although the model has no known price. */
  allowUnpriced: boolean;
  maxSteps: number;
  maxOutputTokens: number | null;
  tools: readonly string[];
  /** The tags of its runs. */
  tags?: Tags;
}

/** Converts a definition to wire form, as the event log keeps it with each run. */
export function describeAgent(agent: AgentDefinition): Omit<Agent, "created_at" | "updated_at"> {
  return {
    agent_id: agent.agentId,
    name: agent.agentId,
    model: agent.model,
    system_prompt: agent.systemPrompt,
    cost_budget_usd: agent.costBudgetNanoUsd === null ? null : toUsd(agent.costBudgetNanoUsd),
    budget_mode: agent.budgetMode,
    allow_unpriced: agent.allowUnpriced,
    max_steps: agent.maxSteps,
    max_output_tokens: agent.maxOutputTokens,
    tools: [...agent.tools],
    tags: { ...agent.tags },
  };
}

/** Converts a row to wire form. */
function toAgent(row: AgentDefinition & { createdAt: number; updatedAt: number }): Agent {
  return { ...describeAgent(row), created_at: toIso(row.createdAt), updated_at: toIso(row.updatedAt) };
}

/** The statements of agents. */
export const AGENTS = defineAuthored(tables.agents, {
  what: "agent",
  kind: "agent",
  id: "agentId",
  show(row) {
    const { agent_id: _, ...fields } = describeAgent(row);
    return fields;
  },
});

interface EditContext {
  store: Store;
  query: Query;
  /** Who changes agents, for the audit log. */
  author: Author;
}

/** Checks the definition that a change replaces, undefined for a new agent, and throws to refuse the change. */
type AgentCheck = Check<Agent | undefined>;

/**
 * Stores the definition of an agent, and replaces an existing one of that name; with a check, only the definition that has
 * passed it.
 */
export function defineAgent(
  ctx: EditContext & { clock: Clock; secrets: Pick<Secrets, "scrub" | "scrubStored"> },
  given: AgentDefinition,
  check?: AgentCheck,
): Promise<{ agent: Agent; isNew: boolean }> {
  checkAgentName(given.agentId);
  // What is answered, and its ETag, are those of the stored row.
  const agent = storedAgent(ctx, given);
  return replaceState(`agent ${agent.agentId}`, async () => {
    // Read before the write, whose answer may be lost: a repeated write would read its own result.
    const before = await AGENTS.find(ctx.query, agent.agentId);
    await check?.(before && toAgent(before));
    const edit = { author: ctx.author, now: ctx.clock.now() };
    const row = rowOf(agent, edit.now);
    await ctx.store.write([
      AGENTS.requireUnchanged(agent.agentId, before),
      ...before ? AGENTS.update(edit, before, row) : AGENTS.insert(edit, row),
    ]);
    const { createdAt } = before ?? row;
    return { agent: toAgent({ ...row, createdAt }), isNew: before === undefined };
  });
}

/** Returns a definition as it is stored, without secrets. */
export function storedAgent(
  { secrets }: { secrets: Pick<Secrets, "scrub" | "scrubStored"> },
  given: AgentDefinition,
) {
  return {
    ...given,
    systemPrompt: secrets.scrubStored(given.systemPrompt),
    tags: scrubTags(given.tags ?? {}, secrets),
  };
}

/**
 * Returns the statements that define an agent unless there is one of that name, and only if a condition holds, whose
 * parameters are numbered from `?1`.
 */
export function insertAgentIfNew(
  edit: Edit,
  agent: AgentDefinition,
  condition: Required<Pick<Statement, "sql" | "args">>,
): Statement[] {
  return AGENTS.insert(edit, rowOf(agent, edit.now), condition);
}

/** Returns the row of an agent that is defined now. */
function rowOf(agent: AgentDefinition, now: number): AgentRow {
  const { tools, tags = {} } = agent;
  return { ...agent, tools: [...tools], tags: sortTags(tags), createdAt: now, updatedAt: now };
}

/** The checks of the names in a definition; they throw `invalid` for unknown names. */
interface DefinitionChecks {
  checkModel(model: string): void;
  checkTools(tools: readonly string[]): void;
}

/** Converts the wire form of a definition. Throws `invalid`, also for unknown names. */
export function toAgentDefinition(
  agentId: string,
  body: AgentBody,
  checks: DefinitionChecks,
): AgentDefinition {
  checkAgentName(agentId);
  if (body.name !== undefined && body.name !== agentId) {
    throw invalidField(
      "name",
      "differs from the id in the path",
      `Cannot define agent ${agentId}: name is ${JSON.stringify(body.name)}; leave it out or make them equal`,
    );
  }
  checks.checkModel(body.model);
  checks.checkTools(body.tools ?? []);
  const budget = body.cost_budget_usd;
  return {
    agentId,
    model: body.model,
    systemPrompt: (body.system_prompt ?? AGENT_DEFAULTS.systemPrompt).toWellFormed(),
    costBudgetNanoUsd: budget === undefined || budget === null ? null : parseUsd(budget, "cost_budget_usd"),
    budgetMode: body.budget_mode ?? AGENT_DEFAULTS.budgetMode,
    allowUnpriced: body.allow_unpriced ?? AGENT_DEFAULTS.allowUnpriced,
    maxSteps: body.max_steps ?? AGENT_DEFAULTS.maxSteps,
    maxOutputTokens: body.max_output_tokens ?? AGENT_DEFAULTS.maxOutputTokens,
    tools: body.tools ?? AGENT_DEFAULTS.tools,
    tags: body.tags ?? {},
  };
}

/** Throws `invalid` for a name that agents may not have. */
export function checkAgentName(name: string): void {
  if (name === "snapshot") {
    throw new PurserError("invalid", "Cannot use snapshot as an agent's name: it is a path of the API");
  }
  if (!NAME_PATTERN.test(name)) {
    throw new PurserError(
      "invalid",
      `Cannot use ${JSON.stringify(name)} as an agent's name: use ${NAME_RULE}`,
    );
  }
}

const { agents } = tables;

type AgentRow = typeof agents.$inferSelect;

/** Returns the tags of the agents that are defined and have tags. */
export async function findAgentTags(
  ctx: { query: Query },
  agentIds: readonly string[],
): Promise<Map<string, Tags>> {
  const rows = await ctx.query.select({ agentId: agents.agentId, tags: agents.tags }).from(agents)
    .where(inArray(agents.agentId, sql`(SELECT value FROM json_each(${JSON.stringify(agentIds)}))`));
  return new Map(
    rows.flatMap(({ agentId, tags }) => (Object.keys(tags).length > 0 ? [[agentId, tags]] : [])),
  );
}

/** Returns one agent in wire form. Throws `not_found`. */
export async function getAgent(ctx: { query: Query }, agentId: string): Promise<Agent> {
  return toAgent(await AGENTS.read(ctx.query, agentId));
}

/** Returns the definition of one agent. Throws `not_found`. */
export function getAgentDefinition(ctx: { query: Query }, agentId: string): Promise<AgentDefinition> {
  return AGENTS.read(ctx.query, agentId);
}

/** Returns the budget of each run of an agent; null without a budget, and for an agent that isn't defined. */
export async function findRunBudget(
  ctx: { query: Query },
  agentId: string,
): Promise<{ limitNanoUsd: NanoUsd; mode: BudgetMode; allowUnpriced: boolean } | null> {
  const agent = await AGENTS.find(ctx.query, agentId);
  if (!agent || agent.costBudgetNanoUsd === null) return null;
  return {
    limitNanoUsd: agent.costBudgetNanoUsd,
    mode: agent.budgetMode,
    allowUnpriced: agent.allowUnpriced,
  };
}

/** A page of a list, and whether others follow it. */
interface AgentPage {
  agents: Agent[];
  hasMore: boolean;
}

/** Lists a page of agents by name, after a name. Long prompts make it shorter: only its last agent exceeds `maxBytes`. */
export async function listAgents(
  ctx: { query: Query },
  { only, after, limit, maxBytes }: { only?: string; after?: string; limit: number; maxBytes: number },
): Promise<AgentPage> {
  // SQLite reads the sizes from the headers of the rows, but a window would copy every row that it sees.
  const sizes = ctx.query.select({
    id: sql<string>`${agents.agentId}`.as("id"),
    size: sql<number>`octet_length(${agents.systemPrompt})`.as("size"),
  }).from(agents).where(and(
    only === undefined ? undefined : eq(agents.agentId, only),
    after === undefined ? undefined : gt(agents.agentId, after),
  )).orderBy(asc(agents.agentId)).limit(limit + 1).as("sizes");
  const page = ctx.query.select({
    id: sizes.id,
    before: sql<
      number
    >`sum(${sizes.size}) OVER (ORDER BY ${sizes.id} ROWS UNBOUNDED PRECEDING) - ${sizes.size}`
      .as("before"),
    found: sql<number>`count(*) OVER ()`.as("found"),
  }).from(sizes).as("page");
  const rows = await ctx.query.select({ agent: agents, found: page.found }).from(page)
    .innerJoin(agents, eq(agents.agentId, page.id))
    .where(lt(page.before, maxBytes)).orderBy(asc(page.id)).limit(limit);
  return {
    agents: rows.map(({ agent }) => toAgent(agent)),
    hasMore: rows.length < Number(rows[0]?.found ?? 0),
  };
}

/** Lists all agents with their models. */
export async function listAgentModels(ctx: { query: Query }): Promise<Pick<Agent, "agent_id" | "model">[]> {
  return await ctx.query.select({ agent_id: agents.agentId, model: agents.model }).from(agents)
    .orderBy(asc(agents.agentId));
}

/**
 * Deletes a definition, with a check only the one that has passed it; the sessions of the agent and its calls in the ledger
 * stay. Throws `not_found`.
 */
export async function removeAgent(
  ctx: EditContext & { clock: Clock },
  agentId: string,
  check?: AgentCheck,
): Promise<void> {
  await AGENTS.remove(
    ctx.query,
    { author: ctx.author, now: ctx.clock.now() },
    agentId,
    check && ((row) => check(toAgent(row))),
    (statements) => ctx.store.write(statements),
  );
}
