import { THRESHOLD_TYPES } from "../src/contract/values.ts";
import { calendarText, periodOf } from "../src/contract/windows.ts";
import { type Calendar, UTC } from "../src/contract/calendars/zones.ts";
import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import {
  bookInModel,
  type ModelAlert,
  noticeClock,
  type RuleState,
  spanAt,
  valueOf,
} from "./harness/decision_model.ts";
import { advanceCounters, type RuleInput, toAuthoredRule } from "../src/alerts/mod.ts";
import { countersFor } from "../src/budgets/mod.ts";
import { readRuleValues } from "./harness/rule_values.ts";
import { bookLooseCalls } from "../src/calls/mod.ts";
import { fixedClock } from "../src/kernel/clock.ts";
import { addCalendar, extendCalendars, type ModelCall } from "../src/ledger/mod.ts";
import { tables } from "../src/store/mod.ts";
import { type Alerts, insertRules, ruleRow } from "./harness/alerts.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";
import { cases } from "./harness/thorough.ts";

const START = Date.parse("2028-02-28T22:30:00.000Z");
const MINUTE = 60_000;

const call = fc.record({
  agent: fc.constantFrom("a", "b"),
  session: fc.constantFrom(null, "s1", "s2"),
  run: fc.constantFrom(null, "r1", "r2", "r3"),
  key: fc.constantFrom(undefined, "k1", "k2"),
  customer: fc.constantFrom(undefined, "acme", "b c"),
  cost: fc.oneof(fc.constant(null), fc.constantFrom(0n, 1n, 500n, 1_000_000_000n), fc.bigInt(1n, 900n)),
  lateMs: fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.integer({ min: -300_000, max: 90 * MINUTE }) },
    { weight: 1, arbitrary: fc.constantFrom(60 * MINUTE, 60 * MINUTE - 1, 24 * 60 * MINUTE) },
  ),
});

/** A step of a history: time passes, forward or backward, and a commit books calls. */
const step = fc.record({
  advanceMs: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 20 * MINUTE }) },
    { weight: 2, arbitrary: fc.constantFrom(1, 999, MINUTE, 60 * MINUTE, 60 * MINUTE - 1, 24 * 60 * MINUTE) },
    { weight: 1, arbitrary: fc.constantFrom(-60 * MINUTE, -1, -31 * 24 * 60 * MINUTE) },
    { weight: 1, arbitrary: fc.constant(31 * 24 * 60 * MINUTE) },
  ),
  toggles: fc.option(fc.nat(4), { nil: undefined, freq: 8 }),
  // From sixteen calls on, those that can fire no rule are counted at once.
  calls: fc.oneof(
    { weight: 3, arbitrary: fc.array(call, { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.array(call, { minLength: 15, maxLength: 20 }) },
  ),
});

const RULE_SUBJECTS: readonly RuleSubjects[] = [
  { each: "tag:customer" },
  { each: "key" },
  { each: "agent" },
  { each: "session" },
  { each: "tag:customer", agent_id: "a" },
  { each: "tag:customer", key_id: "k1" },
  { key_id: "k1" },
  { key_id: "k2", agent_id: "b" },
  { tags: { customer: "b c" } },
  { tags: { customer: "acme" }, key_id: "k1" },
  { session_id: "s1" },
];

/** The columns of a rule of some subjects. A rule per run has none but an agent. */
function columnsOf({ thresholdType, subjects: { each, ...subjects }, zone }: {
  thresholdType: typeof THRESHOLD_TYPES[number];
  subjects: RuleSubjects;
  zone: Calendar;
}) {
  const isRun = thresholdType === "per_run_usd";
  const { scope, each: part, shape } = toAuthoredRule({
    name: "a rule",
    threshold_type: thresholdType,
    threshold_usd: 1,
    severity: "warning",
    ...(isRun ? {} : subjects),
    ...(isRun || thresholdType === "per_session_usd" ? {} : { each }),
  });
  return { scope, each: part, shape, calendar: calendarText(periodOf(thresholdType), zone) };
}

const rule = fc.record({
  thresholdType: fc.constantFrom(...THRESHOLD_TYPES),
  thresholdNanoUsd: fc.oneof(
    fc.constantFrom(1n, 500n, 1_000n, 1_000_000_500n),
    fc.bigInt(1n, 3_000n),
    fc.bigInt(3_000n, 12_000n),
  ),
  cooldownMs: fc.constantFrom(0, 1_000, 10 * MINUTE, 3_600_000, 86_400_000),
  repeat: fc.constantFrom("cooldown" as const, "once_per_window" as const),
  subjects: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom({}, { agent_id: "a" }, { agent_id: "b" }) },
    { weight: 3, arbitrary: fc.constantFrom<RuleSubjects>(...RULE_SUBJECTS) },
  ),
  zone: fc.oneof(
    { weight: 2, arbitrary: fc.constant(UTC) },
    {
      weight: 1,
      arbitrary: fc.record({
        timeZone: fc.constantFrom("UTC", "Asia/Tokyo", "America/New_York", "Asia/Kathmandu"),
        weekStart: fc.constant(UTC.weekStart),
        monthStartDay: fc.constantFrom(1, 15, 28),
      }),
    },
  ),
  enabled: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, {
    weight: 1,
    arbitrary: fc.constant(false),
  }),
});

type RuleSubjects = Partial<
  Pick<RuleInput, "agent_id" | "key_id" | "session_id" | "tags" | "model" | "each">
>;

const history = fc.record({
  rules: fc.array(rule, { minLength: 1, maxLength: 5 }),
  steps: fc.array(step, { minLength: 1, maxLength: 25 }),
});

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name: `the decision in SQL equals that of the model for any bookings and any clock (${name})`,
    ignore,
    async fn() {
      await fc.assert(
        fc.asyncProperty(history, async ({ rules, steps }) => {
          await using database = await create();
          const clock = fixedClock(START);
          const ctx = await createBooking(await database.open({ clock }), { clock });
          const states: RuleState[] = rules.map(({ subjects, zone, ...given }, index) => ({
            rule: ruleRow({ ...given, ...columnsOf({ ...given, subjects, zone }), ruleId: `rule_${index}` }),
            firedAt: null,
            claims: new Set(),
            isOver: false,
          }));
          await ctx.store.write(
            states.flatMap(({ rule }) => [
              ...addCalendar(rule.calendar, START - 700 * 24 * 60 * MINUTE), // for a clock that is set back
              ...countersFor({ ...(rule as Alerts["rule"]), calendar: null }, START),
            ]),
          );
          await insertRules(ctx.store, states.map(({ rule }) => rule as Alerts["rule"]));
          const booked: ModelCall[] = [];
          let count = 0;
          for (const { advanceMs, toggles, calls } of steps) {
            clock.advance(advanceMs);
            await extendCalendars(ctx); // as each process does every hour
            const now = clock.now();
            const toggled = toggles === undefined ? undefined : states[toggles]?.rule;
            if (toggled) {
              noticeClock(states, now); // a change of rules decides on what was booked before
              toggled.enabled = !toggled.enabled;
              await toggle(ctx, toggled.ruleId, toggled.enabled, now);
            }
            const commit = calls.map(({ agent, session, run, key, customer, cost, lateMs }) =>
              modelCall({
                callId: `call_${++count}`,
                at: now - lateMs,
                agentId: agent,
                sessionId: session,
                runId: run,
                costNanoUsd: cost,
                ...(key && { keyId: key }),
                ...(customer && { tags: { customer } }),
              })
            );
            const { length: before } = await ctx.query.select().from(tables.alerts);
            await bookLooseCalls(ctx, commit);
            const rows = (await ctx.query.select().from(tables.alerts).orderBy(tables.alerts.position))
              .slice(before);
            const expected = bookInModel(states, booked, commit, now);
            const actual = rows.map(({ ruleId, valueNanoUsd, runId, sessionId }) => ({
              ruleId,
              value: valueNanoUsd,
              runId,
              sessionId,
            }));
            assert.deepEqual(inOrder(actual), inOrder(expected));

            const timed = states.map(({ rule }) => rule).filter((rule) => isTimed(rule) && isPlain(rule))
              .filter(isTimed);
            assert.deepEqual(
              await readRuleValues(ctx, timed),
              timed.map(({ thresholdType: type, scope, calendar }) =>
                valueOf({ type, scope, id: null, ...spanAt(type, now, calendar) }, booked)
              ),
            );
          }
        }),
        { numRuns: cases({ file: 12, memory: 50, sqld: 6, postgres: 2 }[name]) },
      );
    },
  });
}

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name:
      `calls ahead of the clock that cross a threshold within a set fire at the one that crosses it (${name})`,
    ignore,
    async fn() {
      await using database = await create();
      const clock = fixedClock(START);
      const ctx = await createBooking(await database.open({ clock }), { clock });
      await insertRules(ctx.store, [ruleRow({ thresholdType: "per_hour_usd", thresholdNanoUsd: 1_000n })]);
      const ahead = (callId: string, costNanoUsd: bigint) =>
        modelCall({ callId, at: START + 4 * MINUTE, costNanoUsd });
      await bookLooseCalls(ctx, [ahead("first", 900n)]);
      await bookLooseCalls(ctx, Array.from({ length: 20 }, (_, index) => ahead(`${index}`, 15n)));
      const [alert, ...others] = await ctx.query.select().from(tables.alerts);
      assert.deepEqual([alert?.callPosition, alert?.valueNanoUsd, others.length], [8, 1_005n, 0]);
    },
  });
}

const isPlain = ({ scope, shape }: RuleState["rule"]) => shape === null && !scope.startsWith("by ");
const isTimed = (
  rule: RuleState["rule"],
): rule is RuleState["rule"] & { thresholdType: typeof THRESHOLD_TYPES[number] } =>
  !/run|session/.test(rule.thresholdType);

function inOrder(alerts: readonly ModelAlert[]): string[] {
  return alerts.map(({ ruleId, value, runId, sessionId }) => [ruleId, value, runId, sessionId].join(" "))
    .sort();
}

/** Enables or disables, as PATCH does. */
async function toggle(ctx: TestBooking, ruleId: string, enabled: boolean, now: number): Promise<void> {
  await ctx.store.write([...advanceCounters(ctx), {
    sql: `UPDATE alert_rules SET enabled = ?2,
      is_armed = CASE WHEN ?2 = 1 AND shape IS NULL AND is_over = 0 AND (rests_until IS NULL OR rests_until <= ?3) THEN 1 ELSE 0 END WHERE rule_id = ?1`,
    args: [ruleId, enabled ? 1 : 0, now],
  }]);
}
