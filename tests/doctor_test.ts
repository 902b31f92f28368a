import assert from "node:assert/strict";
import type { ChannelInput } from "../src/mod.ts";
import { nameChannels } from "../src/config/mod.ts";
import { FaultCounts } from "../src/ingest/otlp/export_faults.ts";
import { leaveDelivery } from "./harness/deliveries.ts";
import { replaceChannels } from "./harness/fake_channels.ts";
import { recordingChannel } from "./harness/recording_channel.ts";
import { type Check, check, SCHEMA, WELL, withChannels } from "./harness/doctor.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

Deno.test("a fresh Purser is ok, and every check reports its finding", async () => {
  await using purser = await openTestPurser({ env: {} });
  const listed: { name: string; date: string; models: number }[] =
    (await purser.api("GET", "/prices")).body.sources;
  const { body } = await purser.api("GET", "/doctor");
  assert.deepEqual(body, [
    {
      name: "config",
      ...WELL,
      detail: "no file: all settings have their defaults or come from the environment",
    },
    {
      name: "database",
      ...WELL,
      detail: `in memory, schema version ${SCHEMA}; all of it is gone when the process ends`,
    },
    { name: "clock", ...WELL, detail: "this machine's own is the only one" },
    { name: "channel log", ...WELL, detail: "log; its settings are right" },
    { name: "budgets", ...WELL, detail: "none yet; purser budgets add makes one" },
    { name: "alert rules", ...WELL, detail: "none yet; purser alerts add makes one" },
    { name: "models", ...WELL, detail: "no provider has a key" },
    {
      name: "prices",
      ...WELL,
      detail: listed.map(({ name, date, models }) => `${name} of ${date}, ${models} models`).join("; "),
    },
    { name: "prices of models", ...WELL, detail: "no calls in the last 30 days" },
    { name: "stated costs", ...WELL, detail: "no provider keeps stating others than are booked" },
    { name: "telemetry", ...WELL, detail: "no export of the last 7 days leaves out a call" },
    { name: "API keys", ...WELL, detail: "none yet, so a server answers this machine only" },
    { name: "waiting deliveries", ...WELL, detail: "none" },
    { name: "failed deliveries", ...WELL, detail: "none in the history that is kept" },
  ]);
  assert.deepEqual(purser.logs, []);
});

for (
  const [durability, detail] of [
    ["full", `local file, schema version ${SCHEMA}, durability full: every commit is on the disk`],
    [
      "normal",
      `local file, schema version ${SCHEMA}, durability normal: a power cut may lose the last commits`,
    ],
  ] as const
) {
  Deno.test(`the durability of a file is reported: ${durability}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      await using purser = await openTestPurser({ config: { dbUrl: `${folder}/purser.db`, durability } });
      assert.deepEqual(await check(purser, "database"), { name: "database", ...WELL, detail });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("an unusable database fails together with all checks that need it, and the answer is still 200", async () => {
  const purser = await openTestPurser();
  await purser.core.close();
  const { status, body } = await purser.api("GET", "/doctor");
  assert.equal(status, 200);
  const [config, database, clock, log, ...others] = body as [Check, Check, Check, Check, ...Check[]];
  assert.equal(config.status, "ok");
  assert.equal(database.status, "failed");
  assert.match(database.detail, /^Cannot /);
  assert.equal(log.status, "ok");
  assert.equal(others.find(({ name }) => name === "prices")!.status, "ok");
  const needing = others.filter(({ name }) => name !== "prices");
  assert.equal(needing.length, 9);
  for (const other of [clock, ...needing]) {
    assert.deepEqual([other.status, other.detail], [
      "failed",
      "not checked, since the database can't be used",
    ]);
  }
});

Deno.test("a check that breaks is reported, with the reason in the log only", async () => {
  await using purser = await openTestPurser();
  purser.core.store.readAll = () => Promise.reject(new TypeError("the secret of the disk"));
  const { body } = await purser.api("GET", "/doctor");
  assert.deepEqual(body.at(-1), {
    name: "failed deliveries",
    status: "failed",
    detail: "it could not be checked",
    advice: "The log has the reason",
  });
  assert.doesNotMatch(JSON.stringify(body), /secret/);
  assert.equal(purser.logs.at(-1)!.fields.reason, "the secret of the disk");
});

const SECRETS = ["hunter2", "s3cr3t", "T0/B0/abc"];
const CHANNELS = nameChannels([
  { kind: "webhook", name: "ops", url: "ftp://example.com/s3cr3t", secret: "hunter2" } as ChannelInput,
  {
    kind: "slack",
    url: "https://hooks.slack.com/services/T0/B0/abc",
    min_severity: "critical",
  } as ChannelInput,
  { kind: "sms", name: "phone" },
]);

Deno.test("a channel on a private address that every attempt refuses is a failed check", async () => {
  const smtp = { from_addr: "purser@example.com", to_addrs: ["ops@example.com"], tls: "none" };
  const base = { minSeverity: "info", timeoutMs: 1_000 } as const;
  const channels = [
    { ...base, kind: "webhook", name: "lan", settings: { url: "http://10.0.0.5:8080/h00k" } },
    { ...base, kind: "webhook", name: "number", settings: { url: "http://0x7f.1/" } },
    { ...base, kind: "webhook", name: "ipv6", settings: { url: "https://[::1]/" } },
    { ...base, kind: "webhook", name: "self", settings: { url: "http://localhost:9/" } },
    { ...base, kind: "smtp", name: "mail", settings: { ...smtp, host: "192.168.1.25" } },
    { ...base, kind: "webhook", name: "allowed", settings: { url: "http://172.16.0.9/" } },
    { ...base, kind: "webhook", name: "public", settings: { url: "https://example.com/?to=10-0-0-5" } },
  ];
  await using purser = await openTestPurser({
    config: { channels, allowPrivateNetworks: ["172.16.0.0/12"] },
  });
  assert.deepEqual(await check(purser, "channel lan"), {
    name: "channel lan",
    status: "failed",
    detail: "webhook: url names 10.0.0.5, a private address: every attempt to send there is refused",
    advice: "Name its network in allow_private_networks and restart; then: purser channels test lan",
  });
  for (
    const [name, address] of [["number", "127.0.0.1"], ["ipv6", "::1"], ["self", "localhost"], [
      "mail",
      "192.168.1.25",
    ]]
  ) {
    const { status, detail } = await check(purser, `channel ${name}`);
    assert.deepEqual([status, detail.includes(` names ${address}, `)], ["failed", true], detail);
    const { body } = await purser.api("POST", `/channels/${name}/test`);
    assert.match(JSON.stringify(body), /is a private address/, "an attempt is refused indeed");
  }
  for (const name of ["allowed", "public"]) {
    assert.equal((await check(purser, `channel ${name}`)).status, "ok");
  }
});

Deno.test("each channel's settings are checked, and no secret is shown", async () => {
  await using purser = await openTestPurser({ config: { channels: CHANNELS } });
  assert.deepEqual(await check(purser, "channel slack"), {
    name: "channel slack",
    ...WELL,
    detail: "slack, from critical on; its settings are right",
  });
  const ops = await check(purser, "channel ops");
  assert.equal(ops.status, "failed");
  assert.match(ops.detail, /^webhook: url: must be an http:\/\/ or https:\/\/ URL.*; secret: must be whsec_/);
  assert.equal(ops.advice, "Correct its settings and restart; then: purser channels test ops");
  assert.match((await check(purser, "channel phone")).detail, /^sms: There is no channel kind sms /);
  const text = JSON.stringify((await purser.api("GET", "/doctor")).body);
  for (const secret of SECRETS) assert.ok(!text.includes(secret), secret);
});

const addRule = (purser: TestPurser, severity: string, enabled = true) =>
  purser.api("POST", "/alerts/rules", {
    name: "a rule",
    threshold_type: "per_day_usd",
    threshold_usd: 1,
    severity,
    enabled,
  });

Deno.test("alert rules are counted, and those that go to the log only are a warning", async () => {
  await using purser = await withChannels([recordingChannel("ops", { minSeverity: "warning" })]);
  await addRule(purser, "critical");
  await addRule(purser, "warning");
  await addRule(purser, "info", false);
  assert.deepEqual(await check(purser, "alert rules"), {
    name: "alert rules",
    ...WELL,
    detail: "2 enabled, 1 disabled",
  });
  await addRule(purser, "info");
  assert.deepEqual(await check(purser, "alert rules"), {
    name: "alert rules",
    status: "warning",
    detail: "3 enabled, 1 disabled; 1 of the enabled ones go to the log only",
    advice: "Lower the min_severity of a channel",
  });

  await using alone = await openTestPurser();
  await addRule(alone, "critical");
  assert.deepEqual(await check(alone, "alert rules"), {
    name: "alert rules",
    status: "warning",
    detail: "1 enabled, 0 disabled; all of the enabled ones go to the log only",
    advice: "Name a channel in the config file",
  });
});

Deno.test("budgets are counted; one that is reached, and one of an unknown agent, are a warning", async () => {
  await using purser = await openTestPurser();
  const add = async (name: string, more: object) => {
    const budget = { name, limit_usd: 1, per: "day", ...more };
    assert.equal((await purser.api("POST", "/budgets", budget)).status, 201);
  };
  await add("Day", {});
  await add("Off", { enabled: false, limit_usd: 0, agent_id: "nope" });
  await add("Trial", { action: "watch", limit_usd: 0 });
  const state = "2 enabled, 1 disabled; Trial only watches";
  assert.deepEqual(await check(purser, "budgets"), { name: "budgets", ...WELL, detail: state });

  await purser.api("PUT", "/agents/known", { model: "demo:echo" });
  await add("Known", { agent_id: "known" });
  await add("Unknown", { agent_id: "unkown" });
  const unknown = await check(purser, "budgets");
  assert.equal(unknown.status, "warning");
  assert.match(
    unknown.detail,
    /^4 enabled, 1 disabled; .*; Unknown is for agent unkown, of which there is nothing$/,
  );
  assert.match(unknown.advice!, /^Check the agent's name: purser budgets set/);

  await add("Shut", { limit_usd: 0 });
  const reached = await check(purser, "budgets");
  assert.match(reached.detail, /; reached, so that calls are refused: Shut; /);
  assert.match(
    reached.advice!,
    /; then purser budgets raise bud_\w+ --usd AMOUNT\. Check the agent.s name: /,
  );
});

Deno.test("providers with a key are named, and no key is shown", async () => {
  await using purser = await openTestPurser({
    env: { OPENAI_API_KEY: "sk-hunter2", GOOGLE_GENERATIVE_AI_API_KEY: "hunter2" },
    fetch: () => Promise.resolve(Response.json({})),
    config: { providers: { local: { baseUrl: "http://127.0.0.1:1/v1", apiKey: "hunter2" } } },
  });
  await purser.api("PUT", "/agents/bot", { model: "openai:gpt-5-mini" });
  assert.deepEqual(await check(purser, "models"), {
    name: "models",
    ...WELL,
    detail: "set up: openai, google, local",
  });
});

Deno.test("agents that can't run without a key are named, and so are invalid keys", async () => {
  await using purser = await openTestPurser({ env: { OPENAI_API_KEY: "hunter2 hunter2" } });
  for (const name of ["a", "b", "c", "d"]) {
    await purser.api("PUT", `/agents/${name}`, { model: "anthropic:claude-sonnet-4-5" });
  }
  assert.deepEqual(await check(purser, "models"), {
    name: "models",
    status: "warning",
    detail: "no provider has a key; openai: OPENAI_API_KEY holds blanks or characters that no key has; " +
      "a, b, c and 1 more can't run on anthropic:claude-sonnet-4-5: ANTHROPIC_API_KEY is not set",
    advice: "Set the missing variables in the environment of Purser, and restart it",
  });
});

const MINUTE = 60_000;
const DAY = 86_400_000;

Deno.test("deliveries that wait for a short time are ok", async () => {
  await using purser = await withChannels([recordingChannel("ops")]);
  const now = purser.clock.now();
  await leaveDelivery(purser.core, "1", { due_at: now + DAY });
  await leaveDelivery(purser.core, "2", { due_at: now - 10 * MINUTE + 1 });
  assert.deepEqual(await check(purser, "waiting deliveries"), {
    name: "waiting deliveries",
    ...WELL,
    detail: "2, none of them late",
  });
});

Deno.test("a delivery due for ten minutes that no process is delivering fails the check", async () => {
  await using purser = await withChannels([recordingChannel("ops"), recordingChannel("mail")]);
  const now = purser.clock.now();
  await leaveDelivery(purser.core, "1", { due_at: now - 10 * MINUTE });
  await leaveDelivery(purser.core, "2", { due_at: now - DAY, lease_until: now, leased_by: "dead" });
  await leaveDelivery(purser.core, "3", { channel: "mail", due_at: now });
  assert.deepEqual(await check(purser, "waiting deliveries"), {
    name: "waiting deliveries",
    status: "failed",
    detail: "2 for ops, due since 2026-10-31T12:00:00.000Z",
    advice: "No process is delivering these: look into the log, and restart the process that delivers",
  });
});

Deno.test("overdue deliveries of a channel that is being served are a warning", async () => {
  await using purser = await withChannels([recordingChannel("ops")]);
  const now = purser.clock.now();
  await leaveDelivery(purser.core, "1", { due_at: now - DAY, lease_until: now + MINUTE, leased_by: "alive" });
  assert.equal((await check(purser, "waiting deliveries")).status, "ok");
  await leaveDelivery(purser.core, "2", { due_at: now - DAY });
  const { status, detail } = await check(purser, "waiting deliveries");
  assert.deepEqual([status, detail], ["warning", "1 for ops, due since 2026-10-31T12:00:00.000Z"]);
});

Deno.test("deliveries for a channel that the config doesn't name are a warning that names it", async () => {
  await using purser = await openTestPurser();
  await leaveDelivery(purser.core, "1", { channel: "pager" });
  await leaveDelivery(purser.core, "2", { channel: "pager", due_at: purser.clock.now() - DAY });
  assert.deepEqual(await check(purser, "waiting deliveries"), {
    name: "waiting deliveries",
    status: "warning",
    detail: "2 for pager, which the config doesn't name",
    advice: "Name the channel in the config again, and they are delivered; unless another instance has it",
  });
});

Deno.test("deliveries that were given up are a warning for seven days, with the latest reason of each channel", async () => {
  await using purser = await withChannels([recordingChannel("ops")]);
  const now = purser.clock.now();
  const failed = { status: "failed", attempts: 8 };
  await leaveDelivery(purser.core, "1", { ...failed, settled_at: now - DAY, last_error: "HTTP 503" });
  await leaveDelivery(purser.core, "2", { ...failed, settled_at: now - 2 * DAY, last_error: "HTTP 500" });
  await leaveDelivery(purser.core, "3", {
    ...failed,
    channel: "mail",
    settled_at: now - 3 * DAY,
    last_error: "no",
  });
  assert.deepEqual(await check(purser, "failed deliveries"), {
    name: "failed deliveries",
    status: "warning",
    detail: "2 through ops, the last at 2026-10-31T12:00:00.000Z: HTTP 503; " +
      "1 through mail, the last at 2026-10-29T12:00:00.000Z: no",
    advice: "They are not retried; see purser alerts history, and try purser channels test ops",
  });
  purser.clock.advance(6 * DAY);
  const later = await check(purser, "failed deliveries");
  assert.deepEqual([later.status, later.advice], ["ok", null]);
  assert.match(later.detail, /^none in the last 7 days; before that 2 through ops/);
});

Deno.test("a failed test does not count as a delivery that was given up", async () => {
  await using purser = await openTestPurser();
  const { body: rule } = await addRule(purser, "info");
  replaceChannels(purser.core, { log: "ok", ops: { reason: "HTTP 403" } });
  assert.equal((await purser.api("POST", `/alerts/rules/${rule.rule_id}/test`)).status, 207);
  assert.equal((await check(purser, "failed deliveries")).detail, "none in the history that is kept");
  assert.equal((await check(purser, "waiting deliveries")).detail, "none");
});

Deno.test("telemetry that leaves out calls is a warning for a week, with what to switch on", async () => {
  await using purser = await openTestPurser();
  const save = async (agents: readonly string[], kind: Parameters<FaultCounts["add"]>[0]) => {
    const counts = new FaultCounts({ keyId: null });
    for (const agentId of agents) {
      counts.add(kind, { origin: { name: agentId, agentId }, scope: "some-sdk", reason: "" });
    }
    await counts.save(purser.core);
  };
  await save(["a"], "duplicate");
  assert.equal((await check(purser, "telemetry")).status, "ok", "a repeated record is no gap");
  await save(["a", "b", "c"], "unmetered");
  purser.clock.advance(1_000);
  await save(["d", "d"], "rollup");
  assert.deepEqual(await check(purser, "telemetry"), {
    name: "telemetry",
    status: "warning",
    detail: "d, some-sdk: 2 sums without a call beneath; a, some-sdk: 1 model call without usage; " +
      "b, some-sdk: 1 model call without usage; 1 more",
    advice: "Switch on the instrumentation of the SDK that makes the model calls. purser sources has all",
  });
  purser.clock.advance(8 * DAY);
  assert.equal((await check(purser, "telemetry")).status, "ok");
});
