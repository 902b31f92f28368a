import { recordPrices } from "../../ledger/mod.ts";
import { priceRecordOf } from "../../pricing/mod.ts";
import type { Statement } from "../../store/mod.ts";
import type { Cursor } from "./read_calls.ts";
import { SUM_COLUMNS, toSumValues } from "./model_sums.ts";
import type { Plan } from "./plan_page.ts";

/** The columns that an adjustment has from its call. It has no tokens, and is no estimate of its own. */
const COPIED = "at, agent_id, session_id, run_id, step, key_id, source, provider, model";
const EMPTY = "'[]', 0, 0, 0, 0, 0, 0, 0, 0";
const COLUMNS = `call_id, adjusts, ${COPIED}, tools, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, total_tokens, is_estimated, cost_nano_usd, unpriced,
  partly_priced, unpriced_parts, price_source, price_id`;
const of = (row: string, columns: string) =>
  columns.split(", ").map((column) => `${row}.${column}`).join(", ");

/** The repricing as it was when the calls were read: if another process has continued it, nothing is written. */
const UNMOVED = `repricings r ON r.repricing_id = v.repricing_id AND r.status = 'applying'
  AND r.cursor_at = v.cursor_at AND r.cursor_position = v.cursor_position`;
const UNMOVED_COLUMNS = ["repricing_id", "cursor_at", "cursor_position"];

const INSERT = `INSERT INTO calls (${COLUMNS})
SELECT r.repricing_id || ':' || c.call_id, c.call_id, ${of("c", COPIED)}, ${EMPTY},
  v.cost_nano_usd, v.unpriced, v.partly_priced, v.unpriced_parts, v.price_source, v.price_id
FROM each_row v CROSS JOIN ${UNMOVED} CROSS JOIN calls c ON c.call_id = v.call_id`;
const INSERT_COLUMNS = [
  ...UNMOVED_COLUMNS,
  "call_id",
  "cost_nano_usd",
  "unpriced",
  "partly_priced",
  "unpriced_parts",
  "price_source",
  "price_id",
];

const COUNT = `INSERT INTO repricing_models (repricing_id, provider, model, ${SUM_COLUMNS.join(", ")})
SELECT r.repricing_id, v.provider, v.model, ${SUM_COLUMNS.map((column) => `v.${column}`).join(", ")}
FROM each_row v CROSS JOIN ${UNMOVED} WHERE true
ON CONFLICT DO UPDATE SET ${
  SUM_COLUMNS.map((column) => `${column} = ${column} + excluded.${column}`).join(", ")
}`;
const COUNT_COLUMNS = [...UNMOVED_COLUMNS, "provider", "model", ...SUM_COLUMNS];

const MOVE = `UPDATE repricings SET cursor_at = ?4, cursor_position = ?5, applied_at = ?6,
  status = iif(?6 IS NULL, 'applying', 'applied'), in_progress = iif(?6 IS NULL, 1, NULL)
WHERE repricing_id = ?1 AND status = 'applying' AND cursor_at = ?2 AND cursor_position = ?3`;

/** A step of a repricing that is being applied. */
export interface ApplyStep {
  repricingId: string;
  /** The cursor with which its calls were read. */
  from: Cursor;
  to: Cursor;
  plan: Plan;
  /** The time of the last step; null if calls may follow. */
  appliedAt: number | null;
}

/** Returns the statements that book the adjustments of a step, count it, and move the cursor: all of it once or never. */
export function applyStatements(
  { repricingId, from, to, plan, appliedAt }: ApplyStep,
  knownPrices: ReadonlySet<number>,
): { statements: Statement[]; priceIds: number[] } {
  const cursor = [repricingId, from.at, from.position];
  const prices = recordPrices(plan.adjustments.map(({ price }) => price), knownPrices);
  const rows = plan.adjustments.map(({ callId, costNanoUsd, unpriced, partlyPriced, price }) => [
    ...cursor,
    callId,
    costNanoUsd,
    unpriced,
    partlyPriced,
    price.unpricedParts ? JSON.stringify(price.unpricedParts) : null,
    price.priceSource,
    price.rates ? priceRecordOf(price.rates).priceId : null,
  ]);
  const models = [...plan.models.values()].map((sums) => [
    ...cursor,
    sums.provider,
    sums.model,
    ...toSumValues(sums),
  ]);
  return {
    priceIds: prices.priceIds,
    statements: [
      ...prices.statements,
      ...rows.length === 0 ? [] : [{ sql: INSERT, each: { columns: INSERT_COLUMNS, rows } }],
      ...models.length === 0 ? [] : [{ sql: COUNT, each: { columns: COUNT_COLUMNS, rows: models } }],
      { sql: MOVE, args: [...cursor, to.at, to.position, appliedAt] },
    ],
  };
}

// The entries of a repricing, in the order of their ids, from the cursor on.
const TO_UNDO = `calls a ON a.call_id > r.repricing_id || ':' || r.undo_cursor
  AND a.call_id < r.repricing_id || ';'`;

/** The entry before an adjustment has the price that is current again: one of the same call, else the call. */
const before = (column: string) => `iif(b.position IS NULL, c.${column}, b.${column})`;

const UNDO = `INSERT INTO calls (${COLUMNS})
SELECT r.undo_id || ':' || a.adjusts, a.adjusts, ${of("a", COPIED)}, ${EMPTY},
  -a.cost_nano_usd, -a.unpriced, -a.partly_priced, ${before("unpriced_parts")}, ${before("price_source")}, ${
  before("price_id")
}
FROM repricings r CROSS JOIN ${TO_UNDO}
CROSS JOIN calls c ON c.call_id = a.adjusts
LEFT JOIN calls b ON b.position = (SELECT max(e.position) FROM calls e WHERE e.adjusts = a.adjusts AND e.position < a.position)
WHERE r.repricing_id = ?1 AND r.status = 'undoing' ORDER BY a.call_id LIMIT ?2`;

const NEXT_UNDO = `SELECT a.adjusts FROM repricings r CROSS JOIN ${TO_UNDO}
  WHERE r.repricing_id = ?1 ORDER BY a.call_id LIMIT ?2`;

// After the insertion: the ids of calls end the ids of their entries, so the order is the same.
const MOVE_UNDO =
  `UPDATE repricings SET undo_cursor = coalesce((SELECT max(adjusts) FROM (${NEXT_UNDO})), undo_cursor)
WHERE repricing_id = ?1 AND status = 'undoing'`;

const END_UNDO = `UPDATE repricings SET status = 'undone', undone_at = ?3, in_progress = NULL
WHERE repricing_id = ?1 AND status = 'undoing' AND NOT EXISTS (${NEXT_UNDO})`;

/** Returns the statements that book the opposite of the next adjustments of a repricing, and move its cursor. */
export function undoStatements(repricingId: string, entries: number, now: number): Statement[] {
  return [
    { sql: UNDO, args: [repricingId, entries] },
    { sql: MOVE_UNDO, args: [repricingId, entries] },
    { sql: END_UNDO, args: [repricingId, 1, now] },
  ];
}
