import type { Digest } from "../../contract/alerts/digests.ts";
import { type Calendar, dateIn, localTime, timeOfLocal, UTC } from "../../contract/calendars/zones.ts";
import { calendarWith } from "../../contract/calendars/calendar_input.ts";
import type { DigestPeriod } from "../../contract/values.ts";
import { startOf } from "../../contract/windows.ts";
import type { Fact, Notification } from "../../delivery/channels/mod.ts";
import type { DeliveryContext, TestContext, TestResult } from "../../delivery/mod.ts";
import { DAY_MS, HOUR_MS, toIso } from "../../kernel/clock.ts";
import { formatUsd, parseTotalUsd } from "../../kernel/money.ts";
import { forecastCosts, listCosts, listTopCosts, readCostTotal } from "../../ledger/mod.ts";
import type { Store } from "../../store/mod.ts";

/*
 * Digests of the spending of the last whole day or week, for the channels with the setting `digest`. What is owed follows from the
 * clock; a row of the outbox, whose id names the period and the channel, is the claim of the instance that writes it. The amounts are
 * read when it is delivered.
 */

/** The hour of the day at which digests are due, in the time zone of the server. */
const DUE_HOUR = 7;

/** The number of people, teams and sessions that are listed. */
const LISTED = 5;

/** The time for which the outbox keeps digests: longer than a period, for which a row is the claim. */
const KEPT_MS = 30 * DAY_MS;

type DigestContext = Partial<Calendar> & { store: Pick<Store, "readLong">; clock: { now(): number } };

/** Reads the digest of the last whole day or week before a time. */
export async function readDigest(
  ctx: DigestContext,
  period: DigestPeriod,
  at = ctx.clock.now(),
): Promise<Digest> {
  const calendar = calendarWith({}, ctx);
  const span = period === "daily" ? "day" : "week";
  const [before, from, to] = [-2, -1, 0].map((later) => startOf(span, at, later, calendar)) as [
    number,
    number,
    number,
  ];
  const { store } = ctx;
  const byTag = (groupBy: "tag:user" | "tag:team") =>
    listCosts(store, { from, to, groupBy, limit: LISTED, offset: 0 });
  const [total, earlier, forecast, people, teams, sessions] = await Promise.all([
    readCostTotal(store, { from, to }),
    readCostTotal(store, { from: before, to: from }),
    forecastCosts(store, {}, ctx.clock.now(), calendar),
    byTag("tag:user"),
    byTag("tag:team"),
    listTopCosts(store, { from, to, groupBy: "session", limit: LISTED }),
  ]);
  const tagged = (rows: typeof people) =>
    rows.map(({ tag_value, cost_usd }) => ({ name: tag_value ?? null, cost_usd }));
  const digest = {
    period,
    from: toIso(from),
    to: toIso(to),
    time_zone: calendar.timeZone,
    cost_usd: total.cost_usd,
    cost_usd_before: earlier.cost_usd,
    model_calls: total.model_calls,
    unpriced_calls: total.unpriced_calls,
    forecast_usd: forecast.forecast_usd,
    people: tagged(people),
    teams: tagged(teams),
    sessions: sessions.map(({ session_id, cost_usd }) => ({ name: session_id ?? null, cost_usd })),
  };
  return { ...digest, ...describe(digest) };
}

const usd = (value: number | null) => value === null ? "unknown" : `$${formatUsd(parseTotalUsd(value))}`;

/** Returns the lines that people read. */
function describe(digest: Omit<Digest, "title" | "facts">): Pick<Digest, "title" | "facts"> {
  const { period, time_zone: zone, unpriced_calls: unpriced } = digest;
  const [first, last] = [Date.parse(digest.from), Date.parse(digest.to) - 1].map((at) => dateIn(zone, at));
  const days = period === "daily" ? `on ${first}` : `from ${first} to ${last}`;
  const where = zone === UTC.timeZone ? "" : ` (${zone})`;
  const facts: Fact[] = [
    { label: "Spent", value: usd(digest.cost_usd) },
    { label: period === "daily" ? "The day before" : "The week before", value: usd(digest.cost_usd_before) },
    { label: "Calls", value: String(digest.model_calls) },
  ];
  const add = (label: string, shares: Digest["people"]) => {
    // Without any value of the tag there is nothing to tell apart.
    if (shares.every(({ name }) => name === null)) return;
    for (const { name, cost_usd } of shares) {
      facts.push({ label: `${label} ${name ?? "–"}`, value: usd(cost_usd) });
    }
  };
  if (unpriced > 0) facts.push({ label: "Calls without a price", value: String(unpriced) });
  if (digest.forecast_usd !== null) {
    facts.push({ label: "Forecast of the month", value: `$${digest.forecast_usd.toFixed(2)}` });
  }
  add("Person", digest.people);
  add("Team", digest.teams);
  add("Session", digest.sessions);
  return { title: `Spending ${days}${where}: ${usd(digest.cost_usd)}`, facts };
}

const SUBJECT = /^digest_(daily|weekly)_(\d{4}-\d\d-\d\d)$/;

/** Reads the notification of a digest by the subject of its deliveries; undefined for another subject. */
export async function readDigestNotification(
  ctx: DigestContext & { environment: string },
  subjectId: string,
): Promise<Notification | undefined> {
  const [, period, date] = SUBJECT.exec(subjectId) ?? [];
  if (period === undefined) return undefined;
  // Noon of the first day after the period.
  const at = timeOfLocal(calendarWith({}, ctx).timeZone, Date.parse(date!) + DAY_MS / 2);
  return toNotification(await readDigest(ctx, period as DigestPeriod, at), subjectId, ctx.environment);
}

function toNotification(digest: Digest, id: string, environment: string): Notification {
  const { title, facts, to: at } = digest;
  const data = { ...digest, environment };
  return {
    id,
    type: "spending.digest",
    isTest: false,
    severity: "info",
    title,
    facts,
    at,
    environment,
    data,
  };
}

const SELECT = `SELECT value FROM json_each(?1) WHERE NOT EXISTS (
  SELECT 1 FROM deliveries WHERE delivery_id = 'dlv_' || (value ->> 0) || '_' || (value ->> 1))`;

const INSERT = `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, due_at, created_at)
SELECT 'dlv_' || (value ->> 0) || '_' || (value ->> 1), value ->> 0, value ->> 1, value ->> 2, CAST(?2 AS BIGINT), CAST(?2 AS BIGINT)
FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING`;

const SWEEP =
  `DELETE FROM deliveries WHERE substr(subject_id, 1, 7) = 'digest_' AND status <> 'pending' AND created_at < ?1`;

/** Writes the digests that are due to the outbox, each once, however many instances do so. */
export async function writeDigests(
  ctx:
    & Partial<Calendar>
    & Pick<DeliveryContext, "store" | "clock" | "outboxChannels" | "wakeDispatcher">,
): Promise<void> {
  const now = ctx.clock.now();
  const calendar = calendarWith({}, ctx);
  const due = ctx.outboxChannels.flatMap(({ name, kind, digest }) => {
    if (digest === undefined) return [];
    const end = startOf(digest === "daily" ? "day" : "week", now, 0, calendar);
    const local = localTime(calendar.timeZone, end);
    if (now < timeOfLocal(calendar.timeZone, local + DUE_HOUR * HOUR_MS)) return [];
    return [[`digest_${digest}_${dateIn(calendar.timeZone, end)}`, name, kind]];
  });
  if (due.length === 0) return;
  const { rows } = await ctx.store.read({ sql: SELECT, args: [JSON.stringify(due)] });
  if (rows.length === 0) return;
  await ctx.store.write([
    { sql: INSERT, args: [JSON.stringify(due), now] },
    { sql: SWEEP, args: [now - KEPT_MS] },
  ]);
  ctx.wakeDispatcher(due.map(([subject]) => subject!));
}

/** Sends a digest through one channel now, once, without the outbox. Throws `not_found`. */
export async function sendDigest(
  ctx: TestContext & DigestContext,
  name: string,
  period: DigestPeriod,
): Promise<TestResult> {
  const { sendOnce } = await import("../../delivery/mod.ts");
  return await sendOnce(
    ctx,
    name,
    async (id) => toNotification(await readDigest(ctx, period), id, ctx.environment),
  );
}
