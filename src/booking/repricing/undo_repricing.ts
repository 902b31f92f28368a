import type { Repricing } from "../../contract/repricings.ts";
import { PurserError } from "../../kernel/errors.ts";
import { ConstraintError } from "../../store/mod.ts";
import type { BookingContext } from "../context.ts";
import { undoStatements } from "./adjustment_rows.ts";
import { commitStep } from "./commit_step.ts";
import { inProgress } from "./reprice_calls.ts";
import { getRepricing, readNewestRepricing, readRepricing, readRepricingInProgress } from "./repricings.ts";

/** The entries that one commit adds. */
const ENTRIES_PER_STEP = 500;

const MAX_MS = 20_000;

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
