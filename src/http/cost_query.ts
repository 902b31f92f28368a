import type { Context } from "hono";
import { AgentId, QueryTime } from "../contract/parts.ts";
import { PurserError } from "../kernel/errors.ts";
import type { CostFilter, CostScope } from "../ledger/mod.ts";
import { z } from "./create_route.ts";
import { type ApiEnv, narrowToAgent } from "./middleware/principal.ts";

/** The parameters of cost reports that select calls. */
export const scopeQuery = {
  agent_id: AgentId.optional(),
  provider: z.string().optional().openapi({ example: "openai" }),
  model: z.string().optional().openapi({
    description: "The model, or `provider:model`",
    example: "gpt-5-mini",
  }),
};

/** The span of a cost report. */
export const spanQuery = {
  from: QueryTime.optional().openapi({ description: "Inclusive; a date, or a time with its zone" }),
  to: QueryTime.optional().openapi({ description: "Exclusive; a date, or a time with its zone" }),
};

/** The second span of a cost report. */
export const compareQuery = {
  compare_from: QueryTime.optional().openapi({
    description:
      "Adds `previous` to each row, the sums of a second span, and the difference to it; inclusive",
  }),
  compare_to: QueryTime.optional().openapi({
    description: "End of the second span, exclusive; default: `from`",
  }),
};

interface ScopeQuery {
  agent_id?: string;
  provider?: string;
  model?: string;
  from?: number;
  to?: number;
  compare_from?: number;
  compare_to?: number;
}

/** Returns the calls that a request selects, if its key may read them. Throws `invalid` or `forbidden`. */
export function scopeOf(c: Pick<Context<ApiEnv>, "env">, query: ScopeQuery): CostScope {
  const { from, to, provider, model, compare_from, compare_to = from } = query;
  checkOrder({ from, to }, ["from", "to"]);
  if (compare_from === undefined) {
    if (query.compare_to !== undefined) throw invalid("compare_to", "it needs compare_from");
  } else if (compare_to === undefined) {
    throw invalid("compare_from", "it needs compare_to, or from");
  } else checkOrder({ from: compare_from, to: compare_to }, ["compare_from", "compare_to"]);
  return {
    from,
    to,
    provider,
    model,
    agentId: narrowToAgent(c, query.agent_id),
    ...(compare_from !== undefined && { compare: { from: compare_from, to: compare_to } }),
  };
}

function checkOrder({ from, to }: { from?: number; to?: number }, [start, end]: [string, string]): void {
  if (from !== undefined && to !== undefined && from > to) {
    throw invalid(start, `it is later than ${end}`);
  }
}

/** Refuses groups that can't be listed as requested. */
export function checkGroups({ groupBy, splitBy, sort, compare }: CostFilter): void {
  const isEntity = groupBy === "session" || groupBy === "run";
  if (splitBy !== undefined && isEntity) throw invalid("split_by", `a ${groupBy} can't be split`);
  if (splitBy !== undefined && (splitBy === groupBy || (groupBy === "model" && splitBy === "provider"))) {
    throw invalid("split_by", `a group by ${groupBy} has one ${splitBy}`);
  }
  const isTimed = isEntity || groupBy === "hour" || groupBy === "day";
  if (compare && isTimed) {
    throw invalid(
      "compare_from",
      `groups by ${groupBy} are not in both spans; group by agent, model or provider`,
    );
  }
  if (sort === "time" && !isTimed) throw invalid("sort", `groups by ${groupBy} have no time`);
}

function invalid(path: string, problem: string): PurserError {
  return new PurserError("invalid", `Cannot sum the costs: ${path}: ${problem}`, {
    details: { issues: [{ path, message: problem }] },
  });
}
