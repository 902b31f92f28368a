import assert from "node:assert/strict";
import { Webhook } from "#dev/standardwebhooks.ts";
import { EVENT } from "../../harness/bodies.ts";
import type { RestApi, RestCase } from "../rest_case.ts";
import { HOOK_SECRET } from "../surroundings.ts";

const RULES = "/alerts/rules";

const ruleOf = (api: RestApi, more: object = {}) => ({
  name: `Rule of ${api.prefix}`,
  threshold_type: "per_session_usd",
  threshold_usd: 0.000001,
  severity: "warning",
  agent_id: api.prefix,
  ...more,
});

/** Books a call that costs a tenth of a cent, in a session of this case. */
const spend = (api: RestApi, id: string) =>
  api.expect(201, "POST", "/costs/events", [{
    ...EVENT,
    call_id: `${api.prefix}:${id}`,
    agent_id: api.prefix,
    session_id: `${api.prefix}:s`,
    at: new Date().toISOString(),
    cost_usd: 0.001,
  }]);

/** The notifications of a rule at the receiver. */
const receivedOf = (api: RestApi, ruleId: string) =>
  api.hooks.received.filter(({ body }) => body.includes(ruleId) && body.startsWith("{"));

interface Alert {
  alert_id: string;
  rule_id: string;
  test: boolean;
  deliveries: { channel: string; status: string }[];
}

/** The alerts of a rule, once every delivery to `channels` is over. */
async function alertsOf(api: RestApi, ruleId: string, channels: readonly string[]): Promise<Alert[]> {
  const ask = async () => {
    const history: Alert[] = await api.expect(200, "GET", "/alerts/history?limit=500");
    return history.filter(({ rule_id }) => rule_id === ruleId);
  };
  return await api.until(
    ask,
    (alerts) =>
      alerts.length > 0 &&
      alerts.every(({ deliveries }) =>
        channels.every((name) =>
          deliveries.some(({ channel, status }) => channel === name && status !== "pending")
        )
      ),
  );
}

export const alertCases: RestCase[] = [
  {
    name: "an alert is explained by the spending in its window, and by the earlier alerts of its rule",
    async run(api) {
      const more = { threshold_type: "per_day_usd", threshold_usd: 0.0015, cooldown_seconds: 0 };
      const { rule_id, usd_per_hour } = await api.expect(201, "POST", RULES, ruleOf(api, more));
      assert.equal(usd_per_hour, 0);
      for (const id of ["1", "2", "3"]) await spend(api, id);
      const [second, first] = await alertsOf(api, rule_id, []);
      const alert = await api.expect(200, "GET", `/alerts/history/${second!.alert_id}`);
      assert.deepEqual(alert.past.map(({ alert_id }: Alert) => alert_id), [first!.alert_id]);
      const { causes: { agents, models, sessions, from, to, measured, cost_usd } } = alert;
      const others = { key_id: null, session_id: null, run_id: null };
      assert.deepEqual([measured, cost_usd], [{ agent_id: api.prefix, ...others }, 0.003]);
      assert.deepEqual([from, to], [alert.window_start, alert.triggered_at]);
      assert.deepEqual(
        [agents, models, sessions].map(([row]) => [row.agent_id, row.model, row.session_id, row.cost_usd]),
        [
          [api.prefix, undefined, undefined, 0.003],
          [undefined, EVENT.model, undefined, 0.003],
          [api.prefix, EVENT.model, `${api.prefix}:s`, 0.003],
        ],
      );
      const rule = await api.expect(200, "GET", `${RULES}/${rule_id}`);
      assert.deepEqual([rule.value_usd, rule.usd_per_hour > 0, rule.reaches_at], [0.003, true, null]);
      assert.equal(rule.window_start, alert.window_start);
      const session = await api.expect(201, "POST", RULES, ruleOf(api, { threshold_usd: 1 }));
      assert.deepEqual(session.counter, { kind: "session", id: `${api.prefix}:s` });
      const { alert_id } = await api.send("POST", `${RULES}/${rule_id}/test`).then(({ body }) => body);
      assert.equal((await api.expect(200, "GET", `/alerts/history/${alert_id}`)).causes, null);
      await api.refused(404, "not_found", "GET", "/alerts/history/alert_none");
    },
  },
  {
    name: "a rule that is sent again under its Idempotency-Key is added once",
    async run(api) {
      const body = ruleOf(api, { enabled: false });
      const send = (rule: object) =>
        api.send("POST", RULES, rule, { "idempotency-key": `rule of ${api.prefix}` });
      const answers = await Promise.all([send(body), send(body), send(body)]);
      const first = answers.find(({ headers, status }) =>
        status === 201 && !headers.has("idempotency-replayed")
      )!;
      const again = await send(body);
      assert.deepEqual([again.status, again.headers.get("location")], [201, first.headers.get("location")]);
      assert.deepEqual(again.body, first.body);
      assert.equal((await send({ ...body, name: "Another" })).status, 422);
      const listed: { name: string }[] = await api.expect(200, "GET", RULES);
      assert.equal(listed.filter(({ name }) => name === body.name).length, 1);
      await api.expect(204, "DELETE", first.headers.get("location")!);
    },
  },
  {
    name: "of changes of a rule that expect the same ETag one succeeds",
    async run(api) {
      const { headers } = await api.send("POST", RULES, ruleOf(api, { enabled: false }));
      const path = headers.get("location")!;
      const expecting = { "if-match": headers.get("etag")! };
      const answers = await Promise.all(
        [2, 3, 4].map((threshold_usd) => api.send("PATCH", path, { threshold_usd }, expecting)),
      );
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412, 412]);
      const winner = answers.find(({ status }) => status === 200)!;
      const read = await api.send("GET", path);
      assert.deepEqual([read.body, read.headers.get("etag")], [winner.body, winner.headers.get("etag")]);
      assert.equal((await api.send("DELETE", path, undefined, expecting)).status, 412);
      assert.equal(
        (await api.send("DELETE", path, undefined, { "if-match": read.headers.get("etag")! })).status,
        204,
      );
    },
  },
  {
    name: "a rule is added, read, listed, changed and removed",
    async run(api) {
      const { status, headers, body: rule } = await api.send("POST", RULES, ruleOf(api));
      assert.equal(status, 201);
      const path = `${RULES}/${rule.rule_id}`;
      assert.equal(headers.get("location"), path);
      assert.deepEqual([rule.cooldown_seconds, rule.enabled, rule.last_fired_at], [3600, true, null]);
      assert.deepEqual(await api.expect(200, "GET", path), rule);
      const listed: { rule_id: string }[] = await api.expect(200, "GET", RULES);
      assert.deepEqual(listed.find(({ rule_id }) => rule_id === rule.rule_id), rule);
      const changed = await api.expect(200, "PATCH", path, { enabled: false, threshold_usd: 2 });
      assert.deepEqual([changed.enabled, changed.threshold_usd], [false, 2]);
      await api.expect(204, "DELETE", path);
      await api.refused(404, "not_found", "GET", path);
      await api.refused(404, "not_found", "PATCH", path, { enabled: true });
      await api.refused(404, "not_found", "DELETE", path);
      await api.refused(404, "not_found", "POST", `${path}/test`);
    },
  },
  {
    name: "an invalid rule is refused, with the path of each fault",
    async run(api) {
      const wrong = ruleOf(api, { name: "", threshold_usd: -1, severity: "bad", odd: 1 });
      const { details } = await api.refused(400, "invalid", "POST", RULES, wrong);
      assert.deepEqual(details.issues.map((issue: { path: string }) => issue.path), [
        "name",
        "threshold_usd",
        "severity",
        "odd",
      ]);
      const { rule_id } = await api.expect(201, "POST", RULES, ruleOf(api));
      await api.refused(400, "invalid", "PATCH", `${RULES}/${rule_id}`, {});
      await api.expect(204, "DELETE", `${RULES}/${rule_id}`);
      for (const limit of ["0", "501", "x"]) {
        await api.refused(400, "invalid", "GET", `/alerts/history?limit=${limit}`);
      }
    },
  },
  {
    name: "an exceeded threshold is sent once to a receiver, signed, and is in the history",
    async run(api) {
      const { rule_id } = await api.expect(201, "POST", RULES, ruleOf(api));
      await spend(api, "1");
      await spend(api, "2"); // the cooldown has begun
      const alerts = await alertsOf(api, rule_id, ["ops", "log"]);
      assert.equal(alerts.length, 1);
      assert.deepEqual(alerts[0]!.deliveries.map(({ channel, status }) => [channel, status]).sort(), [
        ["log", "delivered"],
        ["ops", "delivered"],
      ]);
      const [webhook, ...more] = receivedOf(api, rule_id);
      assert.equal(more.length, 0);
      new Webhook(HOOK_SECRET).verify(webhook!.body, Object.fromEntries(webhook!.headers));
      const { data } = JSON.parse(webhook!.body);
      assert.deepEqual([data.rule_id, data.severity, data.agent_id], [rule_id, "warning", api.prefix]);
      const rule = await api.expect(200, "GET", `${RULES}/${rule_id}`);
      assert.notEqual(rule.last_fired_at, null);
      await api.expect(204, "DELETE", `${RULES}/${rule_id}`);
    },
  },
  {
    name: "the spend of a run fires a rule as well, for any client",
    async run(api) {
      const rule = ruleOf(api, { threshold_type: "per_run_usd", threshold_usd: 0.000000001 });
      const { rule_id } = await api.expect(201, "POST", RULES, rule);
      await api.expect(201, "PUT", `/agents/${api.prefix}`, { model: "demo:echo" });
      const { run_id } = await api.expect(200, "POST", `/agents/${api.prefix}/runs`, { input: "Hi" });
      await alertsOf(api, rule_id, ["ops"]);
      assert.equal(JSON.parse(receivedOf(api, rule_id)[0]!.body).data.run_id, run_id);
      await api.expect(204, "DELETE", `${RULES}/${rule_id}`);
    },
  },
  {
    name: "a delivery that its receiver refuses permanently is given up, and marked so in the history",
    async run(api) {
      const { rule_id } = await api.expect(201, "POST", RULES, ruleOf(api));
      api.hooks.answer = () => 410;
      try {
        await spend(api, "1");
        const [alert] = await alertsOf(api, rule_id, ["ops"]);
        const ops = alert!.deliveries.find(({ channel }) => channel === "ops")!;
        assert.equal(ops.status, "failed");
        assert.match(JSON.stringify(ops), /HTTP 410/);
      } finally {
        api.hooks.answer = () => 204;
      }
      await api.expect(204, "DELETE", `${RULES}/${rule_id}`);
    },
  },
  {
    name: "an alert of the history is sent once more, and is known by a delivery of its own",
    async run(api) {
      const { rule_id } = await api.expect(201, "POST", RULES, ruleOf(api));
      await spend(api, "1");
      const [alert] = await alertsOf(api, rule_id, ["ops", "log"]);
      const { alert_id, deliveries } = alert!;
      const { results, ...rest } = await api.expect(200, "POST", `/alerts/history/${alert_id}/resend`);
      assert.deepEqual(rest, { alert_id });
      // Not through the channel that takes critical alerts alone.
      const outcomes = results.map((result: { channel: string; status: string }) =>
        `${result.channel} ${result.status}`
      );
      assert.deepEqual(outcomes.sort(), ["log delivered", "ops delivered"]);
      const received = receivedOf(api, rule_id);
      assert.equal(received.length, 2);
      assert.equal(received[0]!.body, received[1]!.body);
      assert.equal(new Set(received.map(({ headers }) => new Headers(headers).get("webhook-id"))).size, 2);
      const [after, ...more] = await alertsOf(api, rule_id, ["ops", "log"]);
      assert.deepEqual([after!.deliveries.length, more], [deliveries.length + results.length, []]);
      const acknowledged = await api.expect(200, "POST", `/alerts/history/${alert_id}/ack`, { note: "mine" });
      assert.deepEqual([acknowledged.state, acknowledged.note], ["acknowledged", "mine"]);
      await api.refused(409, "conflict", "POST", `/alerts/history/${alert_id}/ack`, {});
      await api.expect(204, "DELETE", `${RULES}/${rule_id}`);
      await api.refused(404, "not_found", "POST", "/alerts/history/alert_nope/resend");
    },
  },
  {
    name: "the test of a rule returns the result of each channel: 207 if some failed",
    async run(api) {
      const { rule_id } = await api.expect(201, "POST", RULES, ruleOf(api, { enabled: false }));
      const tested = await api.expect(207, "POST", `${RULES}/${rule_id}/test`);
      const outcomes = Object.fromEntries(
        tested.results.map(({ channel, status }: { channel: string; status: string }) => [channel, status]),
      );
      assert.deepEqual([outcomes.ops, outcomes.log, outcomes.private], ["delivered", "delivered", "failed"]);
      const history: Alert[] = await api.expect(200, "GET", "/alerts/history?limit=1");
      assert.deepEqual([history[0]!.rule_id, history[0]!.test], [rule_id, true]);
      const body = JSON.parse(receivedOf(api, rule_id)[0]!.body);
      assert.equal(body.data.test, true);
      await api.expect(204, "DELETE", `${RULES}/${rule_id}`);
    },
  },
];
