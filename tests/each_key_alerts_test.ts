import assert from "node:assert/strict";
import { composeMessage } from "../plugins/smtp/deliver.ts";
import { readAlertNotification } from "../src/alerts/alerts.ts";
import type { Alert } from "../src/contract/alerts/alerts.ts";
import { EVENT } from "./harness/bodies.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";
import { startWebhookReceiver } from "./harness/webhook_receiver.ts";

/** The warnings of a budget for each key, and alerts of a key's calls, name the key everywhere. */

const EACH = { name: "People", limit_usd: 5, per: "day", each: "key", warn_at: [0.8] };

async function spend(purser: TestPurser, key: string, id: string, cost_usd: number, agent = "coder") {
  const call = {
    ...EVENT,
    call_id: id,
    at: new Date(purser.clock.now()).toISOString(),
    agent_id: agent,
    cost_usd,
  };
  const { status, body } = await openHttpClient(purser).send("POST", "/costs/events", { key, body: [call] });
  assert.equal(status, 201, JSON.stringify(body));
}

const historyOf = async (purser: TestPurser): Promise<Alert[]> =>
  (await purser.api("GET", "/alerts/history")).body;

Deno.test("the warning of each key names it in the history, the event, the dashboard's data and its explanation", async () => {
  await using purser = await openTestPurser();
  const bob = await makeKey(purser, ["run"], { name: "bob" });
  const ann = await makeKey(purser, ["run"], { name: "ann" });
  const { body: { budget_id } } = await purser.api("POST", "/budgets", EACH);
  await spend(purser, bob.key, "1", 4.5);
  await spend(purser, ann.key, "2", 4.25);
  const history = await historyOf(purser);
  assert.deepEqual(
    history.map((alert) => [alert.rule_id, alert.key_id, alert.key_name, alert.counter, alert.value_usd]),
    [
      [budget_id, ann.keyId, "ann", { kind: "key", id: ann.keyId }, 4.25],
      [budget_id, bob.keyId, "bob", { kind: "key", id: bob.keyId }, 4.5],
    ],
  );
  const events = purser.published.filter(({ type }) => type === "alert.triggered");
  assert.deepEqual(events.map(({ payload }) => payload.key_name), ["bob", "ann"]);
  const { body: explained } = await purser.api("GET", `/alerts/history/${history[1]!.alert_id}`);
  assert.equal(explained.key_name, "bob");
  assert.deepEqual([explained.causes.measured.key_id, explained.causes.measured.key_name], [
    bob.keyId,
    "bob",
  ]);
  const { body: live } = await purser.api("GET", "/live?once=true");
  const alerts = (live.alerts ?? live.state?.alerts ?? []) as Alert[];
  assert.deepEqual(alerts.map(({ key_name }) => key_name), ["ann", "bob"]);
  // A key that was revoked since keeps its name.
  await purser.api("DELETE", `/keys/${bob.keyId}`);
  assert.equal((await historyOf(purser))[1]!.key_name, "bob");
});

Deno.test("an alert rule names the key of the call that fired it; calls without one have none", async () => {
  await using purser = await openTestPurser();
  const bob = await makeKey(purser, ["run"], { name: "bob" });
  const rule = {
    name: "Day",
    threshold_type: "per_day_usd",
    threshold_usd: 1,
    severity: "info",
    cooldown_seconds: 0,
  };
  await purser.api("POST", "/alerts/rules", rule);
  await spend(purser, bob.key, "1", 2);
  await purser.api("POST", "/costs/events", [{
    ...{ ...EVENT, call_id: "2", cost_usd: 2 },
    at: new Date(purser.clock.now()).toISOString(),
  }]);
  const history = await historyOf(purser);
  assert.deepEqual(history.map(({ key_name }) => key_name), [undefined, "bob"]);
  assert.deepEqual(history.map(({ key_id }) => key_id), [undefined, bob.keyId]);
});

Deno.test("a webhook, Slack, a mail and the log get the key's name in the title and beside its id", async () => {
  await using hook = startWebhookReceiver();
  await using slack = startWebhookReceiver();
  await using purser = await openTestPurser({
    config: {
      channels: [
        { kind: "webhook", name: "hook", settings: { url: hook.url } },
        { kind: "slack", name: "slack", settings: { url: slack.url } },
        { kind: "log", name: "log", settings: {} },
      ].map((channel) => ({ ...channel, minSeverity: "info", timeoutMs: 5_000 })) as never,
      allowPrivateNetworks: ["127.0.0.0/8"],
    },
  });
  const bob = await makeKey(purser, ["run"], { name: "bob's laptop" });
  await purser.api("POST", "/budgets", EACH);
  await spend(purser, bob.key, "1", 4.5);
  const [alert] = await historyOf(purser);
  const { body } = await purser.api("POST", `/alerts/history/${alert!.alert_id}/resend`);
  assert.deepEqual(
    body.results.map(({ status }: { status: string }) => status),
    ["delivered", "delivered", "delivered"],
    JSON.stringify(body),
  );
  const title = "Budget People, key bob's laptop: $4.5 spent today (UTC), 80% of $5 reached";
  const { data } = JSON.parse(hook.received[0]!.body);
  assert.deepEqual([data.key_id, data.key_name, data.counter], [
    bob.keyId,
    "bob's laptop",
    { kind: "key", id: bob.keyId },
  ]);
  const posted = JSON.parse(slack.received[0]!.body);
  assert.ok(posted.text.includes(title), posted.text);
  assert.match(slack.received[0]!.body, /Key[^{}]*bob's laptop/);
  const line = purser.logs.find(({ message, fields }) =>
    `${message} ${JSON.stringify(fields)}`.includes("People")
  );
  assert.ok(
    line && `${line.message} ${JSON.stringify(line.fields)}`.includes("bob's laptop"),
    JSON.stringify(line),
  );
  const notification = await readAlertNotification({ ...purser.core, environment: "test" }, alert!.alert_id);
  const from = "purser@example.com";
  const raw = await composeMessage({
    notification: notification!,
    deliveryId: "dlv_1",
    from,
    to: [from],
    now: 0,
  });
  const mail = new TextDecoder().decode(raw).replaceAll("\r", "");
  assert.match(mail, /\nKey: bob's laptop\n/);
  assert.equal(notification!.title, title);
});

Deno.test("a warning of an earlier version, which has no key of its call, is named by its counter", async () => {
  await using purser = await openTestPurser();
  const bob = await makeKey(purser, ["run"], { name: "bob" });
  await purser.api("POST", "/budgets", EACH);
  await spend(purser, bob.key, "1", 4.5);
  await purser.core.store.write([{ sql: "UPDATE alerts SET key_id = NULL" }]);
  const [alert] = await historyOf(purser);
  assert.deepEqual([alert!.key_id, alert!.key_name], [bob.keyId, "bob"]);
});

Deno.test("a key of one agent gets the warnings of its own counter, and no other key's", async () => {
  await using purser = await openTestPurser();
  const own = await makeKey(purser, ["read", "run"], { name: "own", agent_id: "coder" });
  const other = await makeKey(purser, ["run"], { name: "other" });
  await purser.api("POST", "/budgets", EACH);
  await spend(purser, own.key, "coder:1", 4.5);
  await spend(purser, other.key, "2", 4.25);
  const client = openHttpClient(purser);
  const { body } = await client.send("GET", "/alerts/history", { key: own.key });
  assert.deepEqual((body as Alert[]).map(({ key_name, value_usd }) => [key_name, value_usd]), [["own", 4.5]]);
  assert.ok(!JSON.stringify(body).includes("other"));
});
