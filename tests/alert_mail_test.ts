import assert from "node:assert/strict";
import { composeMessage } from "../plugins/smtp/deliver.ts";
import { describeAlert } from "../src/alerts/describe_alert.ts";

Deno.test("the mail of an alert names the environment once", async () => {
  const notification = describeAlert({
    alert_id: "alert_1",
    rule_id: "rule_1",
    rule_name: "Daily limit",
    threshold_type: "per_day_usd",
    threshold_usd: 10,
    severity: "warning",
    value_usd: 12.25,
    agent_id: "researcher",
    session_id: null,
    run_id: null,
    window_start: "2026-11-21T00:00:00.000Z",
    triggered_at: "2026-11-21T09:30:00.000Z",
    test: false,
    state: "firing",
  }, "production");
  const from = "purser@example.com";
  const raw = await composeMessage({ notification, deliveryId: "dlv_1", from, to: [from], now: 0 });
  const text = new TextDecoder().decode(raw).replaceAll("\r", "");
  assert.equal(text.match(/production/g)?.length, 1, text);
  assert.match(text, /\nSpent: \$12\.25 today \(UTC\)\n/);
  assert.match(text, /\nEnvironment: production\n/);
});
