import assert from "node:assert/strict";
import { MINUTE_MS, systemClock } from "../src/kernel/clock.ts";
import { createIds } from "../src/kernel/ids.ts";
import { writeKeyText } from "../src/keys/key_text.ts";
import { createKeyCheck, KEY_CACHE_MS, KEY_CHECK_MS } from "../src/keys/mod.ts";
import { BEAT_MS } from "../src/sessions/mod.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { skipSqld, type Sqld, startSqld } from "./harness/sqld.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** Two instances over one libSQL server; each has a clock that the test moves. */

let sqld: Sqld | undefined;
if (!skipSqld) {
  Deno.test.beforeAll(async () => void (sqld = await startSqld()));
  Deno.test.afterAll(async () => await sqld?.[Symbol.asyncDispose]());
}

async function openInstances() {
  const { url, fetch } = await sqld!.createDatabase();
  let keyQueries = 0;
  // Only these: background work of the instance makes requests, too.
  const counting: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    if ((await request.clone().text()).includes("FROM api_keys WHERE key_id =")) {
      keyQueries++;
    }
    return fetch(request);
  };
  const options = { config: { dbUrl: url, channels: [] }, ids: createIds(systemClock) };
  const a = await openTestPurser({ ...options, fetch });
  const b = await openTestPurser({ ...options, fetch: counting });
  return {
    a,
    b,
    client: openHttpClient(b),
    get keyQueries() {
      return keyQueries;
    },
    async [Symbol.asyncDispose]() {
      await a.core.close();
      await b.core.close();
    },
  };
}

function test(
  sentence: string,
  body: (instances: Awaited<ReturnType<typeof openInstances>>) => Promise<void>,
) {
  Deno.test({
    name: `on a libSQL server ${sentence}`,
    ignore: skipSqld,
    async fn() {
      await using instances = await openInstances();
      await body(instances);
    },
  });
}

/** 404 with a valid key: the path does not exist. */
const statusOf = async (client: ReturnType<typeof openHttpClient>, key: string) => {
  const response = await client.raw("GET", "/nothing", { key });
  await response.body?.cancel();
  return response.status;
};

test("an instance accepts a revoked key for at most five more seconds", async ({ a, b, client }) => {
  const { key, keyId } = await makeKey(a, ["read"]);
  b.clock.advance(KEY_CACHE_MS);
  assert.equal(await statusOf(client, key), 404);
  await a.api("DELETE", `/keys/${keyId}`);
  b.clock.advance(KEY_CACHE_MS - 1);
  assert.equal(await statusOf(client, key), 404);
  b.clock.advance(1);
  assert.equal(await statusOf(client, key), 401);
});

test("an instance forgets a key at once that is revoked through itself", async ({ b, client }) => {
  const { key, keyId } = await makeKey(b, ["read"]);
  assert.equal(await statusOf(client, key), 404);
  await b.api("DELETE", `/keys/${keyId}`);
  assert.equal(await statusOf(client, key), 401);
});

test("a cached key expires all the same, to the millisecond", async ({ b, client }) => {
  const { key } = await makeKey(b, ["read"], { expires_at: "2026-11-01T12:00:01.000Z" });
  assert.equal(await statusOf(client, key), 404);
  b.clock.advance(1000);
  assert.equal(await statusOf(client, key), 401);
});

test("authentication is required at most five seconds after another instance creates the first key", async ({ a, client, b }) => {
  const local = { from: "127.0.0.1", headers: { host: "localhost" } };
  assert.equal((await client.send("GET", "/agents", local)).status, 200);
  await makeKey(a, ["read"]);
  b.clock.advance(KEY_CACHE_MS);
  assert.equal((await client.send("GET", "/agents", local)).status, 401);
});

test("the first key that another instance creates is valid at once", async ({ a, client }) => {
  const elsewhere = { from: "192.0.2.1", headers: { host: "purser.example" } };
  assert.equal((await client.send("GET", "/agents", elsewhere)).status, 403);
  const { key } = await makeKey(a, ["read"]);
  assert.equal((await client.send("GET", "/agents", { ...elsewhere, key })).status, 200);
});

test("a valid key costs one query in five seconds, and a wrong one a query each time", async (instances) => {
  const { a, b, client } = instances;
  const { key, keyId } = await makeKey(a, ["read"]);
  b.clock.advance(KEY_CACHE_MS);
  assert.equal(await statusOf(client, key), 404);
  await Promise.all(b.core.keyCache.writing);
  const before = instances.keyQueries;
  await Promise.all(Array.from({ length: 20 }, () => statusOf(client, key)));
  assert.equal(instances.keyQueries, before);
  b.clock.advance(KEY_CACHE_MS);
  await Promise.all(Array.from({ length: 20 }, () => statusOf(client, key)));
  assert.equal(instances.keyQueries, before + 1);
  const wrong = writeKeyText(keyId, "0".repeat(32));
  for (let i = 1; i <= 5; i++) {
    assert.equal(await statusOf(client, wrong), 401);
    assert.equal(
      instances.keyQueries,
      before + 1 + i,
      "wrong keys are not cached, or they would be refused faster",
    );
  }
});

test("an endless response reads its key again every 2.5 seconds", async ({ a, b }) => {
  const { keyId } = await makeKey(a, ["read"]);
  const isTaken = createKeyCheck(b.core, { keyId, scopes: ["read"], agentId: null });
  assert.equal(await isTaken(), true);
  await a.api("DELETE", `/keys/${keyId}`);
  b.clock.advance(KEY_CHECK_MS - 1);
  assert.equal(await isTaken(), true);
  b.clock.advance(1);
  assert.equal(await isTaken(), false);
  assert.ok(KEY_CHECK_MS + BEAT_MS <= KEY_CACHE_MS, "a stream ends within the time that the documents state");
});

test("all streams of a key share one reading of it", async (instances) => {
  const { keyId } = await makeKey(instances.a, ["read"]);
  const checks = Array.from(
    { length: 100 },
    () => createKeyCheck(instances.b.core, { keyId, scopes: ["read"], agentId: null }),
  );
  const before = instances.keyQueries;
  for (let i = 0; i < 3; i++) {
    assert.ok((await Promise.all(checks.map((isTaken) => isTaken()))).every(Boolean));
  }
  assert.equal(instances.keyQueries, before + 1);
});

test("the last use is the latest on any instance", async ({ a, b, client }) => {
  const { key } = await makeKey(a, ["read"]);
  b.clock.advance(KEY_CACHE_MS);
  await statusOf(client, key);
  await Promise.all(b.core.keyCache.writing);
  a.clock.advance(2 * MINUTE_MS);
  await statusOf(openHttpClient(a), key);
  await Promise.all(a.core.keyCache.writing);
  b.clock.advance(MINUTE_MS);
  await statusOf(client, key);
  await Promise.all(b.core.keyCache.writing);
  const { body } = await b.api("GET", "/keys");
  assert.equal(body[0].last_used_at, "2026-11-01T12:02:00.000Z", "the latest, not the last one written");
});
