import assert from "node:assert/strict";
import { NO_SUBJECTS } from "./harness/alerts.ts";
import type { Core } from "../src/service/mod.ts";
import { assertProblem } from "./harness/assert_problem.ts";
import { EVENT } from "./harness/bodies.ts";
import { replaceChannels } from "./harness/fake_channels.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

const RULE = { name: "Daily limit", threshold_type: "per_day_usd", threshold_usd: 10, severity: "warning" };
const AT = "2026-11-01T12:00:00.000Z";
const RULES = "/alerts/rules";

Deno.test("a rule is added, read, listed, changed and removed", async () => {
  await using purser = await openTestPurser();
  const created = await purser.api("POST", RULES, RULE);
  assert.equal(created.status, 201);
  const { rule_id } = created.body;
  assert.match(rule_id, /^rule_/);
  assert.equal(created.headers.get("location"), `${RULES}/${rule_id}`);
  assert.deepEqual(created.body, {
    ...NO_SUBJECTS,
    ...{ time_zone: "UTC", month_start_day: 1 },
    rule_id,
    ...RULE,
    cooldown_seconds: 3600,
    repeat: "cooldown",
    agent_id: null,
    enabled: true,
    last_fired_at: null,
    created_at: AT,
    updated_at: AT,
    value_usd: created.body.value_usd,
    window_start: "2026-11-01T00:00:00.000Z",
    usd_per_hour: 0,
    reaches_at: null,
  });
  const full = {
    name: "日".repeat(200),
    threshold_type: "per_run_usd",
    threshold_usd: 0.000000001,
    severity: "info",
    cooldown_seconds: 0,
    repeat: "once_per_window",
    agent_id: "researcher",
    enabled: false,
  };
  purser.clock.advance(1);
  const second = (await purser.api("POST", RULES, full)).body;
  assert.deepEqual({ ...second, ...full }, second);
  assert.deepEqual([second.value_usd, second.window_start, second.counter], [null, null, null]);
  assert.deepEqual((await purser.api("GET", RULES)).body, [created.body, second]);
  assert.deepEqual((await purser.api("GET", `${RULES}/${rule_id}`)).body, created.body);

  purser.clock.advance(1);
  const changed = await purser.api("PATCH", `${RULES}/${rule_id}`, { enabled: false });
  assert.equal(changed.status, 200);
  const updated_at = "2026-11-01T12:00:00.002Z";
  assert.deepEqual(changed.body, { ...created.body, enabled: false, updated_at });
  purser.clock.advance(1);
  assert.deepEqual((await purser.api("PATCH", `${RULES}/${rule_id}`, { enabled: false })).body, changed.body);
  const all = (await purser.api("PATCH", `${RULES}/${rule_id}`, full)).body;
  assert.deepEqual({ ...all, ...full }, all);

  assert.equal((await purser.api("DELETE", `${RULES}/${rule_id}`)).status, 204);
  for (const method of ["GET", "DELETE"]) {
    await assertProblem(purser, method, `${RULES}/${rule_id}`, undefined, { status: 404, code: "not_found" });
  }
  const expected = { status: 404, code: "not_found" };
  await assertProblem(purser, "PATCH", `${RULES}/${rule_id}`, { enabled: true }, expected);
  assert.deepEqual((await purser.api("GET", RULES)).body, [second]);
});

Deno.test("the largest and the smallest values of each field of a rule are accepted", async () => {
  await using purser = await openTestPurser();
  const edges = [
    { threshold_usd: 1e9 },
    { threshold_usd: 0.123456789 },
    { cooldown_seconds: 31_536_000 },
    { name: "<!channel> & 🏴‍☠️ ‮" },
    { agent_id: null },
    { agent_id: "x".repeat(128) },
    ...["per_run_usd", "per_session_usd", "per_hour_usd", "per_month_usd"].map((threshold_type) => ({
      threshold_type,
    })),
    { severity: "critical" },
  ];
  for (const edge of edges) {
    const { status, body } = await purser.api("POST", RULES, { ...RULE, ...edge });
    assert.equal(status, 201);
    assert.deepEqual({ ...body, ...edge }, body);
  }
});

const text = [1, true, [], {}];
const WRONG: Record<string, unknown[]> = {
  name: [null, ...text, "", "   ", "a\nb", "a\u0000", "a\u0085", "\ud800", "x".repeat(201)],
  threshold_type: [null, ...text, "", "PER_DAY_USD", "per_week_usd", "day"],
  threshold_usd: [null, "10", true, [], {}, 0, -0, -1, 1e-10, 0.1234567891, 1_000_000_000.01, 1e300],
  severity: [null, ...text, "", "Warning", "CRITICAL", "error"],
  cooldown_seconds: [null, "60", true, [], {}, -1, 0.5, 31_536_001, 1e300],
  repeat: [null, ...text, "", "once", "COOLDOWN"],
  agent_id: [...text, "", "-a", "a b", "a/b", "a\n", "x".repeat(129)],
  enabled: [null, "true", 1, [], {}],
};

for (const method of ["POST", "PATCH"] as const) {
  Deno.test(`a ${method} with an invalid field of a rule is refused, naming the field`, async () => {
    await using purser = await openTestPurser();
    const { body: rule } = await purser.api("POST", RULES, RULE);
    const path = method === "POST" ? RULES : `${RULES}/${rule.rule_id}`;
    const invalid = { status: 400, code: "invalid" };
    for (const [field, values] of Object.entries(WRONG)) {
      for (const value of values) {
        const body = method === "POST" ? { ...RULE, [field]: value } : { [field]: value };
        await assertProblem(purser, method, path, body, { ...invalid, path: field });
      }
    }
    for (const field of ["surprise", "rule_id", "last_fired_at", "value_usd", "thresholdUsd", "cooldown"]) {
      const body = { ...RULE, [field]: 1 };
      const detail = new RegExp(`: ${field}: is not known$`);
      await assertProblem(purser, method, path, body, { ...invalid, path: field, detail });
    }
    for (
      const body of ["null", "[]", '"text"', "1", "", "{", '{"threshold_usd": NaN}', '{"__proto__": {}}']
    ) {
      await assertProblem(purser, method, path, body, invalid);
    }
    const several = { name: "", threshold_usd: -1, severity: "bad", cooldown_seconds: -1, odd: 1 };
    const { details } = (await assertProblem(purser, method, path, { ...RULE, ...several }, invalid)).body;
    assert.deepEqual(
      details.issues.map((issue: { path: string }) => issue.path),
      ["name", "threshold_usd", "severity", "cooldown_seconds", "odd"],
    );
    assert.deepEqual((await purser.api("GET", RULES)).body, [rule]);
  });
}

Deno.test("a rule needs a name, a threshold, its type and a severity; a change needs something to change", async () => {
  await using purser = await openTestPurser();
  for (const field of Object.keys(RULE)) {
    const { [field as keyof typeof RULE]: _, ...rest } = RULE;
    await assertProblem(purser, "POST", RULES, rest, { status: 400, code: "invalid", path: field });
  }
  const { body: { rule_id } } = await purser.api("POST", RULES, RULE);
  const detail = /must have at least one of name, threshold_type, .*, each, .*enabled/;
  const expected = { status: 400, code: "invalid", detail };
  await assertProblem(purser, "PATCH", `${RULES}/${rule_id}`, {}, expected);
});

Deno.test("an unknown rule is 404, for any form of id", async () => {
  await using purser = await openTestPurser();
  for (const id of ["rule_nope", "%00", "a%2Fb", "constructor", "x".repeat(500), "'--"]) {
    for (const method of ["GET", "DELETE"]) {
      assert.equal((await purser.api(method, `${RULES}/${id}`)).status, 404, id);
    }
    assert.equal((await purser.api("PATCH", `${RULES}/${id}`, { enabled: true })).status, 404, id);
  }
});

/** Puts alerts into the history: the n-th with n channels that delivered it, or did not. */
async function fillHistory({ store }: Core, count: number): Promise<void> {
  const at = Date.parse(AT);
  await store.write(
    Array.from({ length: count }, (_, index) => [
      {
        sql: `INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity,
        value_nano_usd, agent_id, session_id, run_id, "window", window_start, triggered_at)
        VALUES (?, 'rule_1', 'Daily', 'per_day_usd', 10000000000, 'critical', 10250000001, 'a', 's', 'r', 'w', ?, ?)`,
        // Times run backward: rules are ordered by when they fired.
        args: [`alert_${index}`, at - 1, at - index],
      },
      {
        sql:
          `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, status, attempts, due_at, last_error,
        created_at, settled_at) VALUES (?1, ?2, 'ops', 'webhook', 'delivered', 2, 0, 'HTTP 503', 0, ?3),
        (?4, ?2, 'mail', 'smtp', 'failed', 1, 0, 'no such mailbox', 0, ?3), (?5, ?2, 'chat', 'slack', 'pending', 0, 0, NULL, 0, NULL)`,
        args: [`dlv_${index}_2`, `alert_${index}`, at, `dlv_${index}_10`, `dlv_${index}_1`],
      },
    ]).flat(),
  );
}

const historyOf = async (purser: TestPurser, query = "") =>
  (await purser.api("GET", `/alerts/history${query}`)).body as Record<string, unknown>[];

Deno.test("the history lists the newest alerts first, each with its status in every channel", async () => {
  await using purser = await openTestPurser();
  assert.deepEqual(await historyOf(purser), []);
  await fillHistory(purser.core, 2);
  const delivery = { attempts: 2, last_error: "HTTP 503", delivered_at: AT };
  assert.deepEqual((await historyOf(purser))[0], {
    alert_id: "alert_1",
    rule_id: "rule_1",
    rule_name: "Daily",
    threshold_type: "per_day_usd",
    threshold_usd: 10,
    severity: "critical",
    value_usd: 10.250000001,
    agent_id: "a",
    session_id: "s",
    run_id: "r",
    window_start: "2026-11-01T11:59:59.999Z",
    triggered_at: "2026-11-01T11:59:59.999Z",
    test: false,
    state: "firing",
    deliveries: [
      {
        delivery_id: "dlv_1_1",
        channel: "chat",
        kind: "slack",
        status: "pending",
        attempts: 0,
        last_error: null,
        delivered_at: null,
      },
      { delivery_id: "dlv_1_2", channel: "ops", kind: "webhook", status: "delivered", ...delivery },
      {
        delivery_id: "dlv_1_10",
        channel: "mail",
        kind: "smtp",
        status: "failed",
        attempts: 1,
        last_error: "no such mailbox",
        delivered_at: null,
      },
    ],
  });
});

Deno.test("limit gives that many alerts, 500 without one, and is refused outside 1 to 500", async () => {
  await using purser = await openTestPurser();
  await fillHistory(purser.core, 510);
  const newest = Array.from({ length: 500 }, (_, index) => `alert_${509 - index}`);
  for (
    const [query, count] of [["", 500], ["?limit=500", 500], ["?limit=499", 499], ["?limit=1", 1]] as const
  ) {
    const history = await historyOf(purser, query);
    assert.deepEqual(history.map(({ alert_id }) => alert_id), newest.slice(0, count), query);
    assert.ok(history.every(({ deliveries }) => (deliveries as unknown[]).length === 3));
  }
  for (const limit of ["0", "501", "-1", "1.5", "", "ten", "1e2", "1&limit=2", "1&cursor=x"]) {
    const path = `/alerts/history?limit=${limit}`;
    await assertProblem(purser, "GET", path, undefined, { status: 400, code: "invalid" });
  }
});

Deno.test("a test of a rule goes through every channel: 200 all of them, 207 some, 502 none", async () => {
  await using purser = await openTestPurser();
  const { body: { rule_id } } = await purser.api("POST", RULES, {
    ...RULE,
    severity: "info",
    enabled: false,
  });
  const before = (await purser.api("GET", `${RULES}/${rule_id}`)).body;
  const bad = { reason: "HTTP 503" };
  for (
    const [channels, status] of [
      [{ log: "ok", ops: "ok" }, 200],
      [{ log: "ok", ops: bad, mail: "ok" }, 207],
      [{ log: bad, ops: bad }, 502],
    ] as const
  ) {
    replaceChannels(purser.core, channels);
    const answer = await purser.api("POST", `${RULES}/${rule_id}/test`);
    assert.equal(answer.status, status);
    assert.equal(answer.headers.get("content-type"), "application/json");
    const [record] = await historyOf(purser, "?limit=1");
    assert.equal(record!.alert_id, answer.body.alert_id);
    assert.equal(record!.test, true);
    const names = Object.keys(channels);
    assert.deepEqual(
      answer.body.results.map(({ delivery_id: _, duration_ms: __, ...result }: Record<string, unknown>) =>
        result
      ),
      Object.entries(channels).map(([channel, does]) => ({
        channel,
        kind: channel === "log" ? "log" : "custom",
        status: does === "ok" ? "delivered" : "failed",
        error: does === "ok" ? null : does.reason,
      })),
    );
    assert.deepEqual((record!.deliveries as { channel: string }[]).map(({ channel }) => channel), names);
  }
  assert.deepEqual((await purser.api("GET", `${RULES}/${rule_id}`)).body, before);
  await assertProblem(purser, "POST", `${RULES}/nope/test`, undefined, { status: 404, code: "not_found" });
  assert.equal((await historyOf(purser)).length, 3);
});

Deno.test("a channel is tested alone, and its test leaves no history", async () => {
  await using purser = await openTestPurser();
  replaceChannels(purser.core, { log: "ok", ops: { reason: "HTTP 403" } });
  const delivered = await purser.api("POST", "/channels/log/test");
  assert.equal(delivered.status, 200);
  const { delivery_id } = delivered.body;
  assert.deepEqual(delivered.body, {
    channel: "log",
    kind: "log",
    delivery_id,
    status: "delivered",
    error: null,
    duration_ms: 0,
  });
  const failed = await purser.api("POST", "/channels/ops/test");
  assert.equal(failed.status, 502);
  assert.deepEqual([failed.body.status, failed.body.error], ["failed", "HTTP 403"]);
  await assertProblem(purser, "POST", "/channels/nope/test", undefined, { status: 404, code: "not_found" });
  assert.deepEqual(await historyOf(purser), []);
});

Deno.test("channels are listed in the order of the config", async () => {
  await using purser = await openTestPurser();
  replaceChannels(purser.core, { log: "ok", ops: "ok" });
  const common = { min_severity: "critical", timeout_ms: 10_000, status: "ok", problem: null, settings: {} };
  assert.deepEqual((await purser.api("GET", "/channels")).body, [
    { name: "log", kind: "log", ...common },
    { name: "ops", kind: "custom", ...common },
  ]);
});

Deno.test("channels of the config show their problems, and no secrets", async () => {
  const common = { minSeverity: "warning", timeoutMs: 2_500 } as const;
  const url = "https://hooks.example.com/services/T0/B0/not-to-be-seen";
  await using purser = await openTestPurser({
    config: {
      channels: [
        { ...common, kind: "slack", name: "chat", settings: { url } },
        { ...common, kind: "webhook", name: "ops", settings: { url: 7 } },
        { ...common, kind: "pigeon", name: "loft", settings: { seed: "not-to-be-seen" } },
      ],
    },
  });
  const { body, status } = await purser.api("GET", "/channels");
  assert.equal(status, 200);
  const seen = body.map(({ name, status, min_severity, timeout_ms }: Record<string, unknown>) => [
    name,
    status,
    min_severity,
    timeout_ms,
  ]);
  assert.deepEqual(seen, [
    ["log", "ok", "info", 10_000],
    ["chat", "ok", "warning", 2_500],
    ["ops", "invalid", "warning", 2_500],
    ["loft", "invalid", "warning", 2_500],
  ]);
  assert.match(body[2].problem, /url/);
  assert.match(body[3].problem, /pigeon/);
  assert.doesNotMatch(JSON.stringify(body), /not-to-be-seen/);
  const { status: failed, body: result } = await purser.api("POST", "/channels/loft/test");
  assert.equal(failed, 502);
  assert.match(result.error, /pigeon/);
});

Deno.test("a rule shows the value of its window and when it last fired", async () => {
  await using purser = await openTestPurser();
  const add = async (rule: object) => (await purser.api("POST", RULES, { ...RULE, ...rule })).body.rule_id;
  const ids = [
    await add({ threshold_usd: 10 }),
    await add({ agent_id: "unknown" }),
    await add({ threshold_usd: 3, threshold_type: "per_session_usd", severity: "critical" }),
  ];
  const call = { ...EVENT, session_id: "ses_1", cost_usd: 3.2 };
  assert.equal((await purser.api("POST", "/costs/events", [call])).status, 201);
  const rules = (await purser.api("GET", RULES)).body as { value_usd: number; last_fired_at: string }[];
  assert.deepEqual(rules.map(({ value_usd, last_fired_at }) => [value_usd, last_fired_at]), [
    [3.2, null],
    [0, null],
    [3.2, AT],
  ]);
  const [record, ...others] = await historyOf(purser);
  assert.deepEqual([record!.rule_id, record!.value_usd, record!.session_id], [ids[2], 3.2, "ses_1"]);
  assert.deepEqual(others, []);
});
