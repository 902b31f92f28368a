import { toIso } from "../kernel/clock.ts";
import { BudgetExceededError } from "../kernel/errors.ts";
import { formatUsd, toUsd } from "../kernel/money.ts";
import type { BudgetPeriod } from "../contract/values.ts";
import { runScope, scopeText } from "./scopes.ts";
import type { RunAbove } from "./call_to_decide.ts";
import { type SqlValue, type Statement, type Store, toObjects } from "../store/mod.ts";
import {
  type CallBounds,
  ceilingOf,
  leftOf,
  type Refusal,
  reservedOf,
  type Standing,
  worstOf,
} from "./decide_call.ts";
import type { BudgetRefusal } from "../contract/budgets/budget_refusals.ts";

/** Returns whether a budget that only watches would have refused a call; its state includes the call's own reservation. */
export function wouldRefuse(standing: Standing, call: CallBounds): boolean {
  if (standing.settledNanoUsd >= ceilingOf(standing)) return true;
  if (call.isUnpriced) return !standing.allowUnpriced;
  if (standing.mode === "stop") return false;
  return worstOf(call) === null || leftOf(standing) < 0n;
}

const COUNT =
  `UPDATE budgets SET refused_calls = refused_calls + 1, last_refused_at = max(coalesce(last_refused_at, 0), ?2)
WHERE budget_id IN (SELECT value FROM json_each(?1))`;

/** Returns the statement that counts a refused call with the budgets that refuse it. */
export function countRefusals(standings: readonly Pick<Standing, "budgetId">[], now: number): Statement[] {
  const ids = standings.flatMap(({ budgetId }) => budgetId ?? []);
  return ids.length === 0 ? [] : [{ sql: COUNT, args: [JSON.stringify(ids), now] }];
}

/** A refused call, for its error. */
export interface RefusedCall {
  /** The start of the message: `Cannot make the next model call of run …`. */
  action: string;
  refusals: readonly Refusal[];
  /** The reason that the call has no bound. */
  because?: string;
  /** The only agent whose amounts the caller may see; of budgets over more it gets the limits alone. */
  onlyAgentId?: string;
  /** The agent whose amounts its log may have, since its keys read that: see `findLogOwner()`. */
  logOwner: string | null;
  /** The runs above that of the call. */
  above?: readonly RunAbove[];
  /** The cost of the run so far, which stands for amounts that the caller may not see. */
  runCostNanoUsd?: bigint;
}

/**
 * Returns the error for a refused call: the tightest budget in its message, all of them in `details.refused_by`. Its
 * `logged` has the amounts that a key of the call's agent may see, also where another caller has made the call.
 */
export function budgetExceeded(refused: RefusedCall): BudgetExceededError {
  const { message, details } = describe(refused, refused.onlyAgentId);
  return new BudgetExceededError(message, details, describe(refused, refused.logOwner));
}

/** Describes a refusal for a reader of one agent's amounts; undefined for one of all amounts, null for one of none. */
function describe(
  { action, refusals, because, above = [], runCostNanoUsd = 0n }: RefusedCall,
  reader: string | null | undefined,
) {
  const { standing, ...first } = refusals[0]!;
  const agentsAbove = new Map(above.map(({ runId, agentId }) => [runScope(runId), agentId]));
  const isHiddenOf = ({ scope }: Standing) => {
    if (reader === undefined) return false;
    if (reader === null || scope === "" || scope.startsWith("key ")) return true;
    const agent = scope.includes(" ") ? agentsAbove.get(scope) : scope;
    return agent !== undefined && agent !== reader;
  };
  const isAbove = ({ scope }: Standing) => agentsAbove.has(scope);
  const isHidden = isHiddenOf(standing);
  const others = refusals.length - 1;
  const more = others === 0
    ? ""
    : others === 1
    ? "; another budget refuses it too"
    : `; ${others} other budgets refuse it too`;
  const sentence = standing.budgetId === null
    ? runSentence(standing, first.reason, { because, isHidden, isAbove: isAbove(standing) })
    : budgetSentence({ standing, ...first }, { because, isHidden });
  const isOwnOnly = refusals.every(({ standing }) => standing.budgetId === null && !isAbove(standing));
  return {
    message: `${action}: ${sentence}${more}`,
    details: {
      cost_usd_so_far: toUsd(isHidden ? runCostNanoUsd : standing.settledNanoUsd),
      budget_usd: toUsd(ceilingOf(standing)),
      ...(!isOwnOnly && { refused_by: refusals.map((each) => toRefusedBy(each, isHiddenOf(each.standing))) }),
    },
  };
}

/** Returns the wire form of a refusal. */
function toRefusedBy(
  { standing, reason, neededNanoUsd, fittingOutputTokens }: Refusal,
  isHidden: boolean,
): Record<string, unknown> {
  return {
    budget_id: standing.budgetId,
    name: standing.name,
    per: standing.per,
    scope: scopeText(standing.scope),
    limit_usd: toUsd(standing.limitNanoUsd),
    ...(!isHidden && {
      extra_usd: toUsd(standing.extraNanoUsd),
      spent_usd: toUsd(standing.settledNanoUsd),
      reserved_usd: toUsd(reservedOf(standing)),
    }),
    ...(neededNanoUsd !== undefined && { needed_usd: toUsd(neededNanoUsd) }),
    ...(fittingOutputTokens !== undefined && !isHidden && { fitting_output_tokens: fittingOutputTokens }),
    mode: standing.mode,
    reason,
    resets_at: standing.resetsAt === null ? null : toIso(standing.resetsAt),
  };
}

const PERIODS: Record<BudgetPeriod, string> = {
  run: "run",
  session: "session",
  hour: "hour",
  day: "UTC day",
  week: "UTC week",
  month: "UTC month",
  lifetime: "lifetime",
};

function budgetSentence(
  { standing, reason, neededNanoUsd, fittingOutputTokens }: Refusal,
  { because, isHidden }: { because?: string; isHidden: boolean },
): string {
  const { name, per, scope, mode, resetsAt, extraNanoUsd } = standing;
  const raised = extraNanoUsd === 0n ? "" : `, raised to $${formatUsd(ceilingOf(standing))}`;
  const whose = scope === "" ? "all agents" : scopeText(scope);
  const terms = per === "lifetime" ? "in all" : `per ${PERIODS[per]}`;
  const budget = `the ${mode === "strict" ? "strict " : ""}budget “${name}” ($${
    formatUsd(standing.limitNanoUsd)
  } ${terms}, ${whose}${raised})`;
  const amounts = isHidden
    ? "has nothing left"
    : `has $${formatUsd(standing.settledNanoUsd)} spent and $${formatUsd(reservedOf(standing))} reserved`;
  const reset = resetsAt === null ? "" : `; it resets at ${toIso(resetsAt).replace(":00.000Z", "Z")}`;
  const remedy = isHidden ? "" : `. Raise it with purser budgets raise ${standing.budgetId} --usd AMOUNT`;
  switch (reason) {
    case "spent":
      return `${budget} ${amounts}${reset}${remedy}`;
    case "would_overshoot":
      return `${budget} ${amounts}, and the next call might cost $${formatUsd(neededNanoUsd ?? 0n)}${
        fittingOutputTokens === undefined || isHidden
          ? ""
          : `; an output limit of ${fittingOutputTokens} tokens would fit`
      }${reset}${remedy}`;
    case "held":
      return `${budget} ${amounts} by calls in progress, which did not end in time; try again later`;
    case "unbounded":
      return `${budget} needs a call whose cost is bounded, and ${because ?? "this one is not"}`;
    case "unpriced":
      return `${budget} needs a model with a known price; add one to "prices" in the config, or set allow_unpriced of the budget`;
  }
}

/** Returns the reason of the budget that a run has by its agent: the run of the call, or one above it. */
function runSentence(
  standing: Standing,
  reason: Refusal["reason"],
  { because, isHidden, isAbove }: { because?: string; isHidden: boolean; isAbove: boolean },
): string {
  const limit = formatUsd(ceilingOf(standing));
  const run = isAbove ? `${standing.scope} above it` : "it";
  const cost = `${run} has cost $${formatUsd(standing.settledNanoUsd)}`;
  const kind = standing.mode === "strict" ? "strict budget" : "budget";
  const budget = isAbove ? `the ${kind} of $${limit} of ${run}` : `its ${kind} of $${limit}`;
  switch (reason) {
    case "spent":
      return isHidden
        ? `${run} has nothing left of its budget of $${limit}`
        : `${cost} and its budget is $${limit}`;
    case "would_overshoot":
    case "held":
      return `${isHidden ? "" : `${cost}, and `}the next call might cost more than is left of ${budget}`;
    case "unbounded":
      return `${budget} needs a call whose cost is bounded, and ${because ?? "this one is not"}`;
    case "unpriced":
      return `${budget} needs a model with a known price`;
  }
}

/** The refused calls to list. */
export interface RefusalFilter {
  budgetId?: string;
  agentId?: string;
  /** The last refusal of the previous page. */
  before?: number;
  limit: number;
}

/** The refusals among which those of one budget are searched: their budgets are in their payload only. */
const SEARCHED = 10_000;

/**
 * Lists refused calls, newest first, from the log of events. Their amounts are those that the readers of the log may see.
 * Those of one budget are searched among the 10,000 before the last of the previous page.
 */
export async function listRefusals(
  { store }: { store: Pick<Store, "read"> },
  { budgetId, agentId, before, limit }: RefusalFilter,
): Promise<BudgetRefusal[]> {
  const args: SqlValue[] = [];
  const conditions = ["type = 'budget.refused'"];
  if (agentId !== undefined) conditions.push(`agent_id = ?${args.push(agentId)}`);
  if (before !== undefined) conditions.push(`event_id < ?${args.push(before)}`);
  const index = agentId === undefined ? "refusals_latest" : "refusals_of_agent";
  const latest = `SELECT event_id, at, agent_id, session_id, run_id, payload FROM events INDEXED BY ${index}
WHERE ${conditions.join(" AND ")} ORDER BY event_id DESC`;
  const sql = budgetId === undefined
    ? `${latest} LIMIT ?${args.push(limit)}`
    : `SELECT * FROM (${latest} LIMIT ${SEARCHED}) WHERE EXISTS (
  SELECT 1 FROM json_each(payload, '$.refused_by') r WHERE r.value ->> 'budget_id' = ?${args.push(budgetId)}
) LIMIT ?${args.push(limit)}`;
  return toObjects<Row>(await store.read({ sql, args })).map(toRefusal);
}

interface Row {
  event_id: bigint;
  at: bigint;
  agent_id: string;
  session_id: string | null;
  run_id: string | null;
  payload: string;
}

type Payload = Partial<Pick<BudgetRefusal, "message" | "cost_usd_so_far" | "budget_usd" | "refused_by">>;

function toRefusal(row: Row): BudgetRefusal {
  const { message = "", cost_usd_so_far = null, budget_usd = null, refused_by = [] }: Payload = JSON.parse(
    row.payload,
  );
  return {
    event_id: Number(row.event_id),
    at: toIso(Number(row.at)),
    agent_id: row.agent_id,
    session_id: row.session_id,
    run_id: row.run_id,
    message,
    cost_usd_so_far,
    budget_usd,
    refused_by,
  };
}
