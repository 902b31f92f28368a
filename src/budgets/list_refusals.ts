import type { BudgetRefusal } from "../contract/budgets/budget_refusals.ts";
import type { RefusalReason } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import { withNames } from "../keys/mod.ts";
import { ALL_SEEING, type Viewer } from "../ledger/mod.ts";
import { indexedBy, type SqlValue, type Store, toObjects } from "../store/mod.ts";

/** The refused calls to list. */
export interface RefusalFilter {
  budgetId?: string;
  agentId?: string;
  sessionId?: string;
  keyId?: string;
  /** The name of a model, or the provider, a colon and the name. */
  model?: string;
  reason?: RefusalReason;
  /** Inclusive, and exclusive, in milliseconds since the epoch. */
  from?: number;
  to?: number;
  /** The last refusal of the previous page. */
  before?: number;
  limit: number;
  /** A viewer of one agent gets no amounts of other agents, and no key but its own. */
  viewer?: Viewer | undefined;
}

/** The number of refusals that are searched by a filter on their payload, which has no index. */
const SEARCHED = 10_000;

const IS_OF_BUDGET = (budget: string) =>
  `EXISTS (SELECT 1 FROM json_each(payload ->> 'refused_by') r WHERE r.value ->> 'budget_id' = ${budget})`;
const HAS_REASON = (reason: string) =>
  `(payload ->> 'reason' = ${reason} OR EXISTS (SELECT 1 FROM json_each(coalesce(withheld, payload) ->> 'refused_by') r WHERE r.value ->> 'reason' = ${reason}))`;
const IS_OF_MODEL = (model: string) =>
  `(payload ->> 'model' = ${model} OR payload ->> 'provider' || ':' || (payload ->> 'model') = ${model})`;
// Events of a session that isn't stored here, as of most clients of the gateway, have it in their payload only.
const IS_OF_SESSION = (session: string) => `coalesce(session_id, payload ->> 'session_id') = ${session}`;

/**
 * Lists refused calls, newest first, from the log of events. Those of a budget, key, session, model, reason or time are
 * searched among the 10,000 before the last of the previous page.
 */
export async function listRefusals(
  ctx: { store: Pick<Store, "read"> },
  filter: RefusalFilter,
): Promise<BudgetRefusal[]> {
  const { agentId, before, limit, viewer = ALL_SEEING } = filter;
  const args: SqlValue[] = [];
  const conditions = ["type = 'budget.refused'"];
  if (agentId !== undefined) conditions.push(`agent_id = ?${args.push(agentId)}`);
  if (before !== undefined) conditions.push(`event_id < ?${args.push(before)}`);
  const index = agentId === undefined ? "refusals_latest" : "refusals_of_agent";
  const latest = `SELECT event_id, at, agent_id, session_id, run_id, payload, withheld FROM events ${
    indexedBy(index)
  }
WHERE ${conditions.join(" AND ")} ORDER BY event_id DESC`;
  const searched = searchedBy(filter, args);
  const sql = searched.length === 0
    ? `${latest} LIMIT ?${args.push(limit)}`
    : `SELECT * FROM (${latest} LIMIT ${SEARCHED}) latest WHERE ${searched.join(" AND ")} LIMIT ?${
      args.push(limit)
    }`;
  const rows = toObjects<Row>(await ctx.store.read({ sql, args }));
  return await withNames(ctx, rows.map((row) => readRow(row, viewer)), viewer) as BudgetRefusal[];
}

function searchedBy(filter: RefusalFilter, args: SqlValue[]): string[] {
  const conditions: string[] = [];
  const add = (value: SqlValue | undefined, condition: (value: string) => string) => {
    if (value !== undefined) conditions.push(condition(`?${args.push(value)}`));
  };
  add(filter.budgetId, IS_OF_BUDGET);
  add(filter.keyId, (key) => `withheld ->> 'key_id' = ${key}`);
  add(filter.sessionId, IS_OF_SESSION);
  add(filter.model, IS_OF_MODEL);
  add(filter.reason, HAS_REASON);
  add(filter.from, (from) => `at >= ${from}`);
  add(filter.to, (to) => `at < ${to}`);
  return conditions;
}

interface Row {
  event_id: bigint;
  at: bigint;
  agent_id: string;
  session_id: string | null;
  run_id: string | null;
  payload: string;
  withheld: string | null;
}

type Amounts = Partial<Pick<BudgetRefusal, "message" | "cost_usd_so_far" | "budget_usd" | "refused_by">>;
type Facts = Pick<BudgetRefusal, "provider" | "model" | "nearest_model" | "reason" | "session_id">;
type Payload = Amounts & Partial<Facts>;

function readRow(row: Row, viewer: Viewer): BudgetRefusal {
  const payload: Payload = JSON.parse(row.payload);
  const withheld: Payload & { key_id?: string } | undefined = row.withheld === null
    ? undefined
    : JSON.parse(row.withheld);
  const { message = "", cost_usd_so_far = null, budget_usd = null, refused_by = [] }: Amounts =
    viewer.seesAll && withheld || payload;
  const { provider = null, model = null, nearest_model = null, reason = refused_by[0]?.reason ?? null } =
    payload;
  const keyId = withheld?.key_id ?? null;
  // Earlier versions stored 0 for an amount that readers of the log may not see.
  const isHidden = refused_by.length > 0 && refused_by[0]!.spent_usd === undefined && row.run_id === null;
  return {
    event_id: Number(row.event_id),
    at: toIso(Number(row.at)),
    agent_id: row.agent_id,
    session_id: row.session_id ?? payload.session_id ?? null,
    run_id: row.run_id,
    key_id: keyId !== null && viewer.sees({ keyId }) ? keyId : null,
    provider,
    model,
    nearest_model,
    reason,
    message,
    cost_usd_so_far: isHidden ? null : cost_usd_so_far,
    budget_usd,
    refused_by,
    key_name: null,
  };
}
