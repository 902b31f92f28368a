import { and, eq } from "drizzle-orm";
import type { BudgetRelease, BudgetReleaseBody } from "../../contract/budgets/budget_releases.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { type NanoUsd, toUsd } from "../../kernel/money.ts";
import {
  auditEntry,
  newestFirst,
  replaceState,
  requireThat,
  type Statement,
  tables,
  type TimePosition,
} from "../../store/mod.ts";
import type { BudgetRow } from "../budget_fields.ts";
import { withNames } from "../../keys/mod.ts";
import { ALL_SEEING, type Viewer } from "../../ledger/mod.ts";
import { checkAmountsOf } from "../seen_budget.ts";
import { type BudgetContext, editOf, readBudget, writeBudgets } from "../budgets.ts";
import { readFrom } from "../budget_states.ts";
import { heldBy } from "./holds.ts";
import { IS_HELD } from "./standing_sql.ts";

/*
 * Releases of what a strict budget holds for calls that are not in progress, for those that the provider's bill does not have.
 * They are only added, so that it stays known which key has released it, and why.
 */

const { budgetReleases } = tables;

const LIST = newestFirst(budgetReleases.createdAt, budgetReleases.releaseId);

type ReleaseRow = typeof budgetReleases.$inferSelect;

function toRelease(row: ReleaseRow): BudgetRelease {
  return {
    release_id: row.releaseId,
    budget_id: row.budgetId,
    reservation_ids: row.reservationIds,
    released_usd: toUsd(row.releasedNanoUsd),
    reason: row.reason,
    key_id: row.keyId,
    ...(row.keyId !== null && { key_name: null }),
    created_at: toIso(row.createdAt),
  };
}

const INSERT =
  `INSERT INTO budget_releases (release_id, budget_id, reservation_ids, released_nano_usd, reason, key_id, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?)`;
const FREE = "DELETE FROM reservations WHERE reservation_id IN (SELECT value FROM json_each(?))";

/**
 * Releases one reservation that a budget holds, or all of them: no budget counts them any more. `settle` may add statements
 * to the commit.
 *
 * @throws {PurserError} `not_found`; `conflict` where there is nothing to release
 */
export async function releaseHolds(
  ctx: BudgetContext,
  budgetId: string,
  { reservation_id, reason }: BudgetReleaseBody,
  { settle = () => [] }: {
    settle?: (release: BudgetRelease) => readonly Statement[];
  } = {},
): Promise<BudgetRelease> {
  return await replaceState(`what budget ${budgetId} holds`, async () => {
    const edit = editOf(ctx);
    const { now, author: { keyId = null } } = edit;
    const budget = await readBudget(ctx.query, budgetId);
    const held = await readHeld(ctx, budget, reservation_id);
    if (held.length === 0) {
      throw new PurserError(
        "conflict",
        reservation_id === undefined
          ? `Cannot release anything of budget ${budgetId}: it holds nothing for calls that are not in progress`
          : `Cannot release ${reservation_id}: budget ${budgetId} doesn't hold it, or its call is in progress`,
      );
    }
    const row: ReleaseRow = {
      releaseId: ctx.ids.next("release"),
      budgetId,
      reservationIds: held.map(({ id }) => id),
      releasedNanoUsd: held.reduce((sum, { worstNanoUsd }) => sum + worstNanoUsd, 0n),
      reason,
      keyId,
      createdAt: now,
    };
    const ids = JSON.stringify(row.reservationIds);
    const release = (await withNames(ctx, [toRelease(row)]))[0]!;
    await writeBudgets(ctx, [
      requireThat({ sql: ARE_HELD, args: [ids, held.length, budgetId] }),
      { sql: INSERT, args: [row.releaseId, budgetId, ids, row.releasedNanoUsd, reason, keyId, now] },
      { sql: FREE, args: [ids] },
      auditEntry(edit, {
        action: "released",
        kind: "budget",
        id: budgetId,
        name: budget.name,
        after: {
          release_id: row.releaseId,
          reservation_ids: row.reservationIds,
          released_usd: release.released_usd,
          reason,
        },
      }),
      ...settle(release),
    ]);
    return release;
  });
}

/** A call may have been booked, or its budget removed, since it was read. */
const ARE_HELD = `EXISTS (SELECT 1 FROM budgets WHERE budget_id = ?3) AND ?2 = (
  SELECT count(DISTINCT h.reservation_id) FROM reservations h
  WHERE h.reservation_id IN (SELECT value FROM json_each(?1)) AND ${IS_HELD})`;

async function readHeld(
  { store, clock }: BudgetContext,
  budget: BudgetRow,
  reservationId: string | undefined,
): Promise<{ id: string; worstNanoUsd: NanoUsd }[]> {
  const { where, args } = heldBy(budget, await readFrom({ store }, budget, clock.now()));
  const only = `?${args.length + 1}`;
  const { rows } = await store.read({
    sql: `SELECT h.reservation_id, max(h.worst_nano_usd) FROM reservations h
WHERE ${where} AND (CAST(${only} AS TEXT) IS NULL OR h.reservation_id = ${only}) GROUP BY h.reservation_id ORDER BY min(h.at), h.reservation_id`,
    args: [...args, reservationId ?? null],
  });
  return rows.map(([id, worst]) => ({ id: id as string, worstNanoUsd: worst as bigint }));
}

/**
 * Lists the releases of a budget, newest first.
 *
 * @throws {PurserError} `not_found`; `forbidden` for a viewer of one agent where the amounts are those of others too
 */
export async function listReleases(
  ctx: Pick<BudgetContext, "query" | "store">,
  budgetId: string,
  { viewer = ALL_SEEING, before, limit }: {
    viewer?: Viewer;
    before?: TimePosition | undefined;
    limit: number;
  },
): Promise<BudgetRelease[]> {
  checkAmountsOf(await readBudget(ctx.query, budgetId, viewer), viewer, "releases");
  const rows = await ctx.query.select().from(budgetReleases)
    .where(and(eq(budgetReleases.budgetId, budgetId), LIST.from(before)))
    .orderBy(...LIST.order).limit(limit);
  return await withNames(ctx, rows.map(toRelease), viewer);
}
