import { desc, eq } from "drizzle-orm";
import type { SharedRule } from "../../contract/values.ts";
import type { CostStatement } from "../../contract/statements.ts";
import { type Calendar, UTC } from "../../contract/calendars/zones.ts";
import { startOf } from "../../contract/windows.ts";
import { type Clock, DAY_MS, toIso } from "../../kernel/clock.ts";
import { invalidField, PurserError } from "../../kernel/errors.ts";
import { toCanonicalText } from "../../kernel/json/canonical_json.ts";
import { formatUsd } from "../../kernel/money.ts";
import { nearestName } from "../../kernel/nearest_name.ts";
import { listTagKeys } from "../../ledger/mod.ts";
import { sumByTag } from "../../ledger/tagged_sums/mod.ts";
import { auditEntry, type Author, type Query, replaceState, type Store, tables } from "../../store/mod.ts";
import { readSharedLines } from "../exports/mod.ts";
import { makeStatement } from "./make_statement.ts";

const { statements } = tables;

export interface StatementContext {
  store: Store;
  query: Query;
  clock: Pick<Clock, "now">;
  author: Author;
  timeZone: string;
  monthStartDay: Calendar["monthStartDay"];
}

/** The choices of which a statement is made. */
export interface StatementQuery {
  /** `YYYY-MM`, a month of the server's calendar. */
  month: string;
  /** The key of a tag. */
  by: string;
  /** In percent. */
  markup?: string | undefined;
  shared?: SharedRule | undefined;
}

/** Returns the present state of the calls of a month as a statement, without keeping it. */
export async function draftStatement(ctx: StatementContext, query: StatementQuery): Promise<CostStatement> {
  return (await draft(ctx, query)).statement;
}

/**
 * Issues a statement: keeps it as the next version. One that says the same as the version before is not issued again, and returned instead.
 *
 * @throws {PurserError} `conflict` before the end of its month, and once the statement of a later month is issued: what comes late is a correction
 *   there
 */
export async function issueStatement(ctx: StatementContext, query: StatementQuery): Promise<CostStatement> {
  return await replaceState(`the statement of ${query.month}`, async () => {
    const { statement, latest, issued } = await draft(ctx, query);
    const { month, by } = query;
    if (Date.parse(statement.to) > ctx.clock.now()) {
      throw new PurserError(
        "conflict",
        `Cannot issue the statement of ${month}: the month ends on ${statement.to}`,
      );
    }
    if (latest && textOf(latest) === textOf(statement)) return latest;
    const later = issued.find((one) => one.month > month);
    if (later) {
      throw new PurserError(
        "conflict",
        `Cannot issue the statement of ${month} by ${by} again: that of ${later.month} is issued, in which late calls are corrections`,
      );
    }
    const version = (latest?.version ?? 0) + 1;
    const now = ctx.clock.now();
    const document = { ...statement, version, issued_at: toIso(now), latest_version: version };
    const after = { version, total_usd: document.total.total_usd };
    const issue = {
      action: "issued",
      kind: "statement",
      id: `${month} by ${by}`,
      name: null,
      after,
    } as const;
    await ctx.store.write([auditEntry({ author: ctx.author, now }, issue), {
      sql: "INSERT INTO statements (month, by_tag, version, document) VALUES (?, ?, ?, ?)",
      args: [month, by, version, JSON.stringify(document)],
    }]);
    return document;
  });
}

/** Returns an issued version. Throws `not_found`, naming the newest one. */
export async function findStatement(
  ctx: Pick<StatementContext, "query">,
  { month, by, version }: { month: string; by: string; version: number },
): Promise<CostStatement> {
  const versions = (await readIssued(ctx, by)).filter((one) => one.month === month);
  const found = versions.find((one) => one.version === version);
  if (found) return found;
  const newest = versions[0] ? `the newest is ${versions[0].version}` : "none was issued";
  throw new PurserError(
    "not_found",
    `Cannot find version ${version} of the statement of ${month} by ${by}: ${newest}`,
  );
}

/** Reads the statements that were issued by a tag, the newest version of each month first. */
async function readIssued({ query }: Pick<StatementContext, "query">, by: string): Promise<CostStatement[]> {
  const rows = await query.select({ document: statements.document }).from(statements)
    .where(eq(statements.byTag, by)).orderBy(desc(statements.version));
  return rows.map(({ document }) => document);
}

/** Returns all that a statement says besides its version and the position of the ledger. */
function textOf(statement: CostStatement): string {
  const { version: _v, issued_at: _i, latest_version: _l, up_to_position: _u, changes: _c, ...said } =
    statement;
  return toCanonicalText(said);
}

async function draft(
  ctx: StatementContext,
  { month, by, markup = "0", shared = "by-share" }: StatementQuery,
): Promise<{ statement: CostStatement; latest: CostStatement | undefined; issued: CostStatement[] }> {
  const span = spanOf(ctx, month);
  if (span.from > ctx.clock.now()) {
    throw invalidField(
      "month",
      `${month} is in the future`,
      `Cannot make a statement: ${month} is in the future`,
    );
  }
  const upTo = Number((await ctx.store.read({ sql: "SELECT max(position) FROM calls" })).rows[0]![0] ?? 0);
  const issued = await readIssued(ctx, by);
  const latest = issued.find((one) => one.month === month);
  const sums = await sumByTag(ctx.store, { tag: `tag:${by}`, ...span, upTo });
  if (sums.every(({ value }) => value === null)) await checkTag(ctx, by);
  const corrections = [];
  for (const { ofMonth, after } of correctable(issued, month)) {
    const late = await sumByTag(ctx.store, { tag: `tag:${by}`, ...spanOf(ctx, ofMonth), after, upTo });
    corrections.push(...late.map((sum) => ({ ...sum, ofMonth })));
  }
  const lines = await readSharedLines(ctx, { from: month, to: month });
  const statement = makeStatement({
    head: {
      month,
      by,
      time_zone: ctx.timeZone,
      from: toIso(span.from),
      to: toIso(span.to),
      version: null,
      issued_at: null,
      latest_version: latest?.version ?? null,
      up_to_position: upTo,
      markup_percent: String(Number(markup)),
      shared,
    },
    sums,
    corrections,
    sharedCosts: lines.map(({ source, category, sku, model, amountNanoUsd, startsAt }) => ({
      of_month: toIso(startsAt) < month ? toIso(startsAt).slice(0, 7) : null,
      source,
      category,
      description: [sku, model].filter(Boolean).join(" ") || category,
      amount_usd: formatUsd(amountNanoUsd!),
    })),
    before: latest,
  });
  return { statement, latest, issued };
}

/**
 * Returns the earlier months that were issued, each with the position up to which its calls are charged already: in its own statement, or as
 * corrections in that of a later month.
 */
function correctable(issued: readonly CostStatement[], month: string): { ofMonth: string; after: number }[] {
  const months = [...new Set(issued.map((one) => one.month).filter((one) => one < month))].sort();
  return months.map((ofMonth) => ({
    ofMonth,
    after: Math.max(
      ...issued.filter((one) => one.month >= ofMonth && one.month < month).map((one) => one.up_to_position),
    ),
  }));
}

function spanOf({ timeZone, monthStartDay }: StatementContext, month: string): { from: number; to: number } {
  // Noon of UTC is within the first day of the month, or within the second.
  const noon = Date.parse(`${month}-01T12:00:00Z`) + (monthStartDay - 1) * DAY_MS;
  const start = (later: number) => startOf("month", noon, later, { ...UTC, timeZone, monthStartDay });
  return { from: start(0), to: start(1) };
}

/** Refuses a tag that no call has. */
async function checkTag({ store }: StatementContext, by: string): Promise<void> {
  const known = (await listTagKeys(store, {}, { limit: 1_000, offset: 0 })).map(({ tag_key }) => tag_key);
  if (known.includes(by)) return;
  const near = nearestName(by, known);
  const hint = near !== undefined
    ? `did you mean ${near}?`
    : `there are ${known.slice(0, 20).join(", ") || "none yet"}`;
  throw invalidField(
    "by",
    `no call has the tag ${by}`,
    `Cannot make a statement by ${by}: no call has that tag; ${hint}`,
  );
}
