import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { writeDigests } from "../src/alerts/follow/mod.ts";
import { createAlertEvaluator } from "../src/alerts/mod.ts";
import { quietUntil } from "../src/config/mod.ts";
import { localTime } from "../src/contract/calendars/zones.ts";
import { deliverDue } from "../src/delivery/mod.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../src/kernel/clock.ts";
import { deliveryContext } from "../src/service/work.ts";
import { EVENT } from "./harness/bodies.ts";
import { dialectKinds } from "./harness/databases.ts";
import { type RecordingChannel, recordingChannel } from "./harness/recording_channel.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** Digests, and the quiet hours of channels, over both dialects of SQL. The clock stands at noon of Sunday, 1 November 2026. */

const BOUNDS = { timeoutMs: 10_000, attemptsPerChannel: 20 };

interface World {
  purser: TestPurser;
  channels: RecordingChannel[];
  spend(usd: number | null, at: string, more?: object): Promise<void>;
  /** Writes the digests that are due, as two instances at once. */
  write(): Promise<void>;
  deliver(): Promise<void>;
  setClock(to: string): void;
}

for (const kind of dialectKinds()) {
  const test = (says: string, settings: Partial<RecordingChannel>[], fn: (world: World) => Promise<void>) =>
    Deno.test({
      name: `${kind.name}: ${says}`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        const channels = settings.map((given, index) => recordingChannel(`c${index}`, given));
        const dbUrl = await database.address?.();
        await using purser = await openTestPurser({
          alerts: createAlertEvaluator({ rules: [], dispatcher: { channels } }),
          config: { timeZone: "Europe/Berlin", ...(dbUrl !== undefined && { dbUrl }) },
        });
        const core = await purser.core.whole();
        // The connection of another instance, of a server.
        const other = dbUrl === undefined ? core.store : await database.open({ isMigrated: false });
        await using closing = new AsyncDisposableStack();
        if (other !== core.store) closing.defer(() => other.close());
        let calls = 0;
        await fn({
          ...{ purser, channels },
          async spend(usd, at, more = {}) {
            const model = usd === null ? { model: "unknown-model" } : { cost_usd: usd };
            const event = { ...EVENT, call_id: `c${++calls}`, at, ...model, ...more };
            const { status, body } = await purser.api("POST", "/costs/events", [event]);
            assert.equal(status, 201, JSON.stringify(body));
          },
          async write() {
            await Promise.all([writeDigests(core), writeDigests({ ...core, store: other })]);
          },
          async deliver() {
            await deliverDue(deliveryContext(core), BOUNDS);
            await core.drainDeliveries();
          },
          setClock: (to) => purser.clock.advance(Date.parse(to) - purser.clock.now()),
        });
      },
    });

  test(
    "a digest has the last day of the time zone by person and team, and is sent once at seven",
    [{ digest: "daily" }, {}],
    async ({ purser, channels, spend, write, deliver, setClock }) => {
      await spend(100, "2026-10-31T22:59:59.999Z"); // the day before, in Berlin
      await spend(2, "2026-10-31T23:00:00.000Z", {
        tags: { user: "anna", team: "search" },
        session_id: "s1",
      });
      await spend(3, "2026-11-01T11:00:00.000Z", { tags: { user: "@everyone" }, session_id: "s2" });
      await spend(null, "2026-11-01T11:30:00.000Z");
      setClock("2026-11-02T05:59:59.999Z");
      await write();
      await deliver();
      assert.equal(channels[0]!.sent.length, 0);
      await spend(4, "2026-11-01T22:59:59.999Z", { tags: { user: "anna" } }); // reported late
      setClock("2026-11-02T06:00:00.000Z");
      await write();
      await deliver();
      await write();
      await deliver();
      const [{ notification }, ...more] = channels[0]!.sent as [RecordingChannel["sent"][0]];
      assert.deepEqual([more, channels[1]!.sent], [[], []]);
      assert.deepEqual([notification.type, notification.severity, notification.title], [
        "spending.digest",
        "info",
        "Spending on 2026-11-01 (Europe/Berlin): $9",
      ]);
      const facts = notification.facts.map(({ label, value }) => `${label}: ${value}`);
      assert.deepEqual(facts, [
        "Spent: $9",
        "The day before: $100",
        "Calls: 4",
        "Calls without a price: 1",
        "Person anna: $6",
        "Person @everyone: $3",
        "Person –: unknown",
        "Team –: $7",
        "Team search: $2",
        "Session s2: $3",
        "Session s1: $2",
      ]);
      const { body } = await purser.api("GET", "/digest");
      assert.deepEqual([body.from, body.to, body.time_zone, body.facts], [
        "2026-10-31T23:00:00.000Z",
        "2026-11-01T23:00:00.000Z",
        "Europe/Berlin",
        notification.facts,
      ]);
    },
  );

  test(
    "a weekly digest is written on the first day of the week, and again for the next one",
    [{ digest: "weekly" }],
    async ({ channels, spend, write, deliver, setClock, purser }) => {
      await spend(1, "2026-10-26T11:00:00.000Z"); // a Monday
      for (const day of ["2026-11-02", "2026-11-03", "2026-11-08", "2026-11-09"]) {
        setClock(`${day}T12:00:00.000Z`);
        await write();
        await deliver();
      }
      assert.deepEqual(channels[0]!.sent.map(({ notification }) => notification.title), [
        "Spending from 2026-10-26 to 2026-11-01 (Europe/Berlin): $1",
        "Spending from 2026-11-02 to 2026-11-08 (Europe/Berlin): $0",
      ]);
      const sent = await purser.api("POST", "/channels/c0/digest?period=weekly");
      assert.deepEqual([sent.status, sent.body.status], [200, "delivered"]);
      assert.equal(channels[0]!.sent.length, 3);
    },
  );

  test(
    "deliveries wait for the end of the quiet hours without an attempt, and an exempt severity doesn't",
    [
      { quietHours: { from: "12:30", to: "14:00", except: "critical" } },
      { quietHours: { from: "22:00", to: "07:00" } },
    ],
    async ({ purser, channels: [quiet, night], spend, deliver, setClock }) => {
      for (const severity of ["warning", "critical"]) {
        const rule = { name: severity, threshold_type: "per_day_usd", threshold_usd: 1, severity };
        await purser.api("POST", "/alerts/rules", rule);
      }
      await spend(1, "2026-11-01T12:00:00.000Z"); // 13:00 in Berlin
      await deliver();
      const titles = () => quiet!.sent.map(({ notification }) => notification.title.replace(/:.*/, ""));
      assert.deepEqual([titles(), night!.sent.length], [["critical"], 2]);
      const waiting = async () =>
        (await purser.api("GET", "/alerts/history")).body.flatMap((
          { deliveries }: { deliveries: { status: string; attempts: number; last_error: string }[] },
        ) => deliveries.filter(({ status }) => status === "pending"));
      const [{ attempts, last_error }, ...others] = await waiting();
      assert.deepEqual([attempts, last_error, others], [0, "waits for the end of quiet hours", []]);
      setClock("2026-11-01T12:59:59.999Z");
      await deliver();
      assert.deepEqual(titles(), ["critical"]);
      setClock("2026-11-01T13:00:00.000Z");
      await deliver();
      assert.deepEqual([titles(), await waiting()], [["critical", "warning"], []]);
      assert.equal(quiet!.sent[1]!.delivery.attempt, 1);
    },
  );
}

Deno.test("quietUntil() is undefined outside of the quiet hours, and their end is after the present and at most a day away", () => {
  const time = fc.integer({ min: 0, max: 24 * 60 - 1 });
  const text = (minutes: number) =>
    `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
  const zones = fc.constantFrom(
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
  );
  const start = Date.parse("2026-01-01T00:00:00Z");
  const at = fc.integer({ min: start, max: start + 366 * DAY_MS });
  fc.assert(
    fc.property(time, time, zones, at, (from, to, time_zone, now) => {
      fc.pre(from !== to);
      const local = localTime(time_zone, now);
      const minutes = Math.floor(local % DAY_MS / MINUTE_MS);
      const isIn = from < to ? minutes >= from && minutes < to : minutes >= from || minutes < to;
      const end = quietUntil({ from: text(from), to: text(to), time_zone }, now);
      assert.equal(end !== undefined, isIn);
      if (end === undefined) return;
      assert.ok(end > now && end <= now + DAY_MS + HOUR_MS, `${now} ${end}`);
      // At the end it is `to`, but for one that the change of a clock skips.
      const off = Math.abs(localTime(time_zone, end) % DAY_MS / MINUTE_MS - to);
      assert.ok(off === 0 || off <= 60, `${off}`);
    }),
  );
});

Deno.test("quietUntil() ends at its time of the day of a change of the clock", () => {
  const quiet = { from: "22:00", to: "07:00", time_zone: "Europe/Berlin" };
  const end = (at: string) => new Date(quietUntil(quiet, Date.parse(at))!).toISOString();
  assert.equal(end("2026-03-28T23:00:00Z"), "2026-03-29T05:00:00.000Z");
  assert.equal(end("2026-10-24T22:00:00Z"), "2026-10-25T06:00:00.000Z");
});
