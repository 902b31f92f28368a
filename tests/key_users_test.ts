import assert from "node:assert/strict";
import { withAccessCheck } from "../src/http/server/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { openWithChannels } from "./harness/deliveries.ts";
import { openHttpClient } from "./harness/http_client.ts";
import { EVENT } from "./harness/bodies.ts";
import { recordingChannel } from "./harness/recording_channel.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";
import { openTestBooks } from "./harness/test_books.ts";

/** The person of an API key, its tag `user`, wherever the key is named. */

const NAMED = { key_name: "laptop", key_user: "anna" };

async function makeKey(purser: Pick<TestPurser, "api">, scopes = ["call", "run", "read"]) {
  const { body } = await purser.api("POST", "/keys", { name: "laptop", scopes, tags: { user: "anna" } });
  return body as { key: string; key_id: string };
}

const spend = (key: string, client: ReturnType<typeof openHttpClient>, cost_usd: number) =>
  client.send("POST", "/costs/events", {
    key,
    body: [{ ...EVENT, call_id: `of ${cost_usd}`, at: "2026-11-01T11:00:00.000Z", cost_usd }],
  });

Deno.test("an alert names the key and its person in the text of its channels, their data and the history", async () => {
  const ops = recordingChannel("ops");
  await using purser = await openWithChannels([ops]);
  const { key, key_id } = await makeKey(purser);
  await purser.api("POST", "/budgets", { name: "Each", limit_usd: 4, per: "month", each: "key" });
  await purser.api("POST", "/alerts/rules", {
    ...{ name: "Day", threshold_type: "per_day_usd", threshold_usd: 1, severity: "warning" },
  });
  assert.equal((await spend(key, openHttpClient(purser), 4)).status, 201);
  await ops.until(2);
  const sent = ops.sent.map(({ notification }) => notification);
  const warning = sent.find(({ title }) => title.startsWith("Budget"))!;
  assert.match(warning.title, /^Budget Each, key laptop \(anna\): \$4 spent this month/);
  for (const { facts, data } of sent) {
    assert.equal(facts.find(({ label }) => label === "Key")?.value, "laptop (anna)");
    assert.deepEqual([data.key_id, data.key_name, data.key_user], [key_id, "laptop", "anna"]);
  }
  const { body: history } = await purser.api("GET", "/alerts/history");
  assert.deepEqual(
    history.map(({ key_name, key_user }: typeof NAMED) => ({ key_name, key_user })),
    [NAMED, NAMED],
  );
});

Deno.test("a refusal names the key, its person, the model and the amounts, in the list, as CSV and in the log", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  await using purser = await openTestPurser({ fake });
  const { key } = await makeKey(purser);
  const client = openHttpClient(purser);
  await purser.api("POST", "/budgets", { name: "Each", limit_usd: 2, per: "month", each: "key" });
  await spend(key, client, 2);
  purser.logs.length = 0;
  const refused = await withAccessCheck(purser.core, purser.app)(
    new Request("http://purser.example/v1/chat/completions", {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "x-purser-session": "talk",
      },
      body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] }),
    }),
    "192.0.2.1",
  );
  assert.equal(refused.status, 402);
  const { error: { details } } = await refused.json();
  assert.deepEqual([details.cost_usd_so_far, details.budget_usd], [2, 2]);
  assert.equal(details.refused_by[0].key_user, "anna");
  const line = purser.logs.find(({ message }) => message === "Answered a request")!.fields;
  assert.deepEqual(
    [line.key_name, line.key_user, line.provider, line.model, line.session_id, line.error_code],
    ["laptop", "anna", "openai", "gpt-4o-mini", "talk", "budget_exceeded"],
  );
  const [refusal] = (await client.send("GET", "/budgets/refusals", { key })).body;
  const { key_name, key_user, model, session_id, cost_usd_so_far, budget_usd } = refusal;
  assert.deepEqual({ key_name, key_user }, NAMED);
  assert.deepEqual([model, session_id, cost_usd_so_far, budget_usd], ["gpt-4o-mini", "talk", 2, 2]);
  const csv = await client.raw("GET", "/budgets/refusals", { key, headers: { accept: "text/csv" } });
  const [header, row] = (await csv.text()).split(/\r?\n/);
  const at = header!.split(",").indexOf("key_user");
  assert.equal(row!.split(",")[at], "anna", header);
});

Deno.test("costs by key name the person for a key that only reads, and an alert no other's for a key of one agent", async () => {
  await using purser = await openTestPurser();
  const { key, key_id } = await makeKey(purser, ["report"]);
  const client = openHttpClient(purser);
  await purser.api("POST", "/alerts/rules", {
    ...{ name: "Own", threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" },
    agent_id: EVENT.agent_id,
  });
  await spend(key, client, 2);
  const reader = (await purser.api("POST", "/keys", { name: "lead", scopes: ["read"] })).body.key;
  const [row] = (await client.send("GET", "/costs?group_by=key", { key: reader })).body;
  assert.deepEqual([row.key_id, row.key_name, row.key_user], [key_id, "laptop", "anna"]);
  const agent = { name: "bot", scopes: ["read"], agent_id: EVENT.agent_id };
  const bound = (await purser.api("POST", "/keys", agent)).body.key;
  const [alert] = (await client.send("GET", "/alerts/history", { key: bound })).body;
  assert.deepEqual([alert.rule_name, "key_name" in alert, "key_user" in alert], ["Own", false, false]);
});

Deno.test("the commands show the person beside the key's name, unless both are the same", async () => {
  await using books = await openTestBooks();
  await books.purser("keys add laptop --scope call --tag user=anna");
  await books.purser("keys add bob --scope call --tag user=bob");
  const keys: { key_id: string; name: string }[] = JSON.parse((await books.purser("keys list --json")).out);
  const { reportCalls } = await import("../src/calls/mod.ts");
  const { usageOf } = await import("../src/pricing/mod.ts");
  await books.purser("alerts add --name Day --threshold-usd 1 --threshold-type per_day_usd --severity info");
  await books.purser("budgets add --name Each --limit 9 --per day --each key");
  await reportCalls(
    books.core,
    "report",
    keys.map(({ key_id, name }) => ({
      ...{
        callId: name,
        at: books.clock.now(),
        agentId: "coder",
        sessionId: null,
        runId: null,
        keyId: key_id,
      },
      ...{ provider: "demo", model: "echo", usage: usageOf({ inputTokens: 1 }), costUsd: 2 },
      ...{ step: null, tools: [], durationMs: null },
    })),
  );
  const costs = await books.purser("cost --by key --since all");
  assert.match(costs.out, /^laptop \(anna\) +█+ +\$2/m);
  assert.match(costs.out, /^bob +█+ +\$2/m);
  assert.match((await books.purser("alerts history")).out, / coder key (laptop \(anna\)|bob) /);
  assert.match((await books.purser("budgets show Each")).out, /laptop \(anna\)/);
});
