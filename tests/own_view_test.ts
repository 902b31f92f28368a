import assert from "node:assert/strict";
import { createApiClient } from "../src/client/mod.ts";
import { main } from "../src/cli/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { EVENT } from "./harness/bodies.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { memoryTerminal } from "./harness/memory_terminal.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** The spending that the holder of a key sees of itself: `GET /me` and `purser whoami`. */

async function open(purser: TestPurser) {
  const client = openHttpClient(purser);
  const { body } = await purser.api("POST", "/keys", {
    ...{ name: "anna", scopes: ["call"], tags: { user: "anna.k" } },
  });
  const call = (key: string, model = "gpt-4o-mini") =>
    client.raw("POST", "/v1/chat/completions", {
      key,
      headers: { "x-purser-session": "talk" },
      body: { model, messages: [{ role: "user", content: "Hi" }] },
    });
  return { client, anna: body as { key: string; key_id: string }, call };
}

async function whoami(purser: TestPurser, key: string | undefined) {
  const { raw } = openHttpClient(purser);
  const send = (request: Request) => raw(request.method, new URL(request.url).pathname, { key });
  const api = createApiClient({ baseUrl: "http://purser.invalid", send });
  const terminal = memoryTerminal();
  const code = await main(["whoami"], {
    terminal,
    env: { PURSER_DB: ":memory:" },
    connect: () =>
      Promise.resolve({ api, send, kind: "remote", where: "memory", close: () => Promise.resolve() }),
  });
  return { code, out: terminal.out, err: terminal.err };
}

Deno.test("a key that only calls models sees its own spending, budgets, sessions and refusals, and no other's", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  await using purser = await openTestPurser({ fake });
  const { client, anna, call } = await open(purser);
  const bob = await makeKey(purser, ["call"], { name: "bob" });
  await purser.api("POST", "/budgets", { name: "Each", limit_usd: 5, per: "month", each: "key" });
  await purser.api("POST", "/budgets", { name: "Of bob", limit_usd: 5, per: "day", key_id: "bob" });
  const earlier = { ...EVENT, call_id: "october", at: "2026-10-31T00:00:00.000Z", cost_usd: 3 };
  assert.equal((await purser.api("POST", "/costs/events", [earlier])).status, 201);
  for (const key of [anna.key, bob.key]) assert.equal((await call(key)).status, 200);
  assert.equal((await call(anna.key, "gpt-5-minni")).status, 402);
  const { status, body } = await client.send("GET", "/me", { key: anna.key });
  assert.equal(status, 200);
  assert.deepEqual(
    [body.key.key_id, body.key.name, body.key.tags],
    [anna.key_id, "anna", { user: "anna.k" }],
  );
  assert.deepEqual([body.today.model_calls, body.month.model_calls, body.month.cost_usd], [1, 1, 0.0000027]);
  assert.deepEqual(
    body.budgets.map(({ name, spent_usd, key_user }: Record<string, unknown>) => [name, spent_usd, key_user]),
    [["Each", 0.0000027, "anna.k"]],
  );
  assert.deepEqual(body.sessions.map((row: { session_id: string }) => row.session_id), ["talk"]);
  assert.deepEqual(
    body.refusals.map((each: Record<string, unknown>) => [each.model, each.nearest_model, each.key_name]),
    [["gpt-5-minni", "openai:gpt-5-mini", "anna"]],
  );
  assert.ok(!JSON.stringify(body).includes("bob"));
  assert.equal(
    (await client.send("GET", "/costs", { key: anna.key })).status,
    403,
    "its rights are as before",
  );
});

Deno.test("whoami shows it, and says why there is nothing to show without a key", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  await using purser = await openTestPurser({ fake });
  const { anna, call } = await open(purser);
  const fresh = await whoami(purser, anna.key);
  assert.equal(fresh.code, 0, fresh.err);
  assert.match(fresh.out, /Today \(UTC\) +nothing\n.*\nBudgets +none applies\n/);
  await purser.api("POST", "/budgets", { name: "Each", limit_usd: 5, per: "month", each: "key" });
  await call(anna.key);
  await call(anna.key, "gpt-5-minni");
  const { out } = await whoami(purser, anna.key);
  assert.match(out, /^Key +anna\n/);
  assert.match(out, /Tags of its calls +user=anna\.k\n/);
  assert.match(out, /This month \(UTC\) +\$0\.0000027 in 1 call\n/);
  assert.match(out, /\nEach +\$4\.9999973 +\$0\.0000027 of \$5 +month of key anna \(anna\.k\) +ok /);
  assert.match(out, /\ntalk +1 +\$0\.0000027 /);
  assert.match(out, /Each +unpriced +openai:gpt-5-minni/);
  const { status, body } = await purser.api("GET", "/me");
  assert.equal(status, 404);
  assert.equal(body.detail, "Cannot tell whose spending is meant: the request has no API key");
});
