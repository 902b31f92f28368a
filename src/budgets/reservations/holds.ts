import type { BudgetHold } from "../../contract/budgets/budget_state.ts";
import { BUDGETED, dimension, type DimensionWith, type FieldOf } from "../../contract/costs/dimensions.ts";
import type { HoldReason } from "../../contract/values.ts";
import { type Clock, toIso } from "../../kernel/clock.ts";
import { toUsd } from "../../kernel/money.ts";
import type { SqlValue, Store } from "../../store/mod.ts";
import { withNames } from "../../keys/mod.ts";
import { ALL_SEEING, columnOf, entityOf, idInScope, isScopeOf, type Viewer } from "../../ledger/mod.ts";
import { countersOf, scopesOfShape } from "../budget_counters.ts";
import type { BudgetRow } from "../budget_fields.ts";
import { readFrom } from "../budget_states.ts";
import { IS_HELD } from "./standing_sql.ts";

/* The amounts that strict budgets hold for calls that are not in progress: see `BudgetHold`. */

/** The newest holds of a budget that are listed. */
const LISTED = 100;

/** Returns the condition of the reservations `h` that a budget holds in its windows that begin then, and its first arguments. */
export function heldBy(row: BudgetRow, from: number): { where: string; args: SqlValue[] } {
  if (row.shape !== null) {
    const { where, args } = scopesOfShape(row, "h.scope");
    const held = `${IS_HELD} AND h.worst_nano_usd > 0 AND h.at >= ?4 AND ${row.mode === "strict"}`;
    return { where: `${held} AND ${where}`, args: [...args, from] };
  }
  const kind = countersOf(row);
  const named = kind === undefined ? undefined : entityOf(row.scope);
  const args: SqlValue[] = [from, kind === undefined ? row.scope : named?.id ?? null];
  const conditions = [
    IS_HELD,
    "h.worst_nano_usd > 0 AND h.at >= ?1",
    kind === undefined ? "h.scope = ?2" : isScopeOf(kind, "h.scope"),
    named === undefined ? "?2 IS NOT DISTINCT FROM ?2" : `${columnOf(named.kind, "h")} = ?2`,
    row.mode === "strict" ? "true" : "false",
  ];
  return { where: conditions.join(" AND "), args };
}

type NamedValues = Pick<BudgetHold, FieldOf<DimensionWith<"isBudgeted">>>;

/** Lists the amounts that a budget holds in its present windows, newest first. */
export async function listHolds(
  { store, clock }: { store: Pick<Store, "read">; clock: Pick<Clock, "now"> },
  row: BudgetRow,
  viewer: Viewer = ALL_SEEING,
): Promise<BudgetHold[]> {
  const { where, args } = heldBy(row, await readFrom({ store }, row, clock.now()));
  const { rows } = await store.read({
    sql:
      `SELECT h.reservation_id, h.worst_nano_usd, h.at, CASE h.is_lost WHEN 1 THEN 'uncounted' ELSE 'unbooked' END,
  (SELECT ${idInScope("run", "o.scope")} FROM reservations o
    WHERE o.reservation_id = h.reservation_id AND ${isScopeOf("run", "o.scope")} LIMIT 1), ${
        BUDGETED.map((kind) => columnOf(kind, "h")).join(", ")
      }
FROM reservations h WHERE ${where} ORDER BY h.at DESC, h.reservation_id DESC LIMIT ${LISTED}`,
    args,
  });
  const holds = rows.map(([id, worst, at, reason, runId, ...values]) => ({
    reservation_id: id as string,
    held_usd: toUsd(worst as bigint),
    at: toIso(Number(at)),
    reason: reason as HoldReason,
    ...Object.fromEntries(
      BUDGETED.map((kind, index) => [dimension(kind).field, values[index]]),
    ) as NamedValues,
    run_id: runId as string | null,
  }));
  return await withNames({ store }, holds, viewer);
}
