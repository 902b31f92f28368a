import assert from "node:assert/strict";
import { createRule, removeRule, updateRule } from "../src/alerts/mod.ts";
import { readAlertNotification } from "../src/alerts/alerts.ts";
import type { Alert } from "../src/contract/alerts/alerts.ts";
import { bookLooseCalls } from "../src/calls/mod.ts";
import { createBus } from "../src/bus/mod.ts";
import { silentLog } from "../src/kernel/log.ts";
import { NO_SUBJECTS } from "./harness/alerts.ts";
import { createBooking } from "./harness/booking.ts";
import { spend } from "./harness/budget_requests.ts";
import { dialectKinds } from "./harness/databases.ts";
import { EVENT } from "./harness/bodies.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { modelCall } from "./harness/model_calls.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** Alert rules of tags, keys, models, providers and sources, alone and together, and of each of them. The clock stands at noon. */

const RULES = "/alerts/rules";
const DAY = { threshold_type: "per_day_usd", threshold_usd: 5, severity: "warning" };
const of = (customer: string) => ({ tags: { customer } });

async function add(purser: TestPurser, rule: Record<string, unknown>) {
  const { status, body } = await purser.api("POST", RULES, { ...DAY, ...rule });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const historyOf = async (purser: TestPurser): Promise<Alert[]> =>
  (await purser.api("GET", "/alerts/history")).body;
const firedOf = async (purser: TestPurser) =>
  (await historyOf(purser)).map(({ rule_name, counter, value_usd }) => [rule_name, counter?.id, value_usd])
    .reverse();

const titleOf = async (purser: TestPurser, { alert_id }: Alert) =>
  (await readAlertNotification({ ...purser.core, environment: "test" }, alert_id))!.title;

Deno.test("a rule for each value of a tag fires for each by itself, each with its own cooldown", async () => {
  await using purser = await openTestPurser();
  await spend(purser, 4, of("acme"));
  const rule = await add(purser, { name: "Customers", each: "tag:customer" });
  assert.deepEqual([rule.value_usd, rule.counter], [4, { kind: "tag:customer", id: "acme" }]);
  assert.deepEqual(await firedOf(purser), []);
  await spend(purser, 1, of("acme"));
  await spend(purser, 1, of("acme"));
  await spend(purser, 5, of("big & co"));
  await spend(purser, 50);
  assert.deepEqual(await firedOf(purser), [["Customers", "acme", 5], ["Customers", "big & co", 5]]);
  const [newest] = await historyOf(purser);
  assert.equal(
    await titleOf(purser, newest!),
    "Customers, tag customer=big & co: $5 spent today (UTC), threshold $5",
  );
  const { body } = await purser.api("GET", `/alerts/history/${newest!.alert_id}`);
  assert.deepEqual([body.causes.cost_usd, body.past.length], [5, 1]);
  purser.clock.advance(3_600_000);
  await spend(purser, 1, of("acme"));
  assert.deepEqual((await firedOf(purser)).at(-1), ["Customers", "acme", 7]);
});

Deno.test("a rule of a key and a model names them, and counts the calls that are of both", async () => {
  await using purser = await openTestPurser();
  const { keyId, key } = await makeKey(purser, ["report"], { name: "laptop", tags: { user: "anna" } });
  const rule = await add(purser, { name: "Opus of Anna", key_id: "laptop", model: "claude-opus-*" });
  assert.deepEqual(
    { ...rule, ...NO_SUBJECTS, key_id: keyId, key_name: "laptop", key_user: "anna", model: "claude-opus-*" },
    rule,
  );
  const opus = { provider: "anthropic", model: "claude-opus-5" };
  await spend(purser, 5, opus);
  const spendByKey = async (cost_usd: number, more: object) => {
    const call = { ...EVENT, call_id: `by-key-${cost_usd}`, cost_usd, ...more };
    const { status } = await openHttpClient(purser).send("POST", "/costs/events", { key, body: [call] });
    assert.equal(status, 201);
  };
  await spendByKey(5, { ...opus, model: "claude-haiku-5" });
  assert.deepEqual(await firedOf(purser), []);
  await spendByKey(6, opus);
  const [alert] = await historyOf(purser);
  assert.deepEqual([alert!.value_usd, alert!.key_name, alert!.counter], [6, "laptop", {
    kind: "calls",
    id: "key laptop, model claude-opus-*",
  }]);
  assert.match(await titleOf(purser, alert!), /^Opus of Anna, key laptop, model claude-opus-\*: \$6 spent/);
});

Deno.test("a rule for each stands aside where a rule of the same type names the value", async () => {
  await using purser = await openTestPurser();
  await add(purser, { name: "Agents", each: "agent" });
  const own = await add(purser, { name: "Big", agent_id: "big", threshold_usd: 100 });
  await spend(purser, 6, { agent_id: "big" });
  await spend(purser, 6, { agent_id: "small" });
  assert.deepEqual(await firedOf(purser), [["Agents", "small", 6]]);
  await purser.api("PATCH", `${RULES}/${own.rule_id}`, { enabled: false });
  await spend(purser, 1, { agent_id: "big" });
  assert.deepEqual((await firedOf(purser)).at(-1), ["Agents", "big", 7]);
});

Deno.test("a rule per session of a tag measures the calls of the session with it, once for each session", async () => {
  await using purser = await openTestPurser();
  await add(purser, {
    name: "Session",
    ...of("acme"),
    threshold_type: "per_session_usd",
    repeat: "once_per_window",
    cooldown_seconds: 0,
  });
  for (const session_id of ["s1", "s2"]) {
    await spend(purser, 4, { session_id, ...of("globex") });
    await spend(purser, 4, { session_id, ...of("acme") });
    await spend(purser, 4, { session_id, ...of("acme") });
    await spend(purser, 4, { session_id, ...of("acme") });
  }
  assert.deepEqual((await historyOf(purser)).map(({ session_id, value_usd }) => [session_id, value_usd]), [
    ["s2", 8],
    ["s1", 8],
  ]);
});

Deno.test("a rule of unknown or contradictory subjects is refused, and nothing is stored", async () => {
  await using purser = await openTestPurser();
  await makeKey(purser, ["call"], { name: "laptop" });
  const refused: [object, string, RegExp][] = [
    [{ key_id: "labtop" }, "key_id", /did you mean "laptop"/],
    [{ each: "tag:customer", tags: { customer: "acme" } }, "each", /which names one/],
    [{ each: "key", threshold_type: "per_session_usd" }, "each", /counts each session by itself/],
    [{ tags: { a: "1" }, threshold_type: "per_run_usd" }, "tags", /can't be together with per run/],
    [{ each: "weather" }, "each", /must be one of agent, session, key/],
    [{ tags: { a: "1", b: "1", c: "1", d: "1", e: "1" } }, "tags", /at most 4 tags/],
    [{ tags: { "a:b": "1" } }, "tags", /tags\.a:b/],
    [{ tags: Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`k${n}`, "v"])) }, "tags", /tags/],
    [{ ...of("acme"), threshold_usd: 1e-10 }, "threshold_usd", /nine decimals/],
    [{ model: "claude-[ab]" }, "model", /a pattern whose stars/],
    [
      { threshold_type: "plan_window_pct", threshold_usd: null, threshold_pct: 80, each: "agent" },
      "threshold_type",
      /a rule about a plan/,
    ],
  ];
  for (const [rule, path, message] of refused) {
    const { status, body } = await purser.api("POST", RULES, { name: "Wrong", ...DAY, ...rule });
    assert.deepEqual([status, body.details.issues[0].path.split(".")[0]], [400, path], JSON.stringify(body));
    assert.match(body.detail, message);
  }
  assert.deepEqual((await purser.api("GET", RULES)).body, []);
  const tag = await add(purser, { name: "New", ...of("amce") });
  assert.deepEqual(tag.unknown, { kind: "tag:customer", id: "amce", nearest: null });
});

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name: `shapes come and go with the rules that have them, also where a budget has them too (${name})`,
    ignore,
    async fn() {
      await using database = await create();
      const ctx = {
        ...await createBooking(await database.open()),
        bus: createBus(silentLog),
        log: silentLog,
      };
      const author = { actor: "code" } as const;
      const rules = { ...ctx, author };
      const shapes = async () =>
        (await ctx.store.read({ sql: "SELECT shape FROM spend_shapes ORDER BY shape" })).rows.flat();
      const input = { name: "Customers", ...DAY, each: "tag:customer" } as Parameters<typeof createRule>[1];
      await bookLooseCalls(ctx, [modelCall({ callId: "1", costNanoUsd: 4_000_000_000n, ...of("acme") })]);
      const { rule_id } = await createRule(rules, input);
      const other = await createRule(rules, { ...input, name: "Keys", each: "key", agent_id: "agent" });
      assert.deepEqual(await shapes(), ["agent,key", "tag:customer"]);
      await updateRule(rules, other.rule_id, { each: null, tags: { customer: "acme" } });
      assert.deepEqual(await shapes(), ["agent,tag:customer", "tag:customer"]);
      await bookLooseCalls(ctx, [modelCall({ callId: "2", costNanoUsd: 1_000_000_000n, ...of("acme") })]);
      const { rows } = await ctx.store.read({
        sql: "SELECT rule_name, scope FROM alerts ORDER BY rule_name",
      });
      assert.deepEqual(rows, [
        ["Customers", "by tag:customer acme"],
        ["Keys", "by agent,tag:customer agent acme"],
      ]);
      await updateRule(rules, rule_id, { each: null, agent_id: "agent" });
      assert.deepEqual(await shapes(), ["agent,tag:customer"]);
      await removeRule(rules, other.rule_id);
      await removeRule(rules, rule_id);
      const left = await ctx.store.read({
        sql:
          "SELECT scope FROM spend_counters WHERE scope LIKE 'by %' UNION ALL SELECT rule_id FROM alert_rule_counters",
      });
      assert.deepEqual([await shapes(), left.rows], [[], []]);
    },
  });
}
