import type { CostRow } from "../../contract/costs.ts";
import type { Session } from "../../contract/sessions.ts";
import type { BudgetMode, Grouping } from "../../contract/values.ts";
import type { FetchHandler } from "../../http/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { checkNames, namesOf } from "../../kernel/known_names.ts";
import { errorOf } from "../mod.ts";
import type { AgentBody } from "../../contract/agents.ts";
import type { PriceOverride } from "../../config/mod.ts";
import type { MeterContext, RunPart } from "../../runner/mod.ts";

/*
 * The methods of the library that read what the API returns, typed, and the options of the others.
 *
 * Options are in camelCase. Resources of the API and rows of the config file, such as an agent's definition or a price, have
 * the names that they have there, in snake_case, so that one document serves all of them.
 */

/** The definition of an agent, with the fields of the API. */
export interface AgentInput extends AgentBody {
  /** The agent's id. */
  name: string;
  /** `provider:model`, or a name that one provider alone has. */
  model: string;
  /** The system prompt; default: none. */
  system_prompt?: string;
  /** The budget of one run in USD, at most nine decimals; null or not given: no limit. */
  cost_budget_usd?: number | null;
  /** `stop` (the default): no call is made once the budget is reached; `strict`: no call that could exceed it. */
  budget_mode?: BudgetMode;
  /** Allows a budget on a model without a known price, whose calls count as 0; default false. */
  allow_unpriced?: boolean;
  /** The maximum number of model calls of one run. */
  max_steps?: number;
  /** The maximum number of output tokens of one call; null or not given: the provider's. */
  max_output_tokens?: number | null;
  /** The names of the tools that it may call; default: none. */
  tools?: string[];
}

/** A price that overrides the catalog's, or what a contract changes, as a row of `prices` in the config file. */
export interface PriceRow extends PriceOverride {
  /** The provider's name. */
  provider: string;
  /** The model's name; of a contract also a pattern, such as `*`. */
  model: string;
  /** USD per million input tokens; required but of a contract. */
  input_usd_per_million?: number;
  /** USD per million output tokens; required but of a contract. */
  output_usd_per_million?: number;
  /** USD per million cached input tokens; default: the input price. */
  cache_read_usd_per_million?: number;
  /** USD per million tokens written to the cache; default: the input price. */
  cache_write_usd_per_million?: number;
  /** USD per million tokens cached for an hour; default: the price of other cache writes. */
  cache_write_1h_usd_per_million?: number;
  /** USD per million tokens cached for twelve hours; without it such calls are partly priced. */
  cache_write_12h_usd_per_million?: number;
  /** USD per million reasoning tokens; default: the output price. */
  reasoning_usd_per_million?: number;
  /** USD per million tokens of audio input; without it such calls are partly priced. */
  input_audio_usd_per_million?: number;
  /** USD per million cached tokens of audio input. */
  cache_read_audio_usd_per_million?: number;
  /** USD per million tokens of audio output; without it such calls are partly priced. */
  output_audio_usd_per_million?: number;
  /** USD per million tokens of image input; default: the input price. */
  input_image_usd_per_million?: number;
  /** USD per million cached tokens of image input. */
  cache_read_image_usd_per_million?: number;
  /** USD per million tokens of image output; without it such calls are partly priced. */
  output_image_usd_per_million?: number;
  /** USD per million tokens of video input; default: the input price. */
  input_video_usd_per_million?: number;
  /** USD per million tokens of video output; without it such calls are partly priced. */
  output_video_usd_per_million?: number;
  /** USD per thousand web searches; without it such calls are partly priced. */
  web_searches_usd_per_thousand?: number;
  /** USD per thousand file searches; without it such calls are partly priced. */
  file_searches_usd_per_thousand?: number;
  /** USD per thousand code executions; without it such calls are partly priced. */
  code_executions_usd_per_thousand?: number;
  /** USD per thousand requests. */
  requests_usd_per_thousand?: number;
  /** The date, midnight UTC, from which it applies, such as `2026-01-01`; default: at any time. */
  from?: string;
  /** The service tier of the calls that it prices; default: any. */
  service_tier?: string;
  /** The change of all listed rates by a contract, in percent: -12 is a discount of 12%. Such a row has no rates. */
  change_percent?: number;
  /** Of a contract: the region of its calls, or a pattern. */
  region?: string;
  /** Of a contract: the date, midnight UTC, at which it ends. */
  until?: string;
}

/** Options of one run. */
export interface RunOptions {
  /** The session to continue or to begin; default: a new one. */
  sessionId?: string;
  /**
   * The run whose tool makes this one, `run.runId` of the tool's options: the budgets of that run and of those above it count
   * its calls too.
   */
  parentRunId?: string;
  /** Tags of the run's calls; they are added to those of the agent, and replace those of the same key. */
  tags?: Readonly<Record<string, string>>;
  /** Cancels the run when it aborts. */
  signal?: AbortSignal;
  /** Receives the answer as it is streamed, and every event after its commit. */
  onPart?: (part: RunPart) => void;
}

/** Options of an export. */
export interface ExportOptions {
  /** Tags to add to those of the session in the snapshot. */
  tags?: Readonly<Record<string, string>>;
  /** Includes the event log of the session. */
  withEvents?: boolean;
}

/** Options of an import. */
export interface ImportSessionOptions {
  /** Reports what would happen, and writes nothing. */
  dryRun?: boolean;
  /** Refuses, with a `conflict`, to replace a session that has more messages than the snapshot. */
  keepLonger?: boolean;
}

/** Options of closing. */
export interface CloseOptions {
  /** The time after which runs in progress are cancelled; default: they are waited for. */
  graceMs?: number;
}

/** The attribution and the budget of a metered model's calls. */
export interface MeterOptions extends MeterContext {
  /** The agent that the calls are booked for; it need not be defined. */
  agentId: string;
  /** The session that the calls are booked in; default: none. */
  sessionId?: string;
  /** The run of the calls: those of one run share its budget; default: a new run for this meter. */
  runId?: string;
  /** The budget of the run in USD, at most nine decimals; default: no limit. */
  costBudgetUsd?: number;
  /** `stop` (the default): no call is made once the budget is reached; `strict`: no call that could exceed it. */
  budgetMode?: BudgetMode;
  /** Allows a budget on a model without a known price, whose calls count as 0; default false. */
  allowUnpriced?: boolean;
  /** The name under which calls are priced and booked; default: the part of `model.provider` before a dot. */
  provider?: string;
}

/** The names of the options of each method. */
export const OPTION_NAMES = {
  runAgent: namesOf<RunOptions>({
    sessionId: true,
    parentRunId: true,
    tags: true,
    signal: true,
    onPart: true,
  }),
  exportSession: namesOf<ExportOptions>({ tags: true, withEvents: true }),
  importSession: namesOf<ImportSessionOptions>({ dryRun: true, keepLonger: true }),
  close: namesOf<CloseOptions>({ graceMs: true }),
} as const;

/** The names of `MeterOptions`. */
export const METER_NAMES: readonly string[] = namesOf<MeterContext>({
  agentId: true,
  sessionId: true,
  runId: true,
  costBudgetUsd: true,
  budgetMode: true,
  tags: true,
  allowUnpriced: true,
  provider: true,
});

/** Options of `sessions()`. */
export interface SessionsOptions {
  /** Only the sessions of this agent. */
  agentId?: string;
  /** The maximum number of sessions; default: all. */
  limit?: number;
}

const SESSIONS_NAMES = namesOf<SessionsOptions>({ agentId: true, limit: true });

/** Lists sessions; see `Purser.sessions`. */
export async function readSessions(app: FetchHandler, options: SessionsOptions = {}): Promise<Session[]> {
  checkNames("list the sessions", options, SESSIONS_NAMES);
  const { agentId, limit } = options;
  const path = agentId === undefined ? "/sessions" : `/agents/${encodeURIComponent(agentId)}/sessions`;
  return await readPages<Session>(app, path, { limit });
}

/** Options of `costs()`. */
export interface CostsOptions {
  /** The group of each row: `agent` (the default), `model`, `hour`, `day`, `session` or `run`. */
  groupBy?: Grouping;
  /** The earliest time of a call, inclusive: a `Date`, an ISO time with its zone, or a date in UTC. */
  from?: Date | string;
  /** The time before which calls were made, exclusive. */
  to?: Date | string;
  /** Only the calls of this agent. */
  agentId?: string;
  /** Only the calls of this model, without its provider. */
  model?: string;
  /** The maximum number of rows; default: all. */
  limit?: number;
}

const COSTS_NAMES = namesOf<CostsOptions>({
  groupBy: true,
  from: true,
  to: true,
  agentId: true,
  model: true,
  limit: true,
});

/** Sums spend by group; see `Purser.costs`. */
export async function readCosts(app: FetchHandler, options: CostsOptions = {}): Promise<CostRow[]> {
  checkNames("sum the costs", options, COSTS_NAMES);
  const { groupBy, agentId, ...same } = options;
  return await readPages<CostRow>(app, "/costs", { group_by: groupBy, agent_id: agentId, ...same });
}

/** The largest page that each list of the API returns. */
const PAGE = 1_000;

/** A parameter of a list; undefined ones are left out. */
type Parameter = string | number | Date | undefined;

/**
 * Reads a list of the API to its end, or its first `limit` rows, by as many requests within this process as it has pages.
 *
 * @throws {PurserError} as the route does
 */
export async function readPages<Row>(
  app: FetchHandler,
  path: string,
  { limit = Infinity, ...parameters }: Readonly<Record<string, Parameter>> & { limit?: number },
): Promise<Row[]> {
  if (limit !== Infinity && !(Number.isSafeInteger(limit) && limit > 0)) {
    throw new PurserError("invalid", `Cannot read ${path}: limit must be a whole number of at least 1`);
  }
  const query = new URLSearchParams({ limit: String(Math.min(limit, PAGE)) });
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  const rows: Row[] = [];
  for (let next: string | undefined = `${path}?${query}`; next !== undefined && rows.length < limit;) {
    const answer: Response = await app.fetch(new Request(`http://purser.invalid${next}`));
    if (!answer.ok) throw await errorOf(answer);
    rows.push(...await answer.json() as Row[]);
    next = /<([^>]+)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
  }
  return rows.length > limit ? rows.slice(0, limit) : rows;
}
