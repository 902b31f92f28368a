import assert from "node:assert/strict";
import { readAlertNotification } from "../src/alerts/alerts.ts";
import type { Alert } from "../src/contract/alerts/alerts.ts";
import { add as addBudget, DAY as BUDGET, spend } from "./harness/budget_requests.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** Alert rules whose days and months are those of a time zone. The clock stands at noon of 1 November 2026. */

const RULES = "/alerts/rules";
const DAY = { name: "Day", threshold_type: "per_day_usd", threshold_usd: 5, severity: "warning" };
const HOUR = 3_600_000;

async function add(purser: TestPurser, rule: Record<string, unknown>) {
  const { status, body } = await purser.api("POST", RULES, { ...DAY, ...rule });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const spendNow = (purser: TestPurser, usd: number, more: object = {}) =>
  spend(purser, usd, { at: new Date(purser.clock.now()).toISOString(), ...more });
const firedOf = async (purser: TestPurser): Promise<Alert[]> =>
  (await purser.api("GET", "/alerts/history")).body.toReversed();
const titleOf = async (purser: TestPurser, { alert_id }: Alert) =>
  (await readAlertNotification({ ...purser.core, environment: "test" }, alert_id))!.title;

Deno.test("a rule of a zone fires once a day of that zone, for what was spent since its midnight", async () => {
  await using purser = await openTestPurser();
  await spend(purser, 3, { at: "2026-10-31T14:59:59.000Z" });
  await spend(purser, 4, { at: "2026-10-31T15:00:00.000Z" });
  const rule = await add(purser, { time_zone: "Asia/Tokyo", repeat: "once_per_window", cooldown_seconds: 0 });
  assert.deepEqual([rule.time_zone, rule.value_usd, rule.window_start], [
    "Asia/Tokyo",
    4,
    "2026-10-31T15:00:00.000Z",
  ]);
  await spendNow(purser, 1);
  await spendNow(purser, 1);
  const [alert, ...more] = await firedOf(purser);
  assert.deepEqual(more, []);
  assert.deepEqual([alert!.value_usd, alert!.window_start, alert!.time_zone], [
    5,
    "2026-10-31T15:00:00.000Z",
    "Asia/Tokyo",
  ]);
  assert.equal(await titleOf(purser, alert!), "Day: $5 spent today (Asia/Tokyo), threshold $5");
  purser.clock.advance(3 * HOUR - 1);
  await spendNow(purser, 5);
  assert.equal((await firedOf(purser)).length, 1);
  purser.clock.advance(1);
  await spendNow(purser, 5);
  assert.deepEqual((await firedOf(purser)).map(({ value_usd }) => value_usd), [5, 5]);
});

Deno.test("a rule of a fiscal month, and one for each value of a tag in a zone, fire by their windows", async () => {
  await using purser = await openTestPurser();
  await spend(purser, 4, { at: "2026-10-15T00:00:00.000Z" });
  const month = await add(purser, { name: "Month", threshold_type: "per_month_usd", month_start_day: 15 });
  assert.deepEqual([month.value_usd, month.month_start_day], [4, 15]);
  await add(purser, { name: "Customers", each: "tag:customer", time_zone: "Asia/Kolkata" });
  await add(purser, {
    name: "Acme",
    tags: { customer: "acme" },
    threshold_type: "per_month_usd",
    month_start_day: 15,
  });
  await spend(purser, 4, { at: "2026-10-31T18:30:00.000Z", tags: { customer: "acme" } });
  await spendNow(purser, 1, { tags: { customer: "acme" } });
  await spendNow(purser, 4, { tags: { customer: "globex" } });
  assert.deepEqual(
    (await firedOf(purser)).map(({ rule_name, value_usd, counter }) => [rule_name, value_usd, counter?.id])
      .sort(),
    [["Acme", 5, "acme"], ["Customers", 5, "acme"], ["Month", 8, undefined]],
  );
});

Deno.test("the zone of a rule is refused by its field, can be changed, and is by default that of the server", async () => {
  await using purser = await openTestPurser({ config: { timeZone: "Europe/Berlin", monthStartDay: 6 } });
  const { rule_id, time_zone, month_start_day } = await add(purser, {});
  assert.deepEqual([time_zone, month_start_day], ["Europe/Berlin", 1]);
  assert.equal((await add(purser, { threshold_type: "per_month_usd" })).month_start_day, 6);
  assert.equal((await add(purser, { threshold_type: "per_hour_usd" })).time_zone, "UTC");
  const faults: [fields: object, message: RegExp][] = [
    [{ time_zone: "Asia/Tokio" }, /time_zone.*did you mean Asia\/Tokyo\?/],
    [
      { threshold_type: "per_hour_usd", time_zone: "Asia/Tokyo" },
      /time_zone.*can't be together with per_hour_usd/,
    ],
    [{ month_start_day: 15 }, /month_start_day.*can't be together with per_day_usd/],
    [{ threshold_type: "per_month_usd", month_start_day: 29 }, /month_start_day/],
  ];
  for (const [fields, message] of faults) {
    const { status, body } = await purser.api("POST", RULES, { ...DAY, ...fields });
    assert.equal(status, 400, JSON.stringify(fields));
    assert.match(JSON.stringify(body), message);
  }
  const changed = await purser.api("PATCH", `${RULES}/${rule_id}`, { time_zone: "UTC" });
  assert.equal(changed.body.time_zone, "UTC");
  const calendars = "SELECT calendar FROM calendars ORDER BY 1";
  assert.deepEqual((await purser.core.store.read({ sql: calendars })).rows.flat(), [
    "Europe/Berlin day",
    "Europe/Berlin month 6",
  ]);
});

Deno.test("a warning of a budget names its zone", async () => {
  await using purser = await openTestPurser();
  await addBudget(purser, { ...BUDGET, limit_usd: 5, warn_at: [1], time_zone: "Asia/Tokyo" });
  await spendNow(purser, 5);
  const [alert] = await firedOf(purser);
  assert.equal(await titleOf(purser, alert!), "Budget Day: $5 spent today (Asia/Tokyo), 100% of $5 reached");
  assert.deepEqual([alert!.window_start, alert!.time_zone], ["2026-10-31T15:00:00.000Z", "Asia/Tokyo"]);
});
