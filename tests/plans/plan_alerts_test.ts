import assert from "node:assert/strict";
import { createRule, explainAlert, listAlerts, listRules, updateRule } from "../../src/alerts/mod.ts";
import { readAlertNotification } from "../../src/alerts/mod.ts";
import type { RuleInput } from "../../src/contract/alerts/alert_rules.ts";
import { type PlanOrigin, recordPlanWindows } from "../../src/plans/mod.ts";
import type { PlanWindow } from "../../src/plans/sources/mod.ts";
import type { TestBooking } from "../harness/booking.ts";
import { hasCode } from "../harness/booking_tests.ts";
import { bookingTests, unchecked } from "../harness/booking_tests.ts";
import { dialectKinds } from "../harness/databases.ts";
import { eagerClock } from "../harness/eager_clock.ts";

/** Alert rules about the windows of plans: once for each window, through channels as every alert. */

const NOW = Date.parse("2026-11-27T12:00:00Z");
const HOUR = 3_600_000;
const PLAN: PlanOrigin = { agent: "claude-code", source: "log", owner: { machine: "a|b" } };
const RULE: RuleInput = {
  name: "Plan",
  threshold_type: "plan_window_pct",
  threshold_pct: 80,
  severity: "warning",
};
const five = (usedPercent: number, more: Partial<PlanWindow> = {}): PlanWindow => ({
  window: "five_hour",
  usedPercent,
  resetsAt: NOW + 2 * HOUR,
  measuredAt: NOW,
  ...more,
});

for (const kind of dialectKinds()) {
  const test = bookingTests(kind, { clock: () => eagerClock(NOW), check: unchecked });
  let at = NOW;
  const record = (ctx: TestBooking, window: PlanWindow, origin = PLAN, now = NOW) =>
    recordPlanWindows(ctx, origin, [{ ...window, measuredAt: Math.min(at++, now) }], now);
  const fired = async (ctx: TestBooking) =>
    (await listAlerts(ctx)).map(({ rule_name, value_pct, agent_id, plan_window }) => [
      rule_name,
      value_pct,
      agent_id,
      plan_window?.window,
    ]).reverse();

  test("a rule fires once for each window that passes its threshold, and names plan, use and reset", async (ctx) => {
    at = NOW - 1_000;
    const rule = await createRule(ctx, RULE);
    await record(ctx, five(79.99));
    assert.deepEqual(await fired(ctx), []);
    for (const used of [80, 85, 99]) await record(ctx, five(used));
    // The same window, whose end its source gives with a difference.
    await record(ctx, five(100, { resetsAt: NOW + 2 * HOUR + 1_500 }));
    assert.deepEqual(await fired(ctx), [["Plan", 80, "claude-code", "five_hour"]]);
    await record(ctx, { window: "seven_day", usedPercent: 90, resetsAt: NOW + 90 * HOUR });
    await record(ctx, five(81), { ...PLAN, agent: "codex" });
    await record(ctx, five(82, { resetsAt: NOW + 7 * HOUR }));
    await record(ctx, five(95, { resetsAt: undefined }), { ...PLAN, owner: { machine: "c" } });
    assert.deepEqual((await fired(ctx)).slice(1), [
      ["Plan", 90, "claude-code", "seven_day"],
      ["Plan", 81, "codex", "five_hour"],
      ["Plan", 82, "claude-code", "five_hour"],
    ]);
    const first = (await listAlerts(ctx)).at(-1)!;
    assert.deepEqual([first.threshold_usd, first.value_usd, first.threshold_pct], [null, null, 80]);
    assert.deepEqual(first.plan_window, {
      agent_id: "claude-code",
      machine: "a|b",
      provider: null,
      window: "five_hour",
      resets_at: "2026-11-27T14:00:00.000Z",
    });
    assert.equal((await explainAlert(ctx, first.alert_id)).causes, null);
    const notification = await readAlertNotification({ ...ctx, environment: "test" }, first.alert_id);
    assert.equal(
      notification?.title,
      "Plan: 80% of the five_hour window of the claude-code plan used, threshold 80%",
    );
    assert.deepEqual(notification?.facts.slice(0, -1).map(({ label, value }) => `${label}: ${value}`), [
      "Rule: Plan",
      "Used: 80%",
      "Threshold: 80%",
      "Plan: claude-code",
      "Machine: a|b",
      "Window: five_hour",
      "Resets at: 2026-11-27T14:00:00.000Z",
    ]);
    const [listed] = await listRules(ctx);
    assert.deepEqual([listed?.value_usd, listed?.value_pct, listed?.threshold_pct, listed?.repeat], [
      null,
      90,
      80,
      "once_per_window",
    ]);
    assert.equal(listed?.rule_id, rule.rule_id);
  });

  test("a rule fires once for an account, whichever of its machines has measured the window", async (ctx) => {
    at = NOW - 1_000;
    await createRule(ctx, RULE);
    const on = (machine: string, account?: string) => ({ ...PLAN, owner: { machine }, account });
    await record(ctx, five(81), on("laptop", "org/anna"));
    await record(ctx, five(82), on("desktop", "org/anna"));
    await record(ctx, five(83), on("phone", "org/bob"));
    await record(ctx, five(84), on("attic"));
    await record(ctx, five(85, { resetsAt: NOW + 7 * HOUR }), on("desktop", "org/anna"));
    assert.deepEqual((await fired(ctx)).map(([, used]) => used), [81, 83, 84, 85]);
  });

  test("a window that has ended, another agent's plan and a disabled rule fire nothing", async (ctx) => {
    at = NOW - 1_000;
    const rule = await createRule(ctx, { ...RULE, agent_id: "codex" });
    await record(ctx, five(90));
    await record(ctx, five(90, { resetsAt: NOW - 1 }), { ...PLAN, agent: "codex" });
    await updateRule(ctx, rule.rule_id, { enabled: false });
    await record(ctx, five(90), { ...PLAN, agent: "codex" });
    assert.deepEqual(await fired(ctx), []);
    await updateRule(ctx, rule.rule_id, { enabled: true });
    await record(ctx, five(90), { ...PLAN, agent: "codex" });
    assert.equal((await fired(ctx)).length, 1);
    // A moved threshold is another one.
    await updateRule(ctx, rule.rule_id, { threshold_pct: 90 });
    await record(ctx, five(90), { ...PLAN, agent: "codex" });
    assert.equal((await fired(ctx)).length, 2);
  });

  test("a rule has the threshold of its type, and can become one of the other", async (ctx) => {
    const usd: RuleInput = {
      name: "Day",
      threshold_type: "per_day_usd",
      threshold_usd: 1,
      severity: "info",
      cooldown_seconds: 5,
    };
    await assert.rejects(createRule(ctx, { ...RULE, threshold_pct: undefined }), hasCode("invalid"));
    await assert.rejects(createRule(ctx, { ...RULE, threshold_usd: 1 }), hasCode("invalid"));
    await assert.rejects(createRule(ctx, { ...usd, threshold_pct: 1 }), hasCode("invalid"));
    await assert.rejects(createRule(ctx, { ...RULE, repeat: "cooldown" }), hasCode("invalid"));
    await assert.rejects(createRule(ctx, { ...RULE, cooldown_seconds: 1 }), hasCode("invalid"));
    const { rule_id } = await createRule(ctx, usd);
    await assert.rejects(updateRule(ctx, rule_id, { threshold_pct: 50 }), hasCode("invalid"));
    const plan = await updateRule(ctx, rule_id, { threshold_type: "plan_window_pct", threshold_pct: 50 });
    assert.deepEqual([plan.threshold_usd, plan.threshold_pct, plan.cooldown_seconds, plan.value_pct], [
      null,
      50,
      0,
      null,
    ]);
    const again = await updateRule(ctx, rule_id, { threshold_type: "per_hour_usd", threshold_usd: 2 });
    assert.deepEqual([again.threshold_usd, again.threshold_pct, again.cooldown_seconds, again.repeat], [
      2,
      undefined,
      3_600,
      "cooldown",
    ]);
  });
}
