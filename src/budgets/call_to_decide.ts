import type { Billing, BudgetPeriod } from "../contract/values.ts";
import { COUNTED } from "../contract/costs/dimensions.ts";
import { tagsText } from "../contract/tags/tags.ts";
import { type ModelCall, scopeIn, scopeOf, type Scopes, treeOf } from "../ledger/mod.ts";
import type { SqlValue } from "../store/mod.ts";
import type { Budget, ReservedAmounts } from "./decide_call.ts";
import { windowOf } from "../contract/windows.ts";
import { DAY_MS } from "../kernel/clock.ts";

/** A run above another. */
export interface RunAbove {
  runId: string;
  agentId: string;
  budget: Budget | null;
}

/** The counters that a call adds to: those of its scopes, and those of the runs above its own. */
export type CallScopes = Scopes & {
  /** The budget of the run itself. */
  budget: Budget | null;
  /** The runs above its own, whose budgets count it too. */
  above?: readonly RunAbove[];
  /** The other parts that budgets name; budgets of a part that isn't known don't count the call. */
  subjects?: Partial<CallSubjects>;
};

/** The parts of a call that budgets name besides its scopes. */
export type CallSubjects = Pick<ModelCall, "model" | "provider" | "source" | "tags"> & { billing: Billing };

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

const BY_DAY = ["day", "week", "month", "quarter", "30d"] as const satisfies BudgetPeriod[];

/** The starts of the windows of the last day that was asked for; the first of them is its own. */
let startsOfDay: readonly number[] = [NaN];

/** Returns the starts of the windows of UTC that hold a time, which change only with its day. */
function startsIn(at: number): readonly number[] {
  const isInDay = at >= startsOfDay[0]! && at < startsOfDay[0]! + DAY_MS;
  return isInDay ? startsOfDay : startsOfDay = BY_DAY.map((per) => windowOf(per, at).from);
}

/** Returns the row of a call, of `CALL_COLUMNS`; `n` is its number in the statement. */
export function toCallRow(
  { reservationId, scopes, at, amounts, isUnpriced, leaseMs }: CallToDecide,
  n: number,
): SqlValue[] {
  const { runId, budget, above = [], subjects } = scopes;
  const runs = (runId === null ? above : [{ runId, budget }, ...above]).flatMap(({ runId, budget }) =>
    budget
      ? [
        `[${JSON.stringify(scopeOf("run", runId))},${budget.limitNanoUsd},"${budget.mode}",${
          Number(budget.allowUnpriced ?? false)
        }]`,
      ]
      : []
  );
  const ancestors = above.map(({ runId, agentId }) => [scopeOf("run", runId), agentId]);
  return [
    n,
    reservationId,
    ...COUNTED.map((kind) => scopeIn(kind, scopes)),
    treeOf(scopes),
    subjects?.model ?? null,
    subjects?.provider ?? null,
    subjects?.source ?? null,
    subjects?.billing ?? null,
    subjects?.tags ? tagsText(subjects.tags) : null,
    at,
    windowOf("hour", at).from,
    ...startsIn(at),
    amounts.estimateNanoUsd,
    amounts.worstNanoUsd,
    Number(isUnpriced),
    runs.length === 0 ? "[]" : `[${runs.join(",")}]`,
    ancestors.length === 0 ? "[]" : JSON.stringify(ancestors),
    leaseMs,
  ];
}
