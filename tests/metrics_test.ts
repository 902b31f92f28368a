import assert from "node:assert/strict";
import { createIds } from "../src/kernel/ids.ts";
import { totalsStatements } from "../src/service/metrics/mod.ts";
import { renderFamilies } from "../src/service/metrics/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { requestFor, sendTo } from "./gateway/requests.ts";
import { AGENT, EVENT } from "./harness/bodies.ts";
import { openWithChannels, RULE, statusOf, until } from "./harness/deliveries.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { passing, permanent, recordingChannel } from "./harness/recording_channel.ts";
import { readScrape, scrape } from "./harness/scrape.ts";
import { serverKindsInTime } from "./harness/database_servers.ts";
import { openTestPurser } from "./harness/test_purser.ts";

Deno.test("GET /metrics reports spend exactly, and tokens in kinds that don't overlap", async () => {
  await using purser = await openTestPurser();
  const event = {
    ...EVENT,
    provider: "acme",
    model: 'odd "model"\\',
    input_tokens: 100,
    cache_read_tokens: 60,
    cache_write_tokens: 10,
    output_tokens: 50,
    reasoning_tokens: 20,
  };
  await purser.api("POST", "/costs/events", [
    { ...event, call_id: "c1", agent_id: "a", cost_usd: 0.000000001 },
    { ...event, call_id: "c2", agent_id: "b", cost_usd: 2.1 },
    { ...event, call_id: "c3", agent_id: "b", cost_usd: undefined, model: "unknown" },
  ]);
  const { values } = await scrape(purser);
  const labels = 'model=odd "model"\\ provider=acme';
  assert.equal(values[`purser_spend_usd_total ${labels}`], "2.100000001");
  assert.equal(values[`purser_model_calls_total ${labels}`], "2");
  assert.equal(values[`purser_unpriced_calls_total ${labels}`], "0");
  assert.equal(values["purser_unpriced_calls_total model=unknown provider=acme"], "1");
  assert.equal(values["purser_spend_usd_total model=unknown provider=acme"], "0");
  const tokens = Object.entries(values)
    .filter(([key]) => key.startsWith("purser_tokens_total") && key.includes("odd"))
    .map(([key, value]) => [/kind=(\w+)/.exec(key)![1], value]);
  assert.deepEqual(Object.fromEntries(tokens), {
    input: "60",
    cache_read: "120",
    cache_write: "20",
    output: "60",
    reasoning: "40",
  });

  const byAgent = (await scrape(purser, "?by=agent")).values;
  assert.equal(byAgent[`purser_spend_usd_total agent_id=a ${labels}`], "0.000000001");
  assert.equal(byAgent[`purser_spend_usd_total agent_id=b ${labels}`], "2.1");
  assert.equal((await purser.api("GET", "/metrics?by=session")).status, 400);
});

Deno.test("GET /metrics has the limit, spending, reservations and refusals of the enabled budgets", async () => {
  await using purser = await openTestPurser();
  const add = async (name: string, more: object = {}): Promise<string> => {
    const budget = { name, limit_usd: 1, per: "day", ...more };
    return (await purser.api("POST", "/budgets", budget)).body.budget_id;
  };
  const day = await add("Day");
  await add("Off", { enabled: false });
  await purser.api("POST", `/budgets/${day}/raises`, { extra_usd: 0.000000001 });
  await purser.api("POST", "/costs/events", [{ ...EVENT, cost_usd: 0.25 }]);
  await purser.api("POST", "/budgets/reservations", { agent_id: "a", estimate_usd: 0.1 });
  await add("None", { limit_usd: 0, agent_id: "b" });
  assert.equal(
    (await purser.api("POST", "/budgets/reservations", { agent_id: "b", estimate_usd: 0.1 })).status,
    402,
  );
  const { values } = await scrape(purser);
  const of = (name: string) =>
    Object.entries(values).filter(([key]) =>
      key.startsWith("purser_budget_") && key.includes(`name=${name} `)
    )
      .map(([key, value]) => [key.split(" ")[0]!.replace("purser_budget_", ""), value]);
  assert.deepEqual(Object.fromEntries(of("Day")), {
    limit_usd: "1.000000001",
    spent_usd: "0.25",
    reserved_usd: "0.1",
    refusals_total: "0",
  });
  assert.deepEqual(of("None").at(-1), ["refusals_total", "1"]);
  assert.deepEqual(of("Off"), []);
});

Deno.test("GET /metrics sums more money than 64 bits hold", async () => {
  await using purser = await openTestPurser();
  const most = 9_223_372_036_854_775_807n;
  await purser.core.store.write(
    ["a", "b"].map((agent) => ({
      sql:
        `INSERT INTO usage_totals VALUES (?1, 'acme', 'm', '', 1, 0, 0, 0, 1, 1, 0, 0, 0, 2, ?2, ?3, ?2, ?3, 0)`,
      args: [agent, most / 1_000_000_000n, most % 1_000_000_000n],
    })),
  );
  const { values } = await scrape(purser);
  for (const name of ["purser_spend_usd_total", "purser_plan_equivalent_usd_total"]) {
    assert.equal(values[`${name} model=m provider=acme`], "18446744073.709551614");
  }
});

Deno.test("GET /metrics counts runs by status, and keeps the costs of removed agents", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", AGENT);
  await purser.api("PUT", "/agents/poor", {
    ...{ ...AGENT, name: "poor", model: "demo:loop", tools: ["calculator"] },
    cost_budget_usd: 0.000000001,
  });
  await purser.api("PUT", "/agents/bad", { ...AGENT, name: "bad", model: "demo:fail" });
  const before = await scrape(purser);
  assert.equal(before.values["purser_runs_total status=completed"], "0");
  assert.equal(before.values.purser_budget_stops_total, "0");
  await purser.api("POST", "/agents/a/runs", { input: "Hi" });
  await purser.api("POST", "/agents/poor/runs", { input: "count 3 times" });
  await purser.api("POST", "/agents/bad/runs", { input: "Hi" });
  const after = await scrape(purser);
  assert.deepEqual(
    ["completed", "budget_exceeded", "failed", "cancelled", "interrupted"].map((status) =>
      after.values[`purser_runs_total status=${status}`]
    ),
    ["1", "1", "1", "0", "0"],
  );
  assert.equal(after.values.purser_budget_stops_total, "1");
  assert.equal(after.values.purser_runs_in_progress, "0");
  assert.equal(after.values.purser_write_queue_waiting, "0");
  const build = Object.keys(after.values).find((key) => key.startsWith("purser_build_info"));
  assert.match(build!, /database=memory environment=test version=\d/);

  for (const id of ["a", "poor", "bad"]) await purser.api("DELETE", `/agents/${id}`);
  assert.deepEqual((await scrape(purser)).values, after.values);
});

Deno.test("GET /metrics counts alerts and deliveries, and keeps counting those that the history has dropped", async () => {
  const ops = recordingChannel("ops", { answers: [{ ok: true }, permanent, passing] });
  await using purser = await openWithChannels([ops], { rules: [RULE] });
  const zero = (await scrape(purser)).values;
  assert.equal(zero["purser_deliveries_total channel=ops outcome=delivered"], "0");
  assert.equal(zero["purser_deliveries_waiting channel=ops"], "0");
  for (const count of [1, 2, 3]) {
    await purser.run({}, "hello");
    await ops.until(count);
  }
  const settled = async () => (await purser.api("GET", "/alerts/history")).body.length === 3;
  await until(settled);
  await until(async () => await statusOf(purser, "log") === "delivered");
  const counts = async () => (await scrape(purser)).values;
  await until(async () => (await counts())["purser_deliveries_total channel=log outcome=delivered"] === "3");
  await until(async () => (await counts())["purser_deliveries_total channel=ops outcome=failed"] === "1");
  const values = await counts();
  assert.equal(values["purser_alerts_total severity=warning"], "3");
  assert.equal(values["purser_alerts_total severity=critical"], "0");
  assert.equal(values["purser_deliveries_total channel=ops outcome=delivered"], "1");
  assert.equal(values["purser_deliveries_waiting channel=ops"], "1");

  const [rule] = (await purser.api("GET", "/alerts/rules")).body;
  await purser.api("POST", `/alerts/rules/${rule.rule_id}/test`);
  await purser.core.store.write([{ sql: "DELETE FROM alerts" }]);
  const later = await counts();
  assert.equal(later["purser_alerts_total severity=warning"], "3", "tests are not counted");
  assert.equal(later["purser_deliveries_total channel=log outcome=delivered"], "3");
  assert.equal(later["purser_deliveries_waiting channel=ops"], "0");
});

Deno.test("GET /metrics reports the same after a restart", () =>
  inDirectory(async (directory) => {
    const config = { dbUrl: `${directory}/books.db` };
    const scrapeOnce = async (isFirst: boolean) => {
      await using purser = await openTestPurser({ config });
      if (isFirst) await purser.run({}, "Hi");
      return (await scrape(purser)).values;
    };
    const before = await scrapeOnce(true);
    assert.equal(before["purser_runs_total status=completed"], "1");
    assert.deepEqual(await scrapeOnce(false), before);
  }));

for (const kind of serverKindsInTime) {
  Deno.test({
    name: `${kind.name}: GET /metrics reports the same from every instance, except for per-process values`,
    ignore: kind.ignore,
    async fn() {
      await using server = await kind.start(false);
      const { url, fetch } = await server.createDatabase();
      const options = { config: { dbUrl: url }, fetch };
      await using one = await openTestPurser(options);
      await using other = await openTestPurser({ ...options, ids: createIds(one.clock) });
      await one.run({}, "Hi");
      await other.run({ agentId: "second" }, "Hi");
      const { values } = await scrape(one);
      assert.deepEqual((await scrape(other)).values, values);
      assert.equal(values["purser_runs_total status=completed"], "2");
      assert.equal(values["purser_model_calls_total model=echo provider=demo"], "2");
    },
  });
}

Deno.test("GET /metrics has the time of a gateway call with its provider, the time that the gateway adds, and that of commits", async () => {
  let advance = (_ms: number) => {};
  await using fake = await startFakeProvider((request) => {
    advance(2_000);
    return answerTo(request, { text: "Hello" });
  });
  await using purser = await openTestPurser({ fake });
  advance = purser.clock.advance;
  for (const isStreamed of [false, true]) {
    const response = await sendTo(
      purser,
      requestFor({ api: "openai-chat", provider: "openai", model: "gpt-4o-mini" }, { isStreamed }),
    );
    await response.text();
    assert.equal(response.status, 200);
  }
  const { histograms, types } = await scrape(purser);
  const [before, provider, booking] = ["before", "provider", "booking"].map((stage) =>
    histograms[`purser_gateway_${stage}_seconds provider=openai`]!
  );
  assert.deepEqual([provider!.count, provider!.sum], [2, 4]);
  assert.deepEqual([provider!.buckets["1"], provider!.buckets["2.5"]], ["0", "2"]);
  for (const added of [before!, booking!]) assert.deepEqual([added.count, added.sum], [2, 0]);
  assert.ok(histograms.purser_commit_seconds!.count >= 2);
  assert.equal(types.purser_commit_seconds, "HISTOGRAM");
});

Deno.test("GET /metrics labels every number as the database's or the process's", async () => {
  await using purser = await openTestPurser();
  const { help } = await scrape(purser);
  for (const [name, text] of Object.entries(help)) {
    assert.match(text, /From the database: the same from every instance|Of this process\./, name);
  }
  const document = await Deno.readTextFile(new URL("../docs/observability.md", import.meta.url));
  for (const name of Object.keys(help)) assert.ok(document.includes(`\`${name}`), `${name} is documented`);
});

Deno.test("a scrape reads rollups, the calls after them and the outbox, never the whole ledger, runs or sessions", async () => {
  const KNOWN = ["usage_totals", "total_usage", "rollup_positions", "calls", "tallies", "deliveries"];
  await using purser = await openTestPurser();
  for (const byAgent of [false, true]) {
    for (const { sql } of totalsStatements({ byAgent })) {
      const plan = await purser.core.store.read({ sql: `EXPLAIN QUERY PLAN ${sql}` });
      const tables = plan.rows.map((row) => /(?:SCAN|SEARCH) (\w+)/.exec(String(row.at(-1)))?.[1])
        .filter((name) => name !== undefined);
      assert.ok(tables.length > 0);
      for (const table of tables) assert.ok(KNOWN.includes(table), `${sql}: ${table}`);
      for (const line of plan.rows.map((row) => String(row.at(-1)))) {
        if (/\bcalls\b/.test(line)) {
          assert.match(line, /^SEARCH calls USING INTEGER PRIMARY KEY \(rowid>\?\)$/);
        }
      }
    }
  }
  const plan = await purser.core.store.read({
    sql: `EXPLAIN QUERY PLAN ${totalsStatements({ byAgent: false })[2]!.sql}`,
  });
  assert.match(String(plan.rows[0]!.at(-1)), /deliveries_due/);
});

Deno.test("renderFamilies() escapes any label and help text", () => {
  const text = renderFamilies([{
    name: "odd",
    type: "gauge",
    help: "two\nlines \\ and",
    samples: [{ labels: { name: 'a"b\\c\nd' }, value: 1n }],
  }]);
  assert.equal(text, '# HELP odd two\\nlines \\\\ and\n# TYPE odd gauge\nodd{name="a\\"b\\\\c\\nd"} 1\n');
  assert.deepEqual(readScrape(text).values, { 'odd name=a"b\\c\nd': "1" });
});
