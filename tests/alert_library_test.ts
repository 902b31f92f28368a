import assert from "node:assert/strict";
import {
  createAlertEvaluator,
  createDispatcher,
  type NamedChannel,
  openPurser,
  type PurserOptions,
  type RuleInCode,
} from "../src/mod.ts";
import { recordingChannel } from "./harness/recording_channel.ts";
import { rejection } from "./harness/test_purser.ts";

const RULE: RuleInCode = {
  name: "Every run",
  threshold_type: "per_run_usd",
  threshold_usd: 0.000_000_001,
  severity: "critical",
};
const AGENT = { name: "helper", model: "demo:echo" };

function open(rules: RuleInCode[], channels: NamedChannel[], options: Partial<PurserOptions> = {}) {
  const dispatcher = createDispatcher(channels);
  const alerts = createAlertEvaluator({ rules, dispatcher });
  return openPurser({ db: ":memory:", env: {}, alerts, ...options });
}

Deno.test("an evaluator attached to the runner notifies its dispatcher's channels whenever a threshold is exceeded", async () => {
  const ops = recordingChannel("ops");
  const purser = await open([{ ...RULE, cooldown_seconds: 0 }], [ops]);
  const heard: string[] = [];
  purser.bus.subscribe(({ type }) => void (type === "alert.triggered" && heard.push(type)));
  const { run_id } = await purser.runAgent(AGENT, "hello");
  await ops.until(1);
  assert.equal(ops.sent[0]!.notification.data.run_id, run_id);
  assert.match(
    ops.sent[0]!.notification.title,
    /^Every run: \$0\.\d+ spent in one run, threshold \$0\.000000001$/,
  );
  await purser.close();
  assert.deepEqual(heard, ["alert.triggered"]);
});

Deno.test("calls that were made elsewhere and are reported fire rules too", async () => {
  const ops = recordingChannel("ops");
  const purser = await open([RULE], [ops]);
  const answer = await purser.app.request("/costs/events", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify([{
      call_id: "c",
      at: new Date().toISOString(),
      agent_id: "elsewhere",
      run_id: "r",
      provider: "p",
      model: "m",
      input_tokens: 1,
      output_tokens: 1,
      cost_usd: 1,
    }]),
  });
  assert.equal(answer.status, 201);
  await ops.until(1);
  assert.equal(ops.sent[0]!.notification.data.agent_id, "elsewhere");
  await purser.close();
});

Deno.test("rules in code keep their state across a restart, and change with the code", async () => {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const db = `${directory}/purser.db`;
  const ops = recordingChannel("ops");
  const rules = async (purser: Awaited<ReturnType<typeof open>>) =>
    await (await purser.app.request("/alerts/rules")).json();
  const first = await open([RULE], [ops], { db });
  await first.runAgent(AGENT, "hello");
  await ops.until(1);
  const [before] = await rules(first);
  await first.close();

  const second = await open([{ ...RULE, severity: "warning" }], [ops], { db });
  const [after, ...others] = await rules(second);
  assert.deepEqual(others, []);
  assert.equal(after.rule_id, before.rule_id);
  assert.equal(after.last_fired_at, before.last_fired_at);
  assert.equal(after.severity, "warning");
  await second.runAgent(AGENT, "hello");
  await second.close();
  assert.equal(ops.sent.length, 1, "its cooldown of an hour continues");
  await Deno.remove(directory, { recursive: true });
});

const wrong: [name: string, rules: unknown[], message: RegExp][] = [
  ["a threshold of 0", [{ ...RULE, threshold_usd: 0 }], /threshold_usd: must be more than 0/],
  ["a field that is unknown", [{ ...RULE, treshold: 1 }], /treshold/],
  ["two rules of one name", [RULE, RULE], /two rules named Every run: give them a rule_id each/],
  [
    "a rule id of another form",
    [{ ...RULE, rule_id: "daily" }],
    /rule id "daily": it has to look like rule_daily/,
  ],
];
for (const [name, rules, message] of wrong) {
  Deno.test(`${name} is refused when Purser is opened`, async () => {
    const error = await rejection(open(rules as RuleInCode[], []));
    assert.equal(error.code, "invalid");
    assert.match(error.message, message);
  });
}

Deno.test("two channels of one name are refused", async () => {
  const error = await rejection(open([], [recordingChannel("ops"), recordingChannel("ops")]));
  assert.match(error.message, /ops.*another channel has this name/);
});

Deno.test("the first rule of a database counts from the next booked call, also after a restart", async () => {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  const db = `${directory}/purser.db`;
  const history = async (purser: Awaited<ReturnType<typeof openPurser>>) =>
    await (await purser.app.request("/alerts/history")).json();
  const first = await openPurser({ db, env: {} });
  await first.runAgent(AGENT, "before there was a rule");
  const answer = await first.app.request("/alerts/rules", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...RULE, threshold_type: "per_day_usd", cooldown_seconds: 0 }),
  });
  assert.equal(answer.status, 201);
  assert.deepEqual(await history(first), []);
  await first.runAgent(AGENT, "after");
  assert.equal((await history(first)).length, 1);
  await first.close();
  const second = await openPurser({ db, env: {} });
  await second.runAgent(AGENT, "once more");
  assert.equal((await history(second)).length, 2);
  await second.close();
  await Deno.remove(directory, { recursive: true });
});
