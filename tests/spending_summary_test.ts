import assert from "node:assert/strict";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** `GET /costs/summary`, which a status line shows. */

const SESSION = "533e985d-597e-49f4-ab53-11c60e048775";

const sightingsAt = (at: number, tags: Record<string, string>) => ({
  origin: { source: "log", name: "claude-code", agent_id: "claude-code", machine: "laptop" },
  sightings: [{
    ref: "1",
    response_id: "msg_01XFDUDYJgAACzvnptvVoYEL",
    provider: "anthropic",
    model: "claude-haiku-4-5",
    at: new Date(at).toISOString(),
    input_tokens: 1_000_000,
    output_tokens: 0,
    session: SESSION,
    tags,
  }],
});

Deno.test("a key of one agent sees its session, its day, and the tightest budget whose amounts it may see", async () => {
  await using purser = await openTestPurser();
  const own = await makeKey(purser, ["read", "report"], { name: "laptop", agent_id: "claude-code" });
  const client = openHttpClient(purser);
  const add = (body: object) => purser.api("POST", "/budgets", { per: "day", ...body });
  await add({ name: "Agent", limit_usd: 9, agent_id: "claude-code" });
  await add({ name: "All", limit_usd: 2 });
  await add({ name: "Warns", limit_usd: 1.5, agent_id: "claude-code", action: "warn" });
  const at = purser.clock.now() - 60_000;
  const sent = await client.send("POST", "/sightings", { key: own.key, body: sightingsAt(at, {}) });
  assert.equal(sent.status, 200);
  const summary = async (key?: string, query = `?session_id=${SESSION}&agent_id=claude-code`) => {
    const answer = await client.send("GET", `/costs/summary${query}`, key === undefined ? {} : { key });
    assert.equal(answer.status, 200);
    return answer.body;
  };
  const { session, today, budget } = await summary(own.key);
  assert.deepEqual([session.cost_usd, today.cost_usd], [1, 1]);
  assert.deepEqual(budget, { name: "Agent", left_usd: 8 });
  const reader = await makeKey(purser, ["read"]);
  assert.deepEqual((await summary(reader.key, "?agent_id=claude-code")).budget, { name: "All", left_usd: 1 });
  assert.equal((await summary(reader.key, "")).session, undefined);
});

Deno.test("a budget of a tag, a key or a model is that of the session's newest call", async () => {
  await using purser = await openTestPurser();
  const exporter = await makeKey(purser, ["report"], { name: "exporter" });
  const client = openHttpClient(purser);
  const add = (body: object) => purser.api("POST", "/budgets", { per: "day", ...body });
  await add({ name: "All", limit_usd: 20 });
  await add({ name: "Shop", limit_usd: 5, tags: { project: "shop" } });
  await add({ name: "Other", limit_usd: 1, tags: { project: "other" } });
  const body = sightingsAt(purser.clock.now() - 60_000, { project: "shop" });
  assert.equal((await client.send("POST", "/sightings", { key: exporter.key, body })).status, 200);
  const reader = await makeKey(purser, ["read"]);
  const budget = async () =>
    (await client.send("GET", `/costs/summary?session_id=${SESSION}`, { key: reader.key })).body.budget;
  assert.deepEqual(await budget(), { name: "Shop", left_usd: 4 });
  await add({ name: "Key", limit_usd: 4, key_id: exporter.keyId });
  assert.deepEqual(await budget(), { name: "Key", left_usd: 3 });
  await add({ name: "Model", limit_usd: 3, model: "claude-haiku-4-5" });
  assert.deepEqual(await budget(), { name: "Model", left_usd: 2 });
});
