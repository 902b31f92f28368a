import { and, desc, eq, inArray, lt, type SQL, sql } from "drizzle-orm";
import type { Repricing } from "../../contract/repricings.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { toUsd } from "../../kernel/money.ts";
import { type Query, tables } from "../../store/mod.ts";
import { addUp, type ModelSums, toModelSums, toWireSums } from "./model_sums.ts";

const { repricings, repricingModels } = tables;

export type RepricingRow = typeof repricings.$inferSelect;

/** The number of models that a repricing lists. */
const MAX_MODELS = 500;

/** The state of a repricing beside its sums. */
export type RepricingState = Pick<Repricing, "repricing_id" | "status" | "filter"> & {
  createdAt: number;
  appliedAt?: number | null;
  undoneAt?: number | null;
};

/** Converts a repricing to wire form, the models with the largest change first. */
export function toRepricing(state: RepricingState, models: readonly ModelSums[]): Repricing {
  const { repricing_id, status, filter, createdAt, appliedAt, undoneAt } = state;
  const total = addUp(models);
  return {
    repricing_id,
    status,
    filter,
    ...toWireSums(total),
    difference_usd: toUsd(total.after.costNanoUsd - total.before.costNanoUsd),
    models: [...models].sort(byChange).slice(0, MAX_MODELS)
      .map((sums) => ({ provider: sums.provider, model: sums.model, ...toWireSums(sums) })),
    created_at: toIso(createdAt),
    applied_at: appliedAt == null ? null : toIso(appliedAt),
    undone_at: undoneAt == null ? null : toIso(undoneAt),
  };
}

function byChange(one: ModelSums, other: ModelSums): number {
  const size = ({ before, after }: ModelSums) => {
    const difference = after.costNanoUsd - before.costNanoUsd;
    return difference < 0n ? -difference : difference;
  };
  const [a, b] = [size(one), size(other)];
  if (a !== b) return a > b ? -1 : 1;
  return other.calls - one.calls ||
    (`${one.provider}:${one.model}` < `${other.provider}:${other.model}` ? -1 : 1);
}

/**
 * Reads the row of a repricing.
 *
 * @throws {PurserError} `not_found`
 */
export async function readRepricing(query: Query, repricingId: string): Promise<RepricingRow> {
  const [row] = await query.select().from(repricings).where(eq(repricings.repricingId, repricingId));
  if (row) return row;
  throw new PurserError("not_found", `Cannot find repricing ${repricingId}`);
}

/** Reads the repricing that is being applied or undone, by this or another process. */
export async function readRepricingInProgress(query: Query): Promise<RepricingRow | undefined> {
  const [row] = await query.select().from(repricings).where(eq(repricings.inProgress, true));
  return row;
}

/** Reads the newest repricing that has changed costs and is not undone. */
export async function readNewestRepricing(query: Query): Promise<RepricingRow | undefined> {
  const [row] = await query.select().from(repricings).where(
    sql`${repricings.status} <> 'undone' AND EXISTS (SELECT 1 FROM ${repricingModels} m
      WHERE m.repricing_id = ${repricings.repricingId} AND m.changed_calls > 0)`,
  )
    .orderBy(desc(repricings.position)).limit(1);
  return row;
}

/**
 * Returns a repricing with its sums.
 *
 * @throws {PurserError} `not_found`
 */
export async function getRepricing(ctx: { query: Query }, repricingId: string): Promise<Repricing> {
  await readRepricing(ctx.query, repricingId);
  return (await select(ctx.query, eq(repricings.repricingId, repricingId), 1)).rows[0]!;
}

/** The repricings that are read at once: each may have 500 models. */
const READ_AT_ONCE = 20;

/** The models of the repricings of a page, which is shorter than its limit where they have more. */
const PAGE_MODELS = 5_000;

/** Lists repricings, newest first, and the position after each of them. */
export async function listRepricings(
  ctx: { query: Query },
  { before, limit }: { before?: number; limit: number },
): Promise<{ rows: Repricing[]; positions: number[]; hasMore: boolean }> {
  const rows: Repricing[] = [];
  const positions: number[] = [];
  let models = 0;
  for (;;) {
    const last = positions.at(-1) ?? before;
    const count = Math.min(READ_AT_ONCE, limit - rows.length);
    const page = await select(
      ctx.query,
      last === undefined ? undefined : lt(repricings.position, last),
      count,
    );
    rows.push(...page.rows);
    positions.push(...page.positions);
    models += page.rows.reduce((sum, row) => sum + row.models.length, 0);
    if (page.rows.length < count) return { rows, positions, hasMore: false };
    if (rows.length === limit || models >= PAGE_MODELS) return { rows, positions, hasMore: true };
  }
}

async function select(query: Query, where: SQL | undefined, limit: number) {
  const rows = await query.select().from(repricings).where(and(where))
    .orderBy(desc(repricings.position)).limit(limit);
  const ids = JSON.stringify(rows.map(({ repricingId }) => repricingId));
  const models = await query.select().from(repricingModels)
    .where(inArray(repricingModels.repricingId, sql`(SELECT value FROM json_each(${ids}))`));
  return {
    rows: rows.map((row) =>
      toRepricing(
        { ...row, repricing_id: row.repricingId },
        models.filter(({ repricingId }) => repricingId === row.repricingId).map(toModelSums),
      )
    ),
    positions: rows.map(({ position }) => position),
  };
}
