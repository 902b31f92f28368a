import type { CostRow } from "../../contract/costs.ts";
import type { Session } from "../../contract/sessions.ts";
import type { Grouping } from "../../contract/values.ts";
import type { FetchHandler } from "../../http/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { checkNames, namesOf } from "../../kernel/known_names.ts";
import { errorOf } from "../mod.ts";

/** The methods of the library that read what the API returns, typed, and the options of the others. */
export {
  type AgentInput,
  type CloseOptions,
  type ExportOptions,
  type ImportSessionOptions,
  METER_NAMES,
  type MeterOptions,
  OPTION_NAMES,
  type PriceRow,
  type RunOptions,
} from "./options.ts";

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
export type Parameter = string | number | Date | undefined;

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
