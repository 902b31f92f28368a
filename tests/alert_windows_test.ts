import assert from "node:assert/strict";
import type { RuleRow } from "../src/alerts/rules/rule_fields.ts";
import { readRuleValues } from "./harness/rule_values.ts";
import { bookLooseCalls } from "../src/calls/mod.ts";
import { DAY_MS, fixedClock, HOUR_MS, toIso } from "../src/kernel/clock.ts";
import { tables } from "../src/store/mod.ts";
import { insertRules, ruleRow } from "./harness/alerts.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";

/** One USD. */
const USD = 1_000_000_000n;

/** The windows of rules over time, with a clock that the test sets. */
class Times {
  #calls = 0;
  constructor(readonly ctx: TestBooking, readonly clock: ReturnType<typeof fixedClock>) {}

  set(time: string): void {
    this.clock.advance(Date.parse(time) - this.clock.now());
  }

  /** Books a call made at a time, now unless given; returns the rules that fire and their value in USD. */
  async book(
    usd: bigint,
    { at, agentId = "agent" }: { at?: string; agentId?: string } = {},
  ): Promise<string[]> {
    const { length: before } = await this.alerts();
    const call = modelCall({
      callId: `call_${++this.#calls}`,
      agentId,
      at: at === undefined ? this.clock.now() : Date.parse(at),
      costNanoUsd: usd * USD,
      sessionId: "s",
      runId: "r",
    });
    await bookLooseCalls(this.ctx, [call]);
    return (await this.alerts()).slice(before).map(({ ruleName, valueNanoUsd }) =>
      `${ruleName} ${valueNanoUsd / USD}`
    );
  }

  async alerts() {
    return await this.ctx.query.select().from(tables.alerts).orderBy(tables.alerts.position);
  }
}

const kinds = dialectKinds();

function test(
  name: string,
  start: string,
  rules: Partial<RuleRow>[],
  run: (times: Times) => Promise<void>,
): void {
  for (const { name: kind, ignore, create } of kinds) {
    Deno.test({
      name: `${name} (${kind})`,
      ignore,
      async fn() {
        await using database = await create();
        const clock = fixedClock(start);
        const ctx = await createBooking(await database.open({ clock }), { clock });
        await insertRules(
          ctx.store,
          rules.map((rule, index) => ruleRow({ ruleId: `rule_${index}`, cooldownMs: 0, ...rule })),
        );
        await run(new Times(ctx, clock));
      },
    });
  }
}

const day = (usd: bigint, more: Partial<RuleRow> = {}): Partial<RuleRow> => ({
  name: "day",
  thresholdType: "per_day_usd",
  thresholdNanoUsd: usd * USD,
  ...more,
});
const hour = (usd: bigint, more: Partial<RuleRow> = {}): Partial<RuleRow> => ({
  ...day(usd, more),
  name: "hour",
  thresholdType: "per_hour_usd",
});
const month = (usd: bigint, more: Partial<RuleRow> = {}): Partial<RuleRow> => ({
  ...day(usd, more),
  name: "month",
  thresholdType: "per_month_usd",
});

test("a day ends with its last millisecond, UTC", "2026-11-21T23:59:59.998Z", [day(10n)], async (times) => {
  assert.deepEqual(await times.book(9n), []);
  times.set("2026-11-21T23:59:59.999Z");
  assert.deepEqual(await times.book(1n), ["day 10"]);
  times.set("2026-11-22T00:00:00.000Z");
  assert.deepEqual(await times.book(9n), [], "a new day begins with nothing");
  assert.deepEqual(await times.book(1n), ["day 10"]);
  assert.deepEqual((await times.alerts()).map(({ windowStart }) => toIso(windowStart!)), [
    "2026-11-21T00:00:00.000Z",
    "2026-11-22T00:00:00.000Z",
  ]);
});

test(
  "a leap year's February has 29 days",
  "2028-02-28T12:00:00.000Z",
  [day(10n), month(25n)],
  async (times) => {
    assert.deepEqual(await times.book(9n), []);
    times.set("2028-02-29T00:00:00.000Z");
    assert.deepEqual(await times.book(9n), [], "the calls of the 29th alone");
    times.set("2028-02-29T23:59:59.999Z");
    assert.deepEqual(await times.book(7n), ["day 16", "month 25"]);
    times.set("2028-03-01T00:00:00.000Z");
    assert.deepEqual(await times.book(9n), [], "a new month begins with nothing");
  },
);

test(
  "a month ends with its last day, for any length",
  "2026-04-30T23:59:59.999Z",
  [month(10n)],
  async (times) => {
    assert.deepEqual(await times.book(9n), []);
    times.set("2026-05-01T00:00:00.000Z");
    assert.deepEqual(await times.book(9n), []);
    times.set("2026-05-31T23:59:59.999Z");
    assert.deepEqual(await times.book(1n), ["month 10"]);
    times.set("2026-12-31T23:59:59.999Z");
    assert.deepEqual(await times.book(9n), []);
    times.set("2027-01-01T00:00:00.000Z");
    assert.deepEqual(await times.book(9n), [], "a new year too");
  },
);

test(
  "the rolling hour is 3,600,000 ms and not one more",
  "2026-11-21T09:30:00.500Z",
  [hour(10n)],
  async (times) => {
    assert.deepEqual(await times.book(9n), []);
    times.clock.advance(HOUR_MS - 1);
    assert.deepEqual(await times.book(1n), ["hour 10"]);
    times.clock.advance(1);
    assert.deepEqual(await times.book(1n), [], "the nine of an hour ago are out of it");
    assert.deepEqual(await times.book(8n), ["hour 10"]);
  },
);

test(
  "the rolling hour spans midnight and the end of a year",
  "2026-12-31T23:30:00.000Z",
  [hour(10n)],
  async (times) => {
    assert.deepEqual(await times.book(9n), []);
    times.set("2027-01-01T00:29:59.999Z");
    assert.deepEqual(await times.book(1n), ["hour 10"]);
  },
);

test("a late event counts in the window in which it happened", "2026-11-21T10:00:00.000Z", [
  day(10n),
  hour(10n, { ruleId: "rule_hour" }),
], async (times) => {
  assert.deepEqual(await times.book(99n, { at: "2026-11-20T23:59:59.999Z" }), [], "yesterday is over");
  assert.deepEqual(
    await times.book(9n, { at: "2026-11-21T08:00:00.000Z" }),
    [],
    "today, but not in this hour",
  );
  assert.deepEqual(
    await times.book(2n, { at: "2026-11-21T09:00:00.000Z" }),
    ["day 11"],
    "an hour ago is out of it",
  );
  assert.deepEqual(await times.book(10n, { at: "2026-11-21T09:00:00.001Z" }), ["hour 10", "day 21"]);
});

test("an event slightly in the future is evaluated as of its own time", "2026-11-21T23:58:00.000Z", [
  day(10n),
], async (times) => {
  assert.deepEqual(await times.book(9n), []);
  assert.deepEqual(await times.book(9n, { at: "2026-11-22T00:01:00.000Z" }), [], "of tomorrow");
  assert.deepEqual(await times.book(1n, { at: "2026-11-22T00:02:00.000Z" }), ["day 10"]);
  assert.deepEqual(await times.book(1n), ["day 10"], "of today");
});

test("a cooldown ends to the millisecond", "2026-11-21T09:00:00.000Z", [
  day(1n, { cooldownMs: 60_000 }),
], async (times) => {
  assert.deepEqual(await times.book(1n), ["day 1"]);
  times.clock.advance(59_999);
  assert.deepEqual(await times.book(1n), []);
  times.clock.advance(1);
  assert.deepEqual(await times.book(1n), ["day 3"]);
});

test(
  "a clock that steps back an hour extends a cooldown by at most its own length",
  "2026-11-21T09:00:00.000Z",
  [
    day(1n, { cooldownMs: 600_000 }),
  ],
  async (times) => {
    assert.deepEqual(await times.book(1n), ["day 1"]);
    times.clock.advance(-HOUR_MS);
    assert.deepEqual(await times.book(1n), [], "fired in the future counts as fired now");
    times.clock.advance(599_999);
    assert.deepEqual(await times.book(1n), []);
    times.clock.advance(1);
    assert.deepEqual(await times.book(1n), ["day 4"]);
  },
);

test(
  "a process that read its clock before another one fired neither shortens a cooldown nor is silenced",
  "2026-11-21T09:00:00.000Z",
  [day(1n, { cooldownMs: 10_000 }), day(3n, { ruleId: "rule_each", name: "each", cooldownMs: 0 })],
  async (times) => {
    assert.deepEqual(await times.book(2n), ["day 2"]);
    assert.deepEqual(await times.book(1n), ["each 3"]);
    times.clock.advance(-9_000); // it has waited for its turn to commit
    assert.deepEqual(await times.book(1n), ["each 4"]);
    times.clock.advance(18_999);
    assert.deepEqual(await times.book(1n), ["each 5"]);
    times.clock.advance(1);
    assert.deepEqual(await times.book(1n), ["day 6", "each 6"]);
  },
);

test("a clock that was a month ahead does not extend a cooldown by a month", "2026-11-21T09:00:00.000Z", [
  day(1n, { cooldownMs: 600_000 }),
  month(1n, { ruleId: "rule_month", repeat: "once_per_window" }),
], async (times) => {
  times.clock.advance(31 * DAY_MS);
  assert.deepEqual(await times.book(1n), ["day 1", "month 1"], "of December");
  times.clock.advance(-31 * DAY_MS);
  assert.deepEqual(
    await times.book(1n),
    ["month 1"],
    "November has not fired yet; the day's rule cools down from now",
  );
  times.clock.advance(600_000);
  assert.deepEqual(await times.book(1n), ["day 2"]);
  times.clock.advance(31 * DAY_MS);
  assert.deepEqual(await times.book(1n), ["day 2"], "December has already fired");
});

test("a rule that fires once a day fires again the next day", "2026-11-21T09:00:00.000Z", [
  day(1n, { repeat: "once_per_window" }),
], async (times) => {
  assert.deepEqual(await times.book(1n), ["day 1"]);
  times.set("2026-11-21T23:59:59.999Z");
  assert.deepEqual(await times.book(1n), []);
  times.set("2026-11-22T00:00:00.000Z");
  assert.deepEqual(await times.book(1n), ["day 1"]);
});

test(
  "a rule that fires once an hour fires again after the hour has fallen below the threshold",
  "2026-11-21T09:00:00.000Z",
  [
    hour(10n, { repeat: "once_per_window" }),
  ],
  async (times) => {
    assert.deepEqual(await times.book(10n), ["hour 10"]);
    times.set("2026-11-21T09:40:00.000Z");
    assert.deepEqual(await times.book(5n), [], "still over");
    times.set("2026-11-21T10:00:00.000Z");
    assert.deepEqual(await times.book(5n), ["hour 10"], "it was at 5 before this call");
    times.set("2026-11-21T10:30:00.000Z");
    assert.deepEqual(await times.book(0n), []);
  },
);

test("events of other agents fire no rule of one agent, and all count for all", "2026-11-21T09:00:00.000Z", [
  day(2n, { scope: "a" }),
  { ...day(3n), name: "all", ruleId: "rule_all" },
], async (times) => {
  assert.deepEqual(await times.book(1n, { agentId: "a" }), []);
  assert.deepEqual(await times.book(1n, { agentId: "b" }), []);
  assert.deepEqual(await times.book(1n, { agentId: "b" }), ["all 3"]);
  assert.deepEqual((await times.book(1n, { agentId: "a" })).sort(), ["all 4", "day 2"]);
});

test(
  "a rule per run or session measures the latest one of its agent",
  "2026-11-21T09:00:00.000Z",
  [],
  async (times) => {
    const { ctx, clock } = times;
    const rules = (["per_run_usd", "per_session_usd"] as const).flatMap((thresholdType) =>
      ["", "a", "b", "none"].map((scope) => ({ thresholdType, scope }))
    );
    assert.deepEqual(await readRuleValues(ctx, rules), rules.map(() => null));
    const book = async (agentId: string, id: string, usd: bigint) => {
      clock.advance(1);
      const call = { callId: `call_${id}_${usd}`, agentId, at: clock.now(), costNanoUsd: usd * USD };
      await bookLooseCalls(ctx, [modelCall({ ...call, runId: `run_${id}`, sessionId: `ses_${id}` })]);
    };
    await book("a", "1", 1n);
    await book("a", "2", 2n);
    await book("b", "3", 3n);
    await book("a", "2", 5n);
    const values = [3n, 7n, 3n].map((usd) => usd * USD);
    assert.deepEqual(await readRuleValues(ctx, rules), [...values, null, ...values, null]);
  },
);

test(
  "a rule that fires once a day fires for tomorrow shortly before midnight",
  "2026-11-21T09:00:00.000Z",
  [
    day(1n, { repeat: "once_per_window" }),
  ],
  async (times) => {
    assert.deepEqual(await times.book(1n), ["day 1"]);
    times.set("2026-11-21T23:58:00.000Z");
    assert.deepEqual(await times.book(1n), []);
    assert.deepEqual(await times.book(1n, { at: "2026-11-22T00:02:00.000Z" }), ["day 1"]);
  },
);

test("one commit of calls at several times fires once for the hour", "2026-11-21T09:00:00.000Z", [
  hour(1n, { repeat: "once_per_window" }),
], async ({ ctx, clock }) => {
  const call = (callId: string, at: number) => modelCall({ callId, at, costNanoUsd: USD });
  await bookLooseCalls(ctx, [call("a", clock.now()), call("b", clock.now() + 60_000)]);
  assert.equal((await ctx.query.select().from(tables.alerts)).length, 1);
});
