import { and, inArray, sql } from "drizzle-orm";
import { amendCalls, type CallContext, commitStep } from "../../calls/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { isStanding, type ModelCall, recordPrices, toModelCall, withAdjustments } from "../../ledger/mod.ts";
import { priceLines, type Rates, sumLines, type Usage, USAGE_FIELDS } from "../../pricing/mod.ts";
import {
  auditEntry,
  type Author,
  ConstraintError,
  requireThat,
  type Statement,
  tables,
  toObjects,
} from "../../store/mod.ts";
import { readRateCards } from "./ledger_cells.ts";
import { readReconciliation } from "./stored_reconciliations.ts";

const { calls } = tables;

/** The corrections that are read at once. */
const AT_ONCE = 500;

type Context = CallContext & { author: Author };

/**
 * Corrects the calls that a bill proves to have other counts: an entry each, with the bill's line, or the provider's answer about the call, as
 * its witness. Calls that are no estimates any more, that a log or telemetry tells, or that a plan pays for, stay as they are. Returns the
 * number of corrected calls.
 *
 * @throws {PurserError} `not_found`
 */
export async function applyCorrections(ctx: Context, reconciliationId: string): Promise<number> {
  const { cards } = await readRateCards(ctx);
  return await changeCalls(ctx, reconciliationId, "applied", "entry_id", (call, { counts }) => {
    const isOwn = call.source !== "log" && call.source !== "otlp" && !call.usage.details &&
      !call.usage.models;
    if (!call.isEstimated || call.planNanoUsd !== undefined || !isOwn) return undefined;
    const usage = usageOf(call.usage, counts);
    if (counts.stated) {
      const serviceTier = call.serviceTier ?? undefined;
      const price = ctx.prices.price({ ...call, serviceTier, usage, statement: { usage: counts.stated } });
      return { ...call, usage, isEstimated: false, ...price };
    }
    const card = cards.get(call.priceId);
    return card && { ...call, usage, isEstimated: false, ...priceOf(card, usage), rates: card };
  });
}

/**
 * Takes the corrections of a comparison back, each by the opposite entry. Returns their number.
 *
 * @throws {PurserError} `not_found`
 */
export async function undoCorrections(ctx: Context, reconciliationId: string): Promise<number> {
  const { cards } = await readRateCards(ctx);
  return await changeCalls(ctx, reconciliationId, "undone", "undo_id", (call, { counts, entry }) => {
    if (!entry) return undefined;
    const corrected = usageOf(call.usage, counts);
    // A log or telemetry has corrected it since: those know better.
    if (USAGE_FIELDS.some((name) => corrected[name] !== call.usage[name])) return undefined;
    const usage = { ...call.usage };
    USAGE_FIELDS.forEach((name) => usage[name] -= entry[name]);
    const card = cards.get(call.priceId);
    const isRepriced = call.priceId !== entry.priceId;
    return {
      ...call,
      usage,
      isEstimated: true,
      costNanoUsd: call.costNanoUsd === null ? null : call.costNanoUsd - (entry.costNanoUsd ?? 0n),
      ...isRepriced && card && priceOf(card, usage),
      ...(counts.stated && { priceSource: card?.source ?? "none" }),
      ...(entry.unpriced < 0 && { costNanoUsd: null }),
      rates: card ?? null,
    };
  });
}

type Entry = typeof calls.$inferSelect;
interface Proposed {
  callId: string;
  /** By part; with the cost as the provider has stated it for this call alone. */
  counts: Readonly<Record<string, number>> & { stated?: Readonly<Record<string, unknown>> };
  /** The entry that has corrected it. */
  entry: Entry | undefined;
}

async function changeCalls(
  ctx: Context,
  reconciliationId: string,
  action: "applied" | "undone",
  column: "entry_id" | "undo_id",
  change: (call: ModelCall, proposed: Proposed) => ModelCall | undefined,
): Promise<number> {
  const proposals = await readProposals(ctx, reconciliationId, action);
  const all: { entryId: string; from: ModelCall; to: ModelCall }[] = [];
  const unchanged: Statement[] = [];
  for (let start = 0; start < proposals.length; start += AT_ONCE) {
    const some = proposals.slice(start, start + AT_ONCE);
    const ids = JSON.stringify(some.map(({ callId }) => callId));
    const { rows: [counted] } = await ctx.store.read({ sql: COUNT_ENTRIES, args: [ids] });
    const rows = await ctx.query.select().from(calls).where(
      and(inArray(calls.callId, sql`(SELECT value FROM json_each(${ids}))`), isStanding()),
    );
    const booked = new Map(
      (await withAdjustments(ctx.query, rows.map(toModelCall))).map((call) => [call.callId, call]),
    );
    const amended = some.flatMap((proposed) => {
      const from = booked.get(proposed.callId);
      const to = from && change(from, proposed);
      if (!from || !to) return [];
      const suffix = action === "undone" ? ":undone" : "";
      return [{ entryId: `${reconciliationId}${suffix}:${from.callId}`, from, to }];
    });
    all.push(...amended);
    unchanged.push(requireThat({ sql: `(${COUNT_ENTRIES}) = ?2`, args: [ids, counted![0]!] }));
  }
  if (all.length === 0) return 0;
  // One commit: all of them are there, or none.
  await commit(ctx, [
    ...unchanged,
    audit(ctx, reconciliationId, action),
    ...recordPrices(all.map(({ to }) => to), new Set()).statements,
    ...amendCalls(all),
    {
      sql: `UPDATE bill_corrections SET ${column} = v.entry_id FROM each_row v
WHERE bill_corrections.reconciliation_id = v.reconciliation_id AND bill_corrections.call_id = v.call_id`,
      each: {
        columns: ["reconciliation_id", "call_id", "entry_id"],
        rows: all.map(({ entryId, from }) => [reconciliationId, from.callId, entryId]),
      },
    },
  ]);
  return all.length;
}

/** Entries are only added: a call with as many as before is the same. */
const COUNT_ENTRIES = "SELECT count(*) FROM calls WHERE adjusts IN (SELECT value FROM json_each(?1))";

const audit = ({ author, clock }: Context, id: string, action: "applied" | "undone") =>
  auditEntry({ author, now: clock.now() }, { action, kind: "reconciliation", id, name: null });

/** Commits entries, unless another process has changed one of the calls. */
async function commit(ctx: Context, statements: readonly Statement[]): Promise<void> {
  try {
    await commitStep(ctx, statements);
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw new PurserError("conflict", "Cannot correct the calls: another process is doing so", {
      cause: error,
    });
  }
}

async function readProposals(
  ctx: Context,
  reconciliationId: string,
  action: "applied" | "undone",
): Promise<Proposed[]> {
  const state = action === "applied" ? "entry_id IS NULL" : "entry_id IS NOT NULL AND undo_id IS NULL";
  await readReconciliation(ctx, reconciliationId);
  const rows = toObjects(
    await ctx.store.read({
      sql:
        `SELECT call_id, counts, entry_id FROM bill_corrections WHERE reconciliation_id = ? AND ${state} ORDER BY call_id`,
      args: [reconciliationId],
    }),
  );
  const ids = JSON.stringify(rows.flatMap(({ entry_id }) => entry_id ?? []));
  const entries = await ctx.query.select().from(calls)
    .where(inArray(calls.callId, sql`(SELECT value FROM json_each(${ids}))`));
  const byId = new Map(entries.map((entry) => [entry.callId, entry]));
  return rows.map((row) => ({
    callId: row.call_id as string,
    counts: JSON.parse(row.counts as string),
    entry: byId.get(row.entry_id as string),
  }));
}

/** Returns a usage with the counts of a bill: a part that the bill doesn't have is 0, and reasoning is known to the call alone. */
function usageOf(call: Usage, counts: Readonly<Record<string, number>>): Usage {
  const of = (part: string) => counts[part] ?? 0;
  const cacheWrite1hTokens = of("cache_write_1h_tokens");
  const cacheWriteTokens = of("cache_write_tokens") + cacheWrite1hTokens;
  const outputTokens = of("output_tokens") + of("reasoning_tokens");
  return {
    ...call,
    inputTokens: of("input_tokens") + of("cache_read_tokens") + cacheWriteTokens,
    outputTokens,
    cacheReadTokens: of("cache_read_tokens"),
    cacheWriteTokens,
    cacheWrite1hTokens,
    reasoningTokens: counts.reasoning_tokens ?? Math.min(call.reasoningTokens, outputTokens),
  };
}

function priceOf(rates: Rates, usage: Usage) {
  const { costNanoUsd, unpricedParts } = sumLines(rates, priceLines(rates, usage));
  return { costNanoUsd, ...(unpricedParts && { unpricedParts }) };
}
