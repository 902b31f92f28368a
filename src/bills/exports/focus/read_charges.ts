import { and, asc, eq, gt, gte, inArray, isNull, lt, or } from "drizzle-orm";
import type { ExportedCharges } from "../../../contract/exports.ts";
import type { FocusVersion } from "../../../contract/values.ts";
import { startInUtc } from "../../../contract/windows.ts";
import { PurserError } from "../../../kernel/errors.ts";
import type { Turns } from "../../../kernel/turns.ts";
import { withNames } from "../../../keys/mod.ts";
import { isStanding, toModelCall, type Viewer, withAdjustments } from "../../../ledger/mod.ts";
import { readRates } from "../../../ledger/explain/mod.ts";
import type { Rates } from "../../../pricing/mod.ts";
import { type Query, type Store, tables } from "../../../store/mod.ts";
import { readLedgerId } from "../read_calls.ts";
import { billRows } from "./bill_charges.ts";
import { Charges, createUsageRows } from "./call_charges.ts";
import { focusColumns } from "./focus_columns.ts";

const { calls } = tables;

/** The calls that are read at once. */
const CALLS_PER_READ = 1_000;

/** A page ends with the hour after so many calls, and within it after so many more, or so many rows of one hour. */
const CALLS_PER_PAGE = 20_000;
const MOST_CALLS = 100_000;
const MOST_ROWS = 20_000;

interface Cursor {
  at: number;
  position: number;
}

/** The charges that are asked for: of calls from one time to before another. */
export interface ChargesQuery {
  version: FocusVersion;
  from: number;
  to: number;
  perCall: boolean;
  viewer: Viewer;
  /** At least so many rows make a page, unless it is the last one. */
  limit: number;
  cursor?: string | undefined;
}

/**
 * Reads a page of charges, in the order of their hours; those of bills that are no calls are on the last one. An hour with very many calls, or
 * rows, is on several pages, and may have several rows of one SKU.
 *
 * @throws {PurserError} `invalid` for a cursor that is not one
 */
export async function readCharges(
  ctx: { store: Store; query: Query; turns: Turns },
  { version, from, to, perCall, viewer, limit, cursor }: ChargesQuery,
): Promise<ExportedCharges> {
  const columns = focusColumns(version, perCall);
  const cards = new Map<number, Rates>();
  const charges = new Charges(perCall);
  let after = parseCursor(cursor) ?? { at: from, position: 0 };
  let next: Cursor | undefined;
  let read = 0;
  for (; !next;) {
    const booked = await readBooked(ctx.query, after, to, viewer);
    const adjusted = await withAdjustments(ctx.query, booked.map(toModelCall));
    const unread = adjusted.flatMap(({ priceId }) => priceId != null && !cards.has(priceId) ? [priceId] : []);
    if (unread.length > 0) {
      for (const [id, card] of await readRates(ctx.query, unread)) cards.set(id, card);
    }
    for (const [index, call] of adjusted.entries()) {
      const isNewHour = startInUtc("hour", call.at) !== startInUtc("hour", after.at);
      if (
        (isNewHour && (read >= CALLS_PER_PAGE || charges.size >= limit)) || read >= MOST_CALLS ||
        charges.size >= (perCall ? limit : MOST_ROWS)
      ) {
        next = after;
        break;
      }
      charges.add(call, call.priceId == null ? null : cards.get(call.priceId) ?? null);
      after = { at: call.at, position: booked[index]!.position };
      read++;
    }
    if (booked.length < CALLS_PER_READ) break;
    await ctx.turns.spend(CALLS_PER_READ * 100);
  }
  const taken = charges.take();
  const named = await withNames(ctx, taken.map(({ call }) => ({ key_id: call.keyId ?? null })), viewer);
  const ids = [...new Set(taken.flatMap(({ call }) => call.upstreamId ?? []))];
  const upstreams = ids.length === 0
    ? []
    : await ctx.query.select().from(tables.upstreams).where(inArray(tables.upstreams.upstreamId, ids));
  const byId = new Map(upstreams.map((one) => [one.upstreamId, one]));
  const toRow = createUsageRows();
  const rows = taken.map((charge, index) => {
    const { account = null, project = null } = byId.get(charge.call.upstreamId ?? -1) ?? {};
    return toRow(charge, { keyName: named[index]!.key_name ?? null, account, project });
  });
  if (!next && viewer.seesAll) rows.push(...await billRows(ctx.query, { from, to }));
  return {
    ledger: await readLedgerId(ctx.store),
    columns,
    rows: rows.map((row) => columns.map(({ name }) => row[name] ?? null)),
    next_cursor: next ? `${next.at}-${next.position}` : null,
  };
}

/** Reads the next calls by time, and by position where their times are the same. */
const readBooked = (query: Query, after: Cursor, to: number, { agentId }: Viewer) =>
  query.select().from(calls).where(and(
    gte(calls.at, after.at),
    lt(calls.at, to),
    or(gt(calls.at, after.at), gt(calls.position, after.position)),
    isNull(calls.adjusts),
    isStanding(),
    agentId === undefined ? undefined : eq(calls.agentId, agentId),
  )).orderBy(asc(calls.at), asc(calls.position)).limit(CALLS_PER_READ);

function parseCursor(text: string | undefined): Cursor | undefined {
  if (text === undefined) return undefined;
  const [, at, position] = /^(\d{1,16})-(\d{1,16})$/.exec(text) ?? [];
  if (position === undefined || ![at, position].every((part) => Number.isSafeInteger(Number(part)))) {
    throw new PurserError("invalid", "Cannot read cursor: take it from next_cursor of the page before", {
      details: { issues: [{ path: "cursor", message: "is not a cursor of this list" }] },
    });
  }
  return { at: Number(at), position: Number(position) };
}
