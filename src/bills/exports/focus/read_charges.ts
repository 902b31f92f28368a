import { and, asc, Column, eq, getTableColumns, gt, gte, inArray, isNull, lt, or } from "drizzle-orm";
import type { ExportedCharges } from "../../../contract/exports.ts";
import type { FocusVersion } from "../../../contract/values.ts";
import { startInUtc } from "../../../contract/windows.ts";
import { PurserError } from "../../../kernel/errors.ts";
import type { Turns } from "../../../kernel/turns.ts";
import { withNames } from "../../../keys/mod.ts";
import {
  isStanding,
  type ModelCall,
  toModelCall,
  type Viewer,
  withAdjustments,
} from "../../../ledger/mod.ts";
import { readRates } from "../../../ledger/explain/mod.ts";
import type { Rates } from "../../../pricing/mod.ts";
import { type Query, type SqlValue, type Store, tables } from "../../../store/mod.ts";
import { readLedgerId } from "../read_calls.ts";
import { billRows } from "./bill_charges.ts";
import { type Charge, Charges } from "./call_charges.ts";
import { createRows, focusColumns } from "./focus_columns.ts";
import { type AsClosed, readAsClosed } from "./read_as_closed.ts";

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

interface ReadContext {
  store: Store;
  query: Query;
  turns: Turns;
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
 * Reads a page of charges, in the order of their hours; fees, taxes and credits of bills are on the last page. An hour with very many calls or
 * rows is on several pages, and may have several rows of one SKU.
 *
 * @throws {PurserError} `invalid` for a cursor that is not one
 */
export async function readCharges(
  ctx: ReadContext,
  { version, from, to, perCall, viewer, limit, cursor }: ChargesQuery,
): Promise<ExportedCharges> {
  const columns = focusColumns(version, perCall);
  const asClosed = await readAsClosed(ctx, { from, to });
  const cards = new Map<number, Rates>();
  const charges = new Charges(perCall);
  let after = parseCursor(cursor) ?? { at: from, position: 0 };
  let next: Cursor | undefined;
  let read = 0;
  // By call, a page ends with a read, so that no call is read twice.
  const perRead = perCall ? Math.min(limit, CALLS_PER_READ) : CALLS_PER_READ;
  for (; !next;) {
    const booked = await readBooked(ctx, asClosed, { after, to, viewer, limit: perRead });
    const adjusted = await withAdjustments(ctx.query, booked.map(toModelCall), asClosed("calls"));
    const unread = adjusted.flatMap(({ priceId }) => priceId != null && !cards.has(priceId) ? [priceId] : []);
    if (unread.length > 0) {
      for (const [id, card] of await readRates(ctx.query, unread)) cards.set(id, card);
    }
    for (const [index, call] of adjusted.entries()) {
      const isFull = !perCall && (read >= CALLS_PER_PAGE || charges.size >= limit);
      if (
        (isFull && startInUtc("hour", call.at) !== startInUtc("hour", after.at)) || read >= MOST_CALLS ||
        charges.size >= MOST_ROWS
      ) {
        next = after;
        break;
      }
      charges.add(call, call.priceId == null ? null : cards.get(call.priceId) ?? null);
      after = { at: call.at, position: booked[index]!.position };
      read++;
    }
    if (booked.length < perRead) break;
    if (perCall && charges.size >= limit) next = after;
    await ctx.turns.spend(perRead * 100);
  }
  const all = charges.all();
  await namePayers(ctx, all, viewer);
  const rows = all.map(createRows(columns));
  if (!next && viewer.seesAll) {
    const lines = await billRows(ctx, { from, to });
    rows.push(...lines.map((row) => columns.map(({ name }) => row[name] ?? null)));
  }
  return {
    ledger: await readLedgerId(ctx.store),
    columns: columns.map(({ name, kind }) => ({ name, kind })),
    rows,
    next_cursor: next ? `${next.at}-${next.position}` : null,
  };
}

/** Sets the payers of charges. Their keys and upstreams are few, and read at once. */
async function namePayers(ctx: ReadContext, charges: readonly Charge[], viewer: Viewer): Promise<void> {
  const of = <Value>(value: (call: ModelCall) => Value | null | undefined) =>
    [...new Set(charges.map(({ call }) => value(call)))].filter((each) => each != null);
  const keys = await withNames(ctx, of(({ keyId }) => keyId).map((key_id) => ({ key_id })), viewer);
  const names = new Map(keys.map(({ key_id, key_name }) => [key_id, key_name]));
  const upstreams = await ctx.query.select().from(tables.upstreams)
    .where(inArray(tables.upstreams.upstreamId, of(({ upstreamId }) => upstreamId)));
  const byId = new Map(upstreams.map((one) => [one.upstreamId, one]));
  for (const charge of charges) {
    const { keyId, upstreamId } = charge.call;
    const { account = null, project: id = null } = byId.get(upstreamId ?? -1) ?? {};
    const key = { id: keyId ?? null, name: names.get(keyId ?? "") ?? null };
    charge.payer = { account, subAccount: id === null ? key : { id, name: id } };
  }
}

/** The columns of a call, each with the conversion of its values; undefined for those that stay as they are. */
const COLUMNS = Object.entries(getTableColumns(calls)).map(([name, column]) => {
  const isAsRead = column.mapFromDriverValue === Column.prototype.mapFromDriverValue;
  return [name, isAsRead ? undefined : (value: SqlValue) => column.mapFromDriverValue(value)] as const;
});

/** A row without values: copies of it have room for all columns, where one that grows would be moved again and again. */
const EMPTY = Object.fromEntries(COLUMNS.map(([name]) => [name, null]));

/** Reads the next calls by time, and by position where their times are the same. */
async function readBooked(
  { query, store }: ReadContext,
  asClosed: AsClosed,
  { after, to, viewer: { agentId }, limit }: { after: Cursor; to: number; viewer: Viewer; limit: number },
): Promise<(typeof calls.$inferSelect)[]> {
  const { sql, params } = query.select().from(calls).where(and(
    gte(calls.at, after.at),
    lt(calls.at, to),
    or(gt(calls.at, after.at), gt(calls.position, after.position)),
    isNull(calls.adjusts),
    asClosed("calls"),
    isStanding(asClosed("w")),
    agentId === undefined ? undefined : eq(calls.agentId, agentId),
  )).orderBy(asc(calls.at), asc(calls.position)).limit(limit).toSQL();
  const { rows } = await store.readLong({ sql, args: params as SqlValue[] });
  // As the query would, in a fifth of its time, which is that of a third of the export.
  return rows.map((row) => {
    const booked: Record<string, unknown> = { ...EMPTY };
    COLUMNS.forEach(([name, convert], index) => {
      const value = row[index]!;
      booked[name] = value === null || !convert ? value : convert(value);
    });
    return booked as typeof calls.$inferSelect;
  });
}

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
