import { and, eq } from "drizzle-orm";
import type { BudgetRaise, BudgetRaiseBody } from "../contract/budgets/budget_raises.ts";
import { ROLLING_DAYS_MS, ROLLING_MS } from "../contract/windows.ts";
import { toIso } from "../kernel/clock.ts";
import { invalidField, PurserError } from "../kernel/errors.ts";
import { NANO_PER_USD, parseUsd, toUsd } from "../kernel/money.ts";
import {
  auditEntry,
  newestFirst,
  requireThat,
  type Statement,
  tables,
  type TimePosition,
} from "../store/mod.ts";
import type { BudgetRow } from "./budget_fields.ts";
import { withNames } from "../keys/mod.ts";
import { ALL_SEEING, readWindows, type Viewer } from "../ledger/mod.ts";
import { checkAmountsOf } from "./seen_budget.ts";
import { type BudgetContext, editOf, forgetWarnings, readBudget, writeBudgets } from "./budgets.ts";
import { counterOf, holdsAt } from "./budget_states.ts";
import { hasCounters } from "./budget_counters.ts";
import { findCounter } from "./find_counter.ts";

/* Raises of a budget's limit for a time. They are only added, so that it stays known which key has raised it, and why. */

const { budgetRaises } = tables;

const LIST = newestFirst(budgetRaises.createdAt, budgetRaises.raiseId);

type RaiseRow = typeof budgetRaises.$inferSelect;

function toRaise(row: RaiseRow, budget: BudgetRow): BudgetRaise {
  return {
    raise_id: row.raiseId,
    budget_id: row.budgetId,
    extra_usd: toUsd(row.extraNanoUsd),
    until: row.until === null ? null : toIso(row.until),
    reason: row.reason,
    counter: row.scope === null ? null : counterOf(budget, row.scope) ?? null,
    key_id: row.keyId,
    ...(row.keyId !== null && { key_name: null }),
    created_at: toIso(row.createdAt),
  };
}

/** The sum of raises of one budget that may hold at a time: a billion USD, so that no sum exceeds 64 bits. */
const MAX_EXTRA_NANO_USD = 1_000_000_000n * NANO_PER_USD;

const INSERT =
  `INSERT INTO budget_raises (raise_id, budget_id, extra_nano_usd, until, reason, key_id, created_at, scope)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE EXISTS (SELECT 1 FROM budgets WHERE budget_id = ?2)
  AND ?3 + (SELECT coalesce(sum(extra_nano_usd), 0) FROM budget_raises WHERE budget_id = ?2 AND ${
    holdsAt("?7")
  })
    <= ${MAX_EXTRA_NANO_USD}`;

/** A ticket that a raise approves. */
export interface RaisedTicket {
  ticketId: string;
  /** The counter that it asks for. */
  scope: string;
  /** Returns the statements that approve it by a raise, or fail the commit. */
  approve(raiseId: string): readonly Statement[];
}

const EXISTS = "EXISTS (SELECT 1 FROM budget_raises WHERE raise_id = ?1)";

/**
 * Raises the limit of a budget for a time; by default until the end of its present window, for the rolling hour for one
 * hour. `settle` may add statements to the commit; what they write is void unless the raise exists. With a ticket, nothing is
 * written unless both the raise and the approval are.
 *
 * @throws {PurserError} `not_found`; `invalid` for an end in the past, and for a counter that the budget doesn't have; `conflict` where the raises are too many
 * @throws {ConstraintError} with a ticket, where it can't be approved or the raises are too many
 */
export async function raiseBudget(
  ctx: BudgetContext,
  budgetId: string,
  body: BudgetRaiseBody,
  { settle = () => [], ticket }: {
    settle?: (raise: BudgetRaise) => readonly Statement[];
    ticket?: RaisedTicket;
  } = {},
): Promise<BudgetRaise> {
  const budget = await readBudget(ctx.query, budgetId);
  const edit = editOf(ctx);
  const { now, author: { keyId = null } } = edit;
  const row: RaiseRow = {
    raiseId: ctx.ids.next("raise"),
    budgetId,
    extraNanoUsd: parseUsd(body.extra_usd, "extra_usd"),
    until: body.until == null ? await readEnd(ctx, budget, now) : Date.parse(body.until),
    reason: body.reason ?? null,
    keyId,
    createdAt: now,
    scope: ticket
      ? hasCounters(budget) ? ticket.scope : null
      : body.counter == null
      ? null
      : await findCounter(ctx, budget, body.counter),
  };
  if (row.until !== null && row.until <= now) {
    throw invalidField(
      "until",
      "must be in the future",
      `Cannot raise budget ${budgetId}: until is in the past; it is ${toIso(now)}`,
    );
  }
  const raise = (await withNames(ctx, [toRaise(row, budget)]))[0]!;
  const { raiseId, extraNanoUsd, until, reason, createdAt, scope } = row;
  const results = await writeBudgets(ctx, [
    ...ticket?.approve(raiseId) ?? [],
    { sql: INSERT, args: [raiseId, budgetId, extraNanoUsd, until, reason, keyId, createdAt, scope] },
    ...ticket ? [requireThat({ sql: EXISTS, args: [raiseId] })] : [],
    auditEntry(edit, {
      action: ticket ? "approved" : "raised",
      kind: "budget",
      id: budgetId,
      name: budget.name,
      after: {
        ...(ticket && { ticket_id: ticket.ticketId }),
        raise_id: raiseId,
        extra_usd: raise.extra_usd,
        until: raise.until,
        reason,
        ...(raise.counter && { counter: raise.counter }),
      },
    }, { sql: EXISTS, args: [raiseId] }),
    forgetWarnings(budgetId),
    ...settle(raise),
    { sql: "SELECT count(*) FROM budget_raises WHERE raise_id = ?", args: [raiseId] },
  ]);
  if (results.at(-1)!.rows[0]![0] === 1n) return raise;
  await readBudget(ctx.query, budgetId); // it may have been removed meanwhile
  throw new PurserError(
    "conflict",
    `Cannot raise budget ${budgetId}: its raises at a time can't exceed a billion USD; change its limit_usd`,
  );
}

/** Reads the end of a raise that names none; null for none. */
async function readEnd(
  { store }: Pick<BudgetContext, "store">,
  row: BudgetRow,
  now: number,
): Promise<number | null> {
  if (row.per === "hour" || row.per === "30d") {
    return now + (row.per === "hour" ? ROLLING_MS : ROLLING_DAYS_MS);
  }
  return (await readWindows(store, [row], now))[0]!.resetsAt;
}

/**
 * Lists the raises of a budget, newest first.
 *
 * @throws {PurserError} `not_found`; `forbidden` for a viewer of one agent where the amounts are those of others too
 */
export async function listRaises(
  ctx: Pick<BudgetContext, "query" | "store">,
  budgetId: string,
  { viewer = ALL_SEEING, before, limit }: {
    viewer?: Viewer;
    before?: TimePosition | undefined;
    limit: number;
  },
): Promise<BudgetRaise[]> {
  const budget = await readBudget(ctx.query, budgetId, viewer);
  checkAmountsOf(budget, viewer, "raises");
  const rows = await ctx.query.select().from(budgetRaises)
    .where(and(eq(budgetRaises.budgetId, budgetId), LIST.from(before)))
    .orderBy(...LIST.order).limit(limit);
  return await withNames(ctx, rows.map((row) => toRaise(row, budget)), viewer);
}
