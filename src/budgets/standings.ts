import type { BudgetAction, BudgetMode, BudgetPeriod } from "../contract/values.ts";
import type { NanoUsd } from "../kernel/money.ts";
import { keyScope } from "../ledger/mod.ts";
import type { SqlValue, Store } from "../store/mod.ts";
import type { Budget, ReservedAmounts, Standing } from "./decide_call.ts";
import { READ_COUNTERS, READ_STANDINGS } from "./standing_sql.ts";
import { windowOf } from "./windows.ts";

export { keyScope } from "../ledger/mod.ts";

/** The scope of a session's counters. */
export const sessionScope = (sessionId: string) => `session ${sessionId}`;

/** The scope of a run's counters. */
export const runScope = (runId: string) => `run ${runId}`;

/** A run above another. */
export interface RunAbove {
  runId: string;
  agentId: string;
  budget: Budget | null;
}

/** The counters that a call adds to, by its agent, session, key and run. */
export interface CallScopes {
  agentId: string;
  sessionId: string | null;
  keyId: string | null;
  /** Null for a call of no run, such as one that is made elsewhere. */
  runId: string | null;
  /** The budget of the run itself. */
  budget: Budget | null;
  /** The runs above its own, whose budgets count it too. */
  above?: readonly RunAbove[];
}

/** A reservation to make, or a call to look up the budgets of. */
export interface CallToDecide {
  reservationId: string;
  scopes: CallScopes;
  at: number;
  amounts: ReservedAmounts;
  isUnpriced: boolean;
  leaseMs: number;
  /** True where a power loss may lose the reservation: it ends this process too, and no strict budget has to remember it. */
  mayLose?: boolean;
}

const scopeText = (text: string) => JSON.stringify(text);

/** Returns the row of a call, of `CALL_COLUMNS`. */
export function toCallRow(
  { reservationId, scopes, at, amounts, isUnpriced, leaseMs }: CallToDecide,
): SqlValue[] {
  const { agentId, sessionId, keyId, runId, budget, above = [] } = scopes;
  const start = (per: BudgetPeriod) => windowOf(per, at).from;
  const runs = [...runId !== null && budget ? [{ runId, budget }] : [], ...above].flatMap((
    { runId, budget },
  ) =>
    budget
      ? [
        `[${scopeText(runScope(runId))},${budget.limitNanoUsd},"${budget.mode}",${
          Number(budget.allowUnpriced ?? false)
        }]`,
      ]
      : []
  );
  const ancestors = above.map(({ runId, agentId }) => [runScope(runId), agentId]);
  return [
    reservationId,
    agentId,
    sessionId === null ? null : sessionScope(sessionId),
    keyId === null ? null : keyScope(keyId),
    runId === null ? null : runScope(runId),
    runScope(runId ?? reservationId),
    at,
    start("hour"),
    start("day"),
    start("week"),
    start("month"),
    amounts.estimateNanoUsd,
    amounts.worstNanoUsd,
    Number(isUnpriced),
    runs.length === 0 ? "[]" : `[${runs.join(",")}]`,
    ancestors.length === 0 ? "[]" : JSON.stringify(ancestors),
    leaseMs,
  ];
}

/** The rest of a call whose budgets are looked up, and not reserved. */
export const LOOKED_UP = {
  reservationId: "",
  amounts: { estimateNanoUsd: 0n, worstNanoUsd: null },
  isUnpriced: false,
  leaseMs: 0,
};

/** Reads the budgets that count a call, with their states. */
export async function readStandingsOf(
  { store }: { store: Store },
  { scopes, at }: Pick<CallToDecide, "scopes" | "at">,
): Promise<Standing[]> {
  const { rows } = await store.read({
    sql: READ_STANDINGS,
    args: toCallRow({ ...LOOKED_UP, scopes, at }),
  });
  return rows.map((row) => toStanding(row, at));
}

function toStanding(row: SqlValue[], at: number): Standing {
  const [
    budgetId,
    name,
    per,
    scope,
    from,
    mode,
    action,
    allowUnpriced,
    limit,
    extra,
    settled,
    estimated,
    worst,
    lost,
  ] = row;
  return {
    budgetId: budgetId as string | null,
    name: name as string | null,
    per: per as BudgetPeriod,
    scope: scope as string,
    from: Number(from),
    resetsAt: windowOf(per as BudgetPeriod, at).resetsAt,
    mode: mode as BudgetMode,
    action: action as BudgetAction,
    allowUnpriced: Number(allowUnpriced) !== 0,
    limitNanoUsd: limit as bigint,
    extraNanoUsd: extra as bigint,
    settledNanoUsd: settled as bigint,
    estimatedNanoUsd: estimated as bigint,
    worstNanoUsd: worst as bigint,
    lostNanoUsd: lost as bigint,
  };
}

/** A counter: a scope and the start of a window. */
export interface Counter {
  scope: string;
  per: BudgetPeriod;
  from: number;
}

/** The state of a counter. */
export interface CounterState {
  settledNanoUsd: NanoUsd;
  estimatedNanoUsd: NanoUsd;
  worstNanoUsd: NanoUsd;
  lostNanoUsd: NanoUsd;
}

/** Reads the states of counters, in their order, over one consistent view. */
export async function readStandings(
  { store }: { store: Pick<Store, "read"> },
  counters: readonly Counter[],
): Promise<CounterState[]> {
  const keyOf = (scope: unknown, from: unknown, isHour: unknown) => `${from} ${isHour} ${scope}`;
  const wanted = counters.map((
    { scope, per, from },
  ): [string, number, number] => [scope, from, Number(per === "hour")]);
  const distinct = new Map(wanted.map((counter) => [keyOf(...counter), counter]));
  const { rows } = await store.read({ sql: READ_COUNTERS, args: [JSON.stringify([...distinct.values()])] });
  const states = new Map(rows.map(([scope, from, isHour, settled, estimated, worst, lost]) => [
    keyOf(scope, from, isHour),
    {
      settledNanoUsd: settled as bigint,
      estimatedNanoUsd: estimated as bigint,
      worstNanoUsd: worst as bigint,
      lostNanoUsd: lost as bigint,
    },
  ]));
  return wanted.map((counter) => states.get(keyOf(...counter))!);
}
