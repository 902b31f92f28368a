import type { CostRow } from "../../contract/costs.ts";
import type { Grouping } from "../../contract/values.ts";
import type { FetchHandler } from "../../http/mod.ts";
import { checkNames, namesOf } from "../../kernel/known_names.ts";
import { readPages } from "./read_pages.ts";

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

const NAMES = namesOf<CostsOptions>({
  groupBy: true,
  from: true,
  to: true,
  agentId: true,
  model: true,
  limit: true,
});

/** Sums spend by group; see `Purser.costs`. */
export async function readCosts(app: FetchHandler, options: CostsOptions = {}): Promise<CostRow[]> {
  checkNames("sum the costs", options, NAMES);
  const { groupBy, agentId, ...same } = options;
  return await readPages<CostRow>(app, "/costs", { group_by: groupBy, agent_id: agentId, ...same });
}
