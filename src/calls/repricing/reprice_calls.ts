import { FORGET_HEADROOM } from "../../budgets/reservations/mod.ts";
import type { Repricing, RepricingFilter } from "../../contract/repricings.ts";
import { PurserError } from "../../kernel/errors.ts";
import { auditEntry, type Author, ConstraintError, ORDERED_JOIN, type Statement } from "../../store/mod.ts";
import type { CallContext } from "../context.ts";
import { newPlan, type Plan, planCalls } from "./plan_page.ts";
import { type Cursor, readPage, type RepricedCalls, START } from "./plan_page.ts";
import {
  getRepricing,
  readNewestRepricing,
  readRepricing,
  readRepricingInProgress,
  type RepricingRow,
  toRepricing,
} from "./repricings.ts";
import { READ_LEDGER, toLedgerState } from "../booking_set.ts";
import { recordPrices, SCOPE_COLUMNS } from "../../ledger/mod.ts";
import { priceRecordOf } from "../../pricing/mod.ts";
import { SUM_COLUMNS, toSumValues } from "./model_sums.ts";

/** A step is committed once it has so many adjustments; a page may add 1,000 to them. */
const ADJUSTMENTS_PER_STEP = 500;

/** The time after which a request answers with what is done so far; the next one continues. */
const MAX_MS = 20_000;

const READ_NEWEST = "SELECT coalesce(max(position), 0) FROM calls";

/** Returns what a repricing would change. Reads only. */
export async function planRepricing(ctx: CallContext, filter: RepricingFilter): Promise<Repricing> {
  return (await planUntil(ctx, filter, () => false))!;
}

/** Returns what a repricing would change; undefined as soon as a page of its calls meets a condition. */
async function planUntil(
  ctx: CallContext,
  filter: RepricingFilter,
  isEnough: (page: Plan) => boolean,
): Promise<Repricing | undefined> {
  await ctx.prices.ready?.();
  const plan = newPlan();
  const repriced = { filter, upTo: await readNewestPosition(ctx) };
  for (let cursor: Cursor | undefined = START; cursor;) {
    const page = await readPage(ctx, repriced, cursor);
    if (page) planCalls(ctx.prices, page.calls, plan);
    if (isEnough(plan)) return undefined;
    plan.adjustments = [];
    cursor = page?.end;
  }
  const state = { repricing_id: null, status: "dry_run", filter, createdAt: ctx.clock.now() } as const;
  return toRepricing(state, [...plan.models.values()]);
}

type AuthorContext = CallContext & { author: Author };

const INSERT = `INSERT INTO repricings (repricing_id, undo_id, status, in_progress, filter, up_to, cursor_at,
  cursor_position, undo_cursor, created_at)
SELECT ?1, ?2, 'applying', 1, ?3, coalesce(max(position), 0), ?4, ?5, '', ?6 FROM calls`;

/**
 * Books the differences between what calls cost and today's prices. If there are none, nothing is booked, and the answer has
 * no id. If a repricing of the same calls is in progress, it is continued; the answer has the status `applying` if it takes
 * longer than a request may.
 *
 * @throws {PurserError} `conflict` while another repricing is in progress
 */
export async function applyRepricing(ctx: AuthorContext, filter: RepricingFilter): Promise<Repricing> {
  if (!await readRepricingInProgress(ctx.query)) {
    const unchanged = await planUntil(ctx, filter, ({ adjustments }) => adjustments.length > 0);
    if (unchanged) return unchanged;
  }
  const repricingId = ctx.ids.next("rep");
  const now = ctx.clock.now();
  const args = [
    repricingId,
    ctx.ids.next("rep"),
    JSON.stringify(filter),
    START.at,
    START.position,
    now,
  ];
  const edit = { author: ctx.author, now };
  const busy = await writeUnlessBusy(ctx, [
    auditEntry(edit, {
      action: "applied",
      kind: "repricing",
      id: repricingId,
      name: null,
      after: { filter },
    }),
    { sql: INSERT, args },
  ]);
  if (!busy) return continueRepricing(ctx, repricingId);
  if (busy.status !== "applying" || JSON.stringify(busy.filter) !== JSON.stringify(filter)) {
    throw inProgress("start a repricing", busy);
  }
  return continueRepricing(ctx, busy.repricingId);
}

/** A start is written so many times at most: each time another repricing has refused it, and has ended before it was found. */
const MAX_STARTS = 10;

/** Writes the start of a repricing or of its undoing, with its entry of the audit log, or returns the repricing in progress that refuses it. */
async function writeUnlessBusy(ctx: CallContext, start: Statement[]): Promise<RepricingRow | undefined> {
  for (let starts = 1;; starts++) {
    try {
      await ctx.store.write(start);
      return undefined;
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
      const busy = await readRepricingInProgress(ctx.query);
      if (busy) return busy;
      if (starts === MAX_STARTS) throw error;
    }
  }
}

/** Returns the error of a request while a repricing is in progress. */
export function inProgress(what: string, { repricingId, status }: RepricingRow): PurserError {
  const remedy = status === "undoing"
    ? `purser reprice undo ${repricingId} finishes it`
    : `purser reprice apply ${repricingId} finishes it, purser reprice undo ${repricingId} takes it back`;
  return new PurserError("conflict", `Cannot ${what}: ${repricingId} is in progress; ${remedy}`, {
    details: { repricing_id: repricingId },
  });
}

/**
 * Continues a repricing, such as one whose process has died. Several processes may do this at once: each step is committed
 * by one of them.
 *
 * @throws {PurserError} `not_found`; `conflict` if it is being undone
 */
export async function continueRepricing(ctx: CallContext, repricingId: string): Promise<Repricing> {
  await ctx.prices.ready?.();
  const endsAt = ctx.clock.now() + MAX_MS;
  const knownPrices = new Set<number>();
  for (;;) {
    const row = await readRepricing(ctx.query, repricingId);
    if (row.status === "undoing" || row.status === "undone") {
      throw new PurserError("conflict", `Cannot apply repricing ${repricingId}: it is ${row.status}`);
    }
    if (row.status === "applied" || ctx.clock.now() >= endsAt) break;
    const from = { at: row.cursorAt, position: row.cursorPosition };
    const step = await planStep(ctx, row, from);
    const appliedAt = step.isLast ? ctx.clock.now() : null;
    const { statements, priceIds } = applyStatements({ repricingId, from, ...step, appliedAt }, knownPrices);
    await commitStep(ctx, statements);
    for (const priceId of priceIds) knownPrices.add(priceId);
  }
  return getRepricing(ctx, repricingId);
}

async function planStep(ctx: CallContext, repriced: RepricedCalls, from: Cursor) {
  const plan = newPlan();
  let to = from;
  while (plan.adjustments.length < ADJUSTMENTS_PER_STEP) {
    const page = await readPage(ctx, repriced, to);
    if (!page) return { plan, to, isLast: true };
    planCalls(ctx.prices, page.calls, plan);
    to = page.end;
  }
  return { plan, to, isLast: false };
}

async function readNewestPosition({ store }: CallContext): Promise<number> {
  return Number((await store.read({ sql: READ_NEWEST })).rows[0]![0]);
}

/** The entries that one commit adds. */
const ENTRIES_PER_STEP = 500;

// Only the newest: a later one was computed from the costs that this one has made.
const MAY_BE_UNDONE = `repricing_id = ?1 AND status IN ('applying', 'applied') AND NOT EXISTS (
  SELECT 1 FROM repricings n WHERE n.position > repricings.position AND n.status <> 'undone' AND EXISTS (
    SELECT 1 FROM repricing_models m WHERE m.repricing_id = n.repricing_id AND m.changed_calls > 0))`;
const BEGIN = `UPDATE repricings SET status = 'undoing', in_progress = 1 WHERE ${MAY_BE_UNDONE}`;
const IS_BEGUN = `EXISTS (SELECT 1 FROM repricings WHERE ${MAY_BE_UNDONE})`;

/**
 * Books the opposite of each adjustment of a repricing, once; one that was interrupted is continued. The answer has the
 * status `undoing` if it takes longer than a request may.
 *
 * @throws {PurserError} `not_found`; `conflict` if a later repricing is not undone, or another one in progress
 */
export async function undoRepricing(ctx: AuthorContext, repricingId: string): Promise<Repricing> {
  const endsAt = ctx.clock.now() + MAX_MS;
  await begin(ctx, repricingId);
  for (;;) {
    const { status } = await readRepricing(ctx.query, repricingId);
    if (status !== "undoing" || ctx.clock.now() >= endsAt) break;
    await commitStep(ctx, undoStatements(repricingId, ENTRIES_PER_STEP, ctx.clock.now()));
  }
  return getRepricing(ctx, repricingId);
}

async function begin(ctx: AuthorContext, repricingId: string): Promise<void> {
  await readRepricing(ctx.query, repricingId);
  const edit = { author: ctx.author, now: ctx.clock.now() };
  const undone = { action: "undone", kind: "repricing", id: repricingId, name: null } as const;
  const args = [repricingId];
  const busy = await writeUnlessBusy(ctx, [
    auditEntry(edit, undone, { sql: IS_BEGUN, args }),
    { sql: BEGIN, args },
  ]);
  if (busy) throw inProgress(`undo repricing ${repricingId}`, busy);
  const { status } = await readRepricing(ctx.query, repricingId);
  if (status === "undoing" || status === "undone") return;
  const newest = await readNewestRepricing(ctx.query);
  throw new PurserError(
    "conflict",
    `Cannot undo repricing ${repricingId}: ${newest?.repricingId} was applied after it; undo that one first`,
    { details: { repricing_id: newest?.repricingId } },
  );
}

/** Commits adjustments, and rolls up the totals and counters before the next ones. */
export async function commitStep(ctx: CallContext, statements: readonly Statement[]): Promise<void> {
  const results = await ctx.store.write([...statements, FORGET_HEADROOM, { sql: READ_LEDGER }]);
  await ctx.rollUps.followUp(ctx, toLedgerState(results.at(-1)!));
}

/** The columns that an adjustment has from its call. It has no tokens, and is no estimate of its own. */
const COPIED = `at, ${SCOPE_COLUMNS.join(", ")}, step, source, provider, model, tags, upstream_id`;
const EMPTY = "'[]', 0, 0, 0, 0, 0, 0, 0, 0";
const COLUMNS = `call_id, adjusts, ${COPIED}, tools, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, total_tokens, is_estimated, cost_nano_usd, plan_nano_usd,
  unpriced, partly_priced, unpriced_parts, price_source, price_id`;
const of = (row: string, columns: string) =>
  columns.split(", ").map((column) => `${row}.${column}`).join(", ");

/** The repricing as it was when the calls were read: if another process has continued it, nothing is written. */
const UNMOVED = `repricings r ON r.repricing_id = v.repricing_id AND r.status = 'applying'
  AND r.cursor_at = v.cursor_at AND r.cursor_position = v.cursor_position`;
const UNMOVED_COLUMNS = ["repricing_id", "cursor_at", "cursor_position"];
const UNMOVED_INTEGERS = ["cursor_at", "cursor_position"];

const INSERT_CALLS = `INSERT INTO calls (${COLUMNS})
SELECT r.repricing_id || ':' || c.call_id, c.call_id, ${of("c", COPIED)}, ${EMPTY},
  v.cost_nano_usd, v.plan_nano_usd, v.unpriced, v.partly_priced, v.unpriced_parts, v.price_source, v.price_id
FROM each_row v ${ORDERED_JOIN} ${UNMOVED} ${ORDERED_JOIN} calls c ON c.call_id = v.call_id`;
const INSERT_COLUMNS = [
  ...UNMOVED_COLUMNS,
  "call_id",
  "cost_nano_usd",
  "plan_nano_usd",
  "unpriced",
  "partly_priced",
  "unpriced_parts",
  "price_source",
  "price_id",
];
const INSERT_INTEGERS = [
  ...UNMOVED_INTEGERS,
  "cost_nano_usd",
  "plan_nano_usd",
  "unpriced",
  "partly_priced",
  "price_id",
];

const COUNT = `INSERT INTO repricing_models (repricing_id, provider, model, ${SUM_COLUMNS.join(", ")})
SELECT r.repricing_id, v.provider, v.model, ${SUM_COLUMNS.map((column) => `v.${column}`).join(", ")}
FROM each_row v ${ORDERED_JOIN} ${UNMOVED} WHERE true
ON CONFLICT (repricing_id, provider, model) DO UPDATE SET ${
  SUM_COLUMNS.map((column) => `${column} = repricing_models.${column} + excluded.${column}`).join(", ")
}`;
const COUNT_COLUMNS = [...UNMOVED_COLUMNS, "provider", "model", ...SUM_COLUMNS];
const COUNT_INTEGERS = [...UNMOVED_INTEGERS, ...SUM_COLUMNS];

const MOVE = `UPDATE repricings SET cursor_at = ?4, cursor_position = ?5, applied_at = ?6,
  status = CASE WHEN CAST(?6 AS BIGINT) IS NULL THEN 'applying' ELSE 'applied' END,
  in_progress = CASE WHEN CAST(?6 AS BIGINT) IS NULL THEN 1 END
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
  const rows = plan.adjustments.map(({ callId, costNanoUsd, planNanoUsd, unpriced, partlyPriced, price }) => [
    ...cursor,
    callId,
    costNanoUsd,
    planNanoUsd,
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
      ...rows.length === 0
        ? []
        : [{ sql: INSERT_CALLS, each: { columns: INSERT_COLUMNS, integers: INSERT_INTEGERS, rows } }],
      ...models.length === 0
        ? []
        : [{ sql: COUNT, each: { columns: COUNT_COLUMNS, integers: COUNT_INTEGERS, rows: models } }],
      { sql: MOVE, args: [...cursor, to.at, to.position, appliedAt] },
    ],
  };
}

// The entries of a repricing, in the order of their ids, from the cursor on.
const TO_UNDO = `calls a ON a.call_id > r.repricing_id || ':' || r.undo_cursor
  AND a.call_id < r.repricing_id || ';'`;

/** The entry before an adjustment has the price that is current again: one of the same call, else the call. */
const before = (column: string) => `CASE WHEN b.position IS NULL THEN c.${column} ELSE b.${column} END`;

const UNDO = `INSERT INTO calls (${COLUMNS})
SELECT r.undo_id || ':' || a.adjusts, a.adjusts, ${of("a", COPIED)}, ${EMPTY},
  -a.cost_nano_usd, -a.plan_nano_usd, -a.unpriced, -a.partly_priced, ${before("unpriced_parts")}, ${
  before("price_source")
}, ${before("price_id")}
FROM repricings r ${ORDERED_JOIN} ${TO_UNDO}
${ORDERED_JOIN} calls c ON c.call_id = a.adjusts
LEFT JOIN calls b ON b.position = (SELECT max(e.position) FROM calls e WHERE e.adjusts = a.adjusts AND e.position < a.position)
WHERE r.repricing_id = ?1 AND r.status = 'undoing' ORDER BY a.call_id LIMIT ?2`;

const NEXT_UNDO = `SELECT a.adjusts FROM repricings r ${ORDERED_JOIN} ${TO_UNDO}
  WHERE r.repricing_id = ?1 ORDER BY a.call_id LIMIT ?2`;

// After the insertion: the ids of calls end the ids of their entries, so the order is the same.
const MOVE_UNDO =
  `UPDATE repricings SET undo_cursor = coalesce((SELECT max(adjusts) FROM (${NEXT_UNDO}) next), undo_cursor)
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
