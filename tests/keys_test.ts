import assert from "node:assert/strict";
import { DAY_MS, MINUTE_MS } from "../src/kernel/clock.ts";
import { hashSecret, parseKeyText, writeKeyText } from "../src/keys/key_text.ts";
import { assertProblem } from "./harness/assert_problem.ts";
import { dump } from "./harness/booking.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** API keys over REST: created, listed, used and revoked. */

const settled = (purser: TestPurser) => Promise.all(purser.core.keyCache.writing);

Deno.test("a key is created, read and listed, and its text is in the first response alone", async () => {
  await using purser = await openTestPurser();
  const made = await purser.api("POST", "/keys", {
    name: "ci",
    scopes: ["run", "read", "run"],
    agent_id: "helper",
    expires_at: "2026-12-01T02:00:00+02:00",
  });
  assert.equal(made.status, 201);
  const { key, ...rest } = made.body;
  assert.deepEqual(rest, {
    key_id: made.body.key_id,
    name: "ci",
    scopes: ["read", "run"],
    agent_id: "helper",
    models: null,
    stop_before_credits: false,
    tags: {},
    status: "active",
    created_at: "2026-11-01T12:00:00.000Z",
    expires_at: "2026-12-01T00:00:00.000Z",
    last_used_at: null,
    web_sessions: 0,
    revoked_at: null,
  });
  assert.equal(made.headers.get("location"), `/keys/${rest.key_id}`);
  assert.equal(made.headers.get("cache-control"), "no-store");
  assert.deepEqual((await purser.api("GET", made.headers.get("location")!)).body, rest);
  assert.deepEqual((await purser.api("GET", "/keys")).body, [rest]);
  assert.equal(parseKeyText(key).is, "whole");
});

Deno.test("the database has a hash of the secret, and the key is in no table, event, log line or response", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const { key, keyId } = await makeKey(purser, ["admin"]);
  const parsed = parseKeyText(key);
  assert.ok(parsed.is === "whole");
  const answers = [
    await client.send("PUT", "/agents/a", { key, body: { model: "demo:echo" } }),
    await client.send("POST", "/agents/a/runs", { key, body: { input: "hi" } }),
    await client.send("GET", "/keys", { key }),
    await client.send("GET", "/doctor", { key }),
    await client.send("GET", "/nothing", { key }),
    await client.send("DELETE", `/keys/${keyId}`, { key }),
    await client.send("GET", "/agents", { key }),
    await client.send("GET", "/agents", { key: key.slice(0, -1) }),
    await client.send("GET", "/agents", { headers: { authorization: `Basic ${key}` } }),
  ];
  await settled(purser);
  const { rows } = await purser.core.store.read({ sql: "SELECT hash FROM api_keys" });
  assert.deepEqual(rows, [[hashSecret(parsed.secret)]]);
  const seen = JSON.stringify(
    [await dump(purser.core.store), purser.logs, purser.published, answers],
    (_, value) => typeof value === "bigint" ? String(value) : value,
  );
  assert.ok(!seen.includes(parsed.secret), seen);
  assert.ok(!seen.includes(key.slice(-20)));
});

Deno.test("invalid fields of a key are refused, each with its path", async () => {
  await using purser = await openTestPurser();
  const good = { name: "ci", scopes: ["run"] };
  const wrong: [object, string][] = [
    [{ ...good, name: "" }, "name"],
    [{ ...good, name: "   " }, "name"],
    [{ ...good, name: "a\nb" }, "name"],
    [{ ...good, name: "x".repeat(201) }, "name"],
    [{ ...good, scopes: [] }, "scopes"],
    [{ ...good, scopes: ["write"] }, "scopes[0]"],
    [{ name: "ci" }, "scopes"],
    [{ ...good, agent_id: "a b" }, "agent_id"],
    [{ ...good, agent_id: "a", scopes: ["admin"] }, "scopes"],
    [{ ...good, agent_id: "a", scopes: ["run", "admin"] }, "scopes"],
    [{ ...good, expires_at: "tomorrow" }, "expires_at"],
    [{ ...good, expires_at: "2026-12-01" }, "expires_at"],
    [{ ...good, expires_at: "2026-11-01T12:00:00.000Z" }, "expires_at"],
    [{ ...good, key: "psr_mine" }, "key"],
  ];
  for (const [body, path] of wrong) {
    await assertProblem(purser, "POST", "/keys", body, { status: 400, code: "invalid", path });
  }
  assert.deepEqual((await purser.api("GET", "/keys")).body, []);
});

Deno.test("keys are listed newest first, in pages, and by status", async () => {
  await using purser = await openTestPurser();
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    const expires_at = i === 1 ? new Date(purser.clock.now() + DAY_MS).toISOString() : undefined;
    ids.unshift((await makeKey(purser, ["read"], { name: `k${i}`, expires_at })).keyId);
    if (i !== 2) purser.clock.advance(1);
  }
  await purser.api("DELETE", `/keys/${ids[0]}`);
  purser.clock.advance(2 * DAY_MS);
  const idsOf = async (path: string) => {
    const { body, headers } = await purser.api("GET", path);
    return {
      ids: body.map((key: { key_id: string }) => key.key_id),
      next: /<(.*)>/.exec(headers.get("link") ?? "")?.[1],
    };
  };
  const seen: string[] = [];
  for (let path: string | undefined = "/keys?limit=2"; path;) {
    const page: Awaited<ReturnType<typeof idsOf>> = await idsOf(path);
    seen.push(...page.ids);
    path = page.next;
  }
  assert.deepEqual(seen, ids);
  assert.deepEqual((await idsOf("/keys?status=revoked")).ids, [ids[0]]);
  assert.deepEqual((await idsOf("/keys?status=expired")).ids, [ids[3]]);
  assert.deepEqual((await idsOf("/keys?status=active")).ids, [ids[1], ids[2], ids[4]]);
  await assertProblem(purser, "GET", "/keys?status=lost", undefined, {
    status: 400,
    code: "invalid",
    path: "status",
  });
  await assertProblem(purser, "GET", "/keys?cursor=x", undefined, {
    status: 400,
    code: "invalid",
    path: "cursor",
  });
});

Deno.test("a key is revoked at once and for good; a second time changes nothing", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const { key, keyId } = await makeKey(purser, ["read"]);
  assert.equal((await client.send("GET", "/agents", { key })).status, 200);
  assert.equal((await purser.api("DELETE", `/keys/${keyId}`)).status, 204);
  const refused = await client.send("GET", "/agents", { key });
  assert.deepEqual([refused.status, refused.body.detail], [401, "Cannot use the API key: it was revoked"]);
  const { revoked_at } = (await purser.api("GET", `/keys/${keyId}`)).body;
  purser.clock.advance(1000);
  assert.equal((await purser.api("DELETE", `/keys/${keyId}`)).status, 204);
  const { body } = await purser.api("GET", `/keys/${keyId}`);
  assert.deepEqual([body.status, body.revoked_at], ["revoked", revoked_at]);
  await assertProblem(purser, "DELETE", "/keys/key_nope", undefined, { status: 404, code: "not_found" });
  await assertProblem(purser, "GET", "/keys/key_nope", undefined, { status: 404, code: "not_found" });
});

Deno.test("no row of a key can be deleted, so authentication stays required", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const { keyId } = await makeKey(purser, ["admin"]);
  await purser.api("DELETE", `/keys/${keyId}`);
  await assert.rejects(purser.core.store.write([{ sql: "DELETE FROM api_keys" }]));
  assert.equal((await client.send("GET", "/agents", { from: "127.0.0.1" })).status, 401);
});

Deno.test("a key ends when it expires, to the millisecond", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const { key } = await makeKey(purser, ["read"], { expires_at: "2026-11-01T12:01:00.000Z" });
  purser.clock.advance(MINUTE_MS - 1);
  assert.equal((await client.send("GET", "/agents", { key })).status, 200);
  purser.clock.advance(1);
  const { status, body } = await client.send("GET", "/agents", { key });
  assert.deepEqual([status, body.detail], [
    401,
    "Cannot use the API key: it expired at 2026-11-01T12:01:00.000Z; make a new one",
  ]);
});

Deno.test("the last use is recorded once a minute for any number of clients, and not for refused requests", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const { key, keyId } = await makeKey(purser, ["read"]);
  const { secret } = parseKeyText(key) as { secret: string };
  const lastUse = async () => {
    await settled(purser);
    return (await purser.api("GET", `/keys/${keyId}`)).body.last_used_at;
  };
  await client.send("GET", "/agents", { key: writeKeyText(keyId, [...secret].reverse().join("")) });
  assert.equal(await lastUse(), null);
  await client.send("GET", "/agents", { key });
  assert.equal(await lastUse(), "2026-11-01T12:00:00.000Z");
  const { write } = purser.core.store;
  let writes = 0;
  purser.core.store.write = (statements) => {
    if (statements.some(({ sql }) => sql.includes("last_used_at"))) writes++;
    return write.call(purser.core.store, statements);
  };
  purser.clock.advance(MINUTE_MS - 1);
  for (let i = 0; i < 20; i++) await client.send("GET", "/agents", { key });
  assert.equal(await lastUse(), "2026-11-01T12:00:00.000Z");
  assert.equal(writes, 0);
  purser.clock.advance(1);
  await Promise.all(Array.from({ length: 20 }, () => client.send("GET", "/agents", { key })));
  assert.equal(await lastUse(), "2026-11-01T12:01:00.000Z");
  assert.equal(writes, 1);
  await purser.api("DELETE", `/keys/${keyId}`);
  purser.clock.advance(DAY_MS);
  await client.send("GET", "/agents", { key });
  assert.equal(await lastUse(), "2026-11-01T12:01:00.000Z");
});

Deno.test("a last use that can't be written neither fails nor delays a request", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const { key, keyId } = await makeKey(purser, ["read"]);
  const { write } = purser.core.store;
  const failing = Promise.withResolvers<never>();
  purser.core.store.write = () => failing.promise;
  assert.equal((await client.send("GET", "/agents", { key })).status, 200);
  failing.reject(new Error("the disk is full"));
  await settled(purser);
  purser.core.store.write = write;
  const warnings = purser.logs.filter(({ level }) => level !== "info");
  assert.deepEqual(warnings.map(({ level, message, fields }) => [level, message, fields]), [[
    "warn",
    "The last use of an API key could not be recorded",
    { key_id: keyId, reason: "the disk is full" },
  ]]);
});
