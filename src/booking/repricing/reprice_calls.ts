import type { Repricing, RepricingFilter } from "../../contract/repricings.ts";
import { PurserError } from "../../kernel/errors.ts";
import { ConstraintError, type Statement } from "../../store/mod.ts";
import type { BookingContext } from "../context.ts";
import { applyStatements, undoStatements } from "./adjustment_rows.ts";
import { newPlan, planCalls } from "./plan_page.ts";
import { type Cursor, readPage, type RepricedCalls, START } from "./read_calls.ts";
import {
  getRepricing,
  readNewestRepricing,
  readRepricing,
  readRepricingInProgress,
  type RepricingRow,
  toRepricing,
} from "./repricings.ts";
import { READ_LEDGER, toLedgerState } from "../booking_set.ts";

/** A step is committed once it has so many adjustments; a page may add 1,000 to them. */
const ADJUSTMENTS_PER_STEP = 500;

/** The time after which a request answers with what is done so far; the next one continues. */
const MAX_MS = 20_000;

const READ_NEWEST = "SELECT coalesce(max(position), 0) FROM calls";

/** Returns what a repricing would change. Reads only. */
export async function planRepricing(ctx: BookingContext, filter: RepricingFilter): Promise<Repricing> {
  await ctx.prices.ready?.();
  const plan = newPlan();
  const repriced = { filter, upTo: await readNewestPosition(ctx) };
  for (let cursor: Cursor | undefined = START; cursor;) {
    const page = await readPage(ctx, repriced, cursor);
    if (page) planCalls(ctx.prices, page.calls, plan);
    plan.adjustments = [];
    cursor = page?.end;
  }
  const state = { repricing_id: null, status: "dry_run", filter, createdAt: ctx.clock.now() } as const;
  return toRepricing(state, [...plan.models.values()]);
}

const INSERT = `INSERT INTO repricings (repricing_id, undo_id, status, in_progress, filter, up_to, cursor_at,
  cursor_position, undo_cursor, created_at)
SELECT ?1, ?2, 'applying', 1, ?3, coalesce(max(position), 0), ?4, ?5, '', ?6 FROM calls`;

/**
 * Books the differences between what calls cost and today's prices. If a repricing of the same calls is in progress, it is
 * continued; the answer has the status `applying` if it takes longer than a request may.
 *
 * @throws {PurserError} `conflict` while another repricing is in progress
 */
export async function applyRepricing(ctx: BookingContext, filter: RepricingFilter): Promise<Repricing> {
  await ctx.prices.ready?.();
  const repricingId = ctx.ids.next("rep");
  const args = [
    repricingId,
    ctx.ids.next("rep"),
    JSON.stringify(filter),
    START.at,
    START.position,
    ctx.clock.now(),
  ];
  try {
    await ctx.store.write([{ sql: INSERT, args }]);
  } catch (error) {
    const busy = error instanceof ConstraintError ? await readRepricingInProgress(ctx.query) : undefined;
    if (!busy) throw error;
    if (busy.status !== "applying" || JSON.stringify(busy.filter) !== JSON.stringify(filter)) {
      throw inProgress("start a repricing", busy);
    }
    return continueRepricing(ctx, busy.repricingId);
  }
  return continueRepricing(ctx, repricingId);
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
export async function continueRepricing(ctx: BookingContext, repricingId: string): Promise<Repricing> {
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

async function planStep(ctx: BookingContext, repriced: RepricedCalls, from: Cursor) {
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

async function readNewestPosition({ store }: BookingContext): Promise<number> {
  return Number((await store.read({ sql: READ_NEWEST })).rows[0]![0]);
}

/** The entries that one commit adds. */
const ENTRIES_PER_STEP = 500;

// The newest only: a later one that has changed costs has compared with those that this one made.
const BEGIN = `UPDATE repricings SET status = 'undoing', in_progress = 1
WHERE repricing_id = ?1 AND status IN ('applying', 'applied') AND NOT EXISTS (
  SELECT 1 FROM repricings n WHERE n.position > repricings.position AND n.status <> 'undone' AND EXISTS (
    SELECT 1 FROM repricing_models m WHERE m.repricing_id = n.repricing_id AND m.changed_calls > 0))`;

/**
 * Books the opposite of each adjustment of a repricing, once; one that was interrupted is continued. The answer has the
 * status `undoing` if it takes longer than a request may.
 *
 * @throws {PurserError} `not_found`; `conflict` if a later repricing is not undone, or another one in progress
 */
export async function undoRepricing(ctx: BookingContext, repricingId: string): Promise<Repricing> {
  const endsAt = ctx.clock.now() + MAX_MS;
  await begin(ctx, repricingId);
  for (;;) {
    const { status } = await readRepricing(ctx.query, repricingId);
    if (status !== "undoing" || ctx.clock.now() >= endsAt) break;
    await commitStep(ctx, undoStatements(repricingId, ENTRIES_PER_STEP, ctx.clock.now()));
  }
  return getRepricing(ctx, repricingId);
}

async function begin(ctx: BookingContext, repricingId: string): Promise<void> {
  await readRepricing(ctx.query, repricingId);
  try {
    await ctx.store.write([{ sql: BEGIN, args: [repricingId] }]);
  } catch (error) {
    const busy = error instanceof ConstraintError ? await readRepricingInProgress(ctx.query) : undefined;
    throw busy ? inProgress(`undo repricing ${repricingId}`, busy) : error;
  }
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
export async function commitStep(ctx: BookingContext, statements: readonly Statement[]): Promise<void> {
  const results = await ctx.store.write([...statements, { sql: READ_LEDGER }]);
  await ctx.rollUps.followUp(ctx, toLedgerState(results.at(-1)!));
}
