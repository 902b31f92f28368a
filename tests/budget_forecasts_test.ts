import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { createBudget } from "../src/budgets/mod.ts";
import { listAlerts } from "../src/alerts/mod.ts";
import { reportCalls } from "../src/calls/mod.ts";
import { UTC } from "../src/contract/calendars/zones.ts";
import { type Window, windowOf } from "../src/contract/windows.ts";
import { fixedClock } from "../src/kernel/clock.ts";
import { toUsd } from "../src/kernel/money.ts";
import { openWithChannels } from "./harness/deliveries.ts";
import { bookingTests, report, unchecked } from "./harness/booking_tests.ts";
import { EVENT } from "./harness/bodies.ts";
import { dialectKinds } from "./harness/databases.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { recordingChannel } from "./harness/recording_channel.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** The forecasts of budgets: once in a window, where its mean pace will reach the limit before its end. */

const START = Date.parse("2026-11-01T00:00:00Z");

/** The decision as a plain model: whether a window that has cost so much by a time will cost the limit before its end. */
function isAhead(spent: bigint, limit: bigint, { from, to }: Window, now: number): boolean {
  const [elapsed, length] = [now - from, to! - from];
  if (spent >= limit || elapsed * 20 < length) return false;
  return Number(spent) * length >= Number(limit) * elapsed;
}

for (const kind of dialectKinds()) {
  let clock = fixedClock(START);
  const test = bookingTests(kind, { clock: () => clock = fixedClock(START), check: unchecked });

  test("over any history, a forecast is made as the model says, once in a window", async (ctx) => {
    let n = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("day" as const, "week" as const, "month" as const),
        fc.constantFrom("UTC", "Europe/Berlin", "Pacific/Chatham"),
        fc.bigInt({ min: 0n, max: 2_000n }),
        fc.array(
          fc.record({
            afterMs: fc.integer({ min: 0, max: 40_000_000 }),
            cost: fc.bigInt({ min: 1n, max: 100n }),
          }),
          { minLength: 1, maxLength: 12 },
        ),
        async (per, timeZone, limit, calls) => {
          const agentId = `agent-${++n}`;
          const { budget_id } = await createBudget(ctx, {
            ...{
              name: agentId,
              limit_usd: toUsd(limit),
              per,
              agent_id: agentId,
              warn_at: [],
              forecast: true,
              time_zone: timeZone,
            },
          });
          const spent = new Map<number, bigint>();
          const expected: number[] = [];
          for (const [index, { afterMs, cost }] of calls.entries()) {
            clock.advance(afterMs);
            const now = clock.now();
            await reportCalls(ctx, "report", [
              report(`${agentId}-${index}`, { agentId, at: now, costUsd: toUsd(cost) }),
            ]);
            const window = windowOf(per, now, null, { ...UTC, timeZone });
            const { from } = window;
            spent.set(from, (spent.get(from) ?? 0n) + cost);
            if (isAhead(spent.get(from)!, limit, window, now) && !expected.includes(from)) {
              expected.push(from);
            }
          }
          const alerts = (await listAlerts(ctx)).filter(({ rule_id }) => rule_id === budget_id);
          assert.deepEqual(alerts.map(({ window_start }) => Date.parse(window_start!)).reverse(), expected);
          for (const { reaches_at, limit_usd, threshold_usd, triggered_at } of alerts) {
            const { to } = windowOf(per, Date.parse(triggered_at), null, { ...UTC, timeZone });
            assert.ok(Date.parse(reaches_at!) <= to!);
            assert.equal(threshold_usd, limit_usd);
          }
        },
      ),
      { numRuns: kind.name === "postgres" ? 8 : 25 },
    );
  });
}

Deno.test("a forecast names when the limit is reached, and the key that spends the most", async () => {
  const ops = recordingChannel("ops");
  await using purser = await openWithChannels([ops]);
  const laptop = await makeKey(purser, ["report"], { name: "laptop", tags: { user: "anna" } });
  const ci = await makeKey(purser, ["report"], { name: "ci" });
  const { body: budget } = await purser.api("POST", "/budgets", {
    ...{ name: "Month", limit_usd: 100, per: "month", forecast: true },
  });
  assert.deepEqual([budget.forecast, budget.warn_at, budget.state], [true, [0.8, 1], "ok"]);
  purser.clock.advance(2 * 86_400_000);
  const client = openHttpClient(purser);
  const at = new Date(purser.clock.now()).toISOString();
  const spend = async ({ key }: { key: string }, call_id: string, cost_usd: number) => {
    const body = [{ ...EVENT, call_id, at, cost_usd }];
    assert.equal((await client.send("POST", "/costs/events", { key, body })).status, 201);
  };
  await spend(ci, "1", 3);
  assert.deepEqual((await purser.api("GET", "/alerts/history")).body, []);
  await spend(laptop, "2", 17);
  await spend(laptop, "3", 17);
  await ops.until(1);
  const [{ notification }] = ops.sent as [typeof ops.sent[0]];
  assert.match(
    notification.title,
    /^Budget Month: at this rate its \$100 are spent at 2026-11-1\d\S+, before its window ends; most by key laptop \(anna\)$/,
  );
  const valueOf = (wanted: string) => notification.facts.find(({ label }) => label === wanted)?.value;
  assert.deepEqual([valueOf("Spent"), valueOf("Most by")], [
    "$20 this month (UTC)",
    "key laptop (anna): $17",
  ]);
  await spend(laptop, "4", 50);
  const { body: history } = await purser.api("GET", "/alerts/history");
  assert.deepEqual(
    history.map((
      { value_usd, reaches_at }: { value_usd: number; reaches_at?: string },
    ) => [value_usd, reaches_at !== undefined]),
    [[87, false], [20, true]],
    "once, and then the warning of 80%",
  );
});

Deno.test("a forecast is of a day, a week or a month, and can be switched on and off", async () => {
  await using purser = await openTestPurser();
  const refused = await purser.api("POST", "/budgets", {
    name: "L",
    limit_usd: 1,
    per: "lifetime",
    forecast: true,
  });
  assert.equal(refused.status, 400);
  assert.deepEqual(refused.body.details.issues.map(({ path }: { path: string }) => path), ["forecast"]);
  const { body } = await purser.api("POST", "/budgets", { name: "D", limit_usd: 1, per: "day", warn_at: [] });
  const path = `/budgets/${body.budget_id}`;
  const on = await purser.api("PATCH", path, { forecast: true });
  assert.deepEqual([on.body.forecast, on.body.warn_at], [true, []]);
  assert.equal((await purser.api("PATCH", path, { per: "hour" })).status, 400);
  assert.equal((await purser.api("PATCH", path, { warn_at: [0.5] })).body.forecast, true);
  assert.deepEqual((await purser.api("PATCH", path, { forecast: false })).body.warn_at, [0.5]);
});
