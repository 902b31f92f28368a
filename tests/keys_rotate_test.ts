import assert from "node:assert/strict";
import { withAccessCheck } from "../src/http/server/mod.ts";
import { MINUTE_MS, systemClock } from "../src/kernel/clock.ts";
import { createIds } from "../src/kernel/ids.ts";
import { authenticate, createKeyCheck, KEY_CACHE_MS } from "../src/keys/mod.ts";
import { EVENT } from "./harness/bodies.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { serverKindsInTime } from "./harness/database_servers.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** A key gets a new secret and stays itself; a second active key of its name is refused. */

const RUNS_OUT = "2026-11-11T12:00:00.000Z";

async function rotate(
  purser: TestPurser,
  keyId: string,
  body: { grace_seconds?: number; expires_at?: string | null } = {},
  headers: Record<string, string> = {},
) {
  return await purser.api("POST", `/keys/${keyId}/rotate`, body, headers);
}

/** 200 where the key is accepted. */
const statusOf = async (purser: TestPurser, key: string) =>
  (await openHttpClient(purser).send("GET", "/agents", { key })).status;

Deno.test("a new secret keeps the key's id, permissions, costs and budgets, and the one before ends at once", async () => {
  await using purser = await openTestPurser();
  const { key, keyId } = await makeKey(purser, ["run", "read"], { name: "bob", expires_at: RUNS_OUT });
  const budget = { name: "Each", limit_usd: 5, per: "day", each: "key" };
  assert.equal((await purser.api("POST", "/budgets", budget)).status, 201);
  const spend = async (key: string, id: string) =>
    (await openHttpClient(purser).send("POST", "/costs/events", {
      key,
      body: [{ ...EVENT, call_id: id, at: new Date(purser.clock.now()).toISOString(), cost_usd: 3 }],
    })).status;
  assert.equal(await spend(key, "1"), 201);
  const before = (await purser.api("GET", `/keys/${keyId}`)).body;
  purser.clock.advance(MINUTE_MS);
  const { status, body: { key: next, ...rotated }, headers } = await rotate(purser, keyId);
  assert.equal(status, 200);
  assert.equal(headers.get("cache-control"), "no-store");
  assert.deepEqual(rotated, {
    ...before,
    last_used_at: rotated.last_used_at,
    rotated_at: "2026-11-01T12:01:00.000Z",
  });
  assert.deepEqual([await statusOf(purser, key), await statusOf(purser, next)], [401, 200]);
  assert.equal(await spend(next, "2"), 201);
  const [{ counter, spent_usd, state }] = (await purser.api("GET", "/budgets")).body;
  assert.deepEqual([counter, spent_usd, state], [{ kind: "key", id: keyId }, 6, "reached"]);
  const [row, ...others] = (await purser.api("GET", "/costs?group_by=key")).body;
  assert.deepEqual([row.key_id, row.cost_usd, others], [keyId, 6, []]);
});

Deno.test("with a time of grace both secrets are accepted until it ends, to the millisecond, and a secret before those is not", async () => {
  await using purser = await openTestPurser();
  const { key: first, keyId } = await makeKey(purser, ["read"]);
  const { body: { key: second, previous_valid_until } } = await rotate(purser, keyId, {
    grace_seconds: 3_600,
  });
  assert.equal(previous_valid_until, "2026-11-01T13:00:00.000Z");
  assert.deepEqual([await statusOf(purser, first), await statusOf(purser, second)], [200, 200]);
  purser.clock.advance(60 * MINUTE_MS - 1);
  assert.equal(await statusOf(purser, first), 200);
  assert.equal((await purser.api("GET", `/keys/${keyId}`)).body.previous_valid_until, previous_valid_until);
  purser.clock.advance(1);
  assert.deepEqual([await statusOf(purser, first), await statusOf(purser, second)], [401, 200]);
  assert.equal((await purser.api("GET", `/keys/${keyId}`)).body.previous_valid_until, undefined);
  const { body: { key: third } } = await rotate(purser, keyId, { grace_seconds: 3_600 });
  const { body: { key: fourth } } = await rotate(purser, keyId, { grace_seconds: 3_600 });
  const all = [first, second, third, fourth];
  assert.deepEqual(await Promise.all(all.map((key) => statusOf(purser, key))), [401, 401, 200, 200]);
  await purser.api("DELETE", `/keys/${keyId}`);
  assert.deepEqual(await Promise.all(all.map((key) => statusOf(purser, key))), [401, 401, 401, 401]);
});

Deno.test("a rotation has a grace of at most 30 days, and an expiry in the future, or none", async () => {
  await using purser = await openTestPurser();
  const { key, keyId } = await makeKey(purser, ["read"], { expires_at: RUNS_OUT });
  for (
    const [body, path] of [
      [{ grace_seconds: 30 * 86_400 + 1 }, "grace_seconds"],
      [{ grace_seconds: -1 }, "grace_seconds"],
      [{ grace_seconds: 0.5 }, "grace_seconds"],
      [{ expires_at: "2026-11-01T12:00:00.000Z" }, "expires_at"],
      [{ expires_at: "soon" }, "expires_at"],
      [{ grace: 1 }, "grace"],
    ] as const
  ) {
    const { status, body: problem } = await rotate(purser, keyId, body as never);
    assert.equal(status, 400, JSON.stringify(body));
    assert.equal(problem.details.issues[0].path, path);
  }
  assert.equal(await statusOf(purser, key), 200, "nothing was changed");
  assert.equal((await rotate(purser, keyId, { expires_at: null })).body.expires_at, null);
  assert.equal((await rotate(purser, "key_nope")).status, 404);
});

Deno.test("a revoked key gets no secret; an expired one gets one with a new expiry, unless its name is another's by now", async () => {
  await using purser = await openTestPurser();
  const { keyId, key } = await makeKey(purser, ["read"], { name: "ci", expires_at: RUNS_OUT });
  purser.clock.advance(20 * 24 * 60 * MINUTE_MS);
  const expired = await rotate(purser, keyId);
  assert.equal(expired.status, 409);
  assert.match(expired.body.detail, /it expired at 2026-11-11T12:00:00\.000Z; give it a new expiry too/);
  const again = await makeKey(purser, ["read"], { name: "ci" });
  const taken = await rotate(purser, keyId, { expires_at: null });
  assert.equal(taken.status, 409);
  assert.match(taken.body.detail, new RegExp(`the active key ${again.keyId} has the name "ci"`));
  await purser.api("DELETE", `/keys/${again.keyId}`);
  const renewed = await rotate(purser, keyId, { expires_at: "2027-01-01T00:00:00.000Z" });
  assert.equal(renewed.status, 200);
  assert.deepEqual([await statusOf(purser, key), await statusOf(purser, renewed.body.key)], [401, 200]);
  const revoked = await rotate(purser, again.keyId);
  assert.equal(revoked.status, 409);
  assert.match(revoked.body.detail, /it was revoked, which is permanent; make a new key/);
});

Deno.test("PATCH changes the expiry of a key: an expired one is valid again, unless its name is another's by now", async () => {
  await using purser = await openTestPurser();
  const { keyId, key } = await makeKey(purser, ["read"], { name: "ci", expires_at: RUNS_OUT });
  const change = (id: string, expires_at: string | null) =>
    purser.api("PATCH", `/keys/${id}`, { expires_at });
  assert.equal((await change(keyId, "2026-11-12T12:00:00.000Z")).body.expires_at, "2026-11-12T12:00:00.000Z");
  assert.equal((await change(keyId, "2026-11-01T12:00:00.000Z")).status, 400);
  purser.clock.advance(20 * 24 * 60 * MINUTE_MS);
  assert.equal(await statusOf(purser, key), 401);
  const again = await makeKey(purser, ["read"], { name: "ci" });
  const taken = await change(keyId, null);
  assert.equal(taken.status, 409);
  assert.match(taken.body.detail, new RegExp(`the active key ${again.keyId} has the name "ci"`));
  await purser.api("DELETE", `/keys/${again.keyId}`);
  assert.equal((await change(keyId, null)).body.status, "active");
  assert.equal(await statusOf(purser, key), 200);
  const revoked = await change(again.keyId, null);
  assert.equal(revoked.status, 409);
  assert.match(revoked.body.detail, /it was revoked, which is permanent/);
});

Deno.test("only a key with the scope admin rotates keys, its own too, and an ETag guards it", async () => {
  await using purser = await openTestPurser();
  const admin = await makeKey(purser, ["admin"]);
  const reader = await makeKey(purser, ["read", "run", "call"]);
  const client = openHttpClient(purser);
  const path = `/keys/${reader.keyId}/rotate`;
  for (const key of [reader.key, (await makeKey(purser, ["read"], { agent_id: "a" })).key]) {
    assert.equal((await client.send("POST", path, { key, body: {} })).status, 403);
  }
  const etag = (await purser.api("GET", `/keys/${reader.keyId}`)).headers.get("etag")!;
  // Use of the key does not change it.
  purser.clock.advance(5 * MINUTE_MS);
  assert.equal(await statusOf(purser, reader.key), 200);
  await Promise.all(purser.core.keyCache.writing);
  const rotating = Array.from({ length: 5 }, () => rotate(purser, reader.keyId, {}, { "if-match": etag }));
  const statuses = (await Promise.all(rotating)).map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, 412, 412, 412, 412], "of those that expect one state, one rotates");
  const own = await client.send("POST", `/keys/${admin.keyId}/rotate`, { key: admin.key, body: {} });
  assert.equal(own.status, 200);
  assert.equal(await statusOf(purser, (own.body as { key: string }).key), 200);
  assert.equal(await statusOf(purser, admin.key), 401);
});

Deno.test("sessions of the dashboard end with the secret that they began with, and a replaced one begins none", async () => {
  await using purser = await openTestPurser();
  const { key, keyId } = await makeKey(purser, ["admin"]);
  const handle = withAccessCheck(purser.core, purser.app);
  const own = { host: "127.0.0.1:8420", origin: "http://127.0.0.1:8420", "sec-fetch-site": "same-origin" };
  const send = (
    method: string,
    path: string,
    { headers = {}, body }: { headers?: object; body?: unknown } = {},
  ) =>
    handle(
      new Request(`http://127.0.0.1:8420${path}`, {
        method,
        headers: { ...own, "content-type": "application/json", ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
      "127.0.0.1",
    );
  const signIn = (key: string) => send("POST", "/ui/session", { body: { api_key: key } });
  const headers = { "purser-dashboard": (await (await signIn(key)).json()).token };
  assert.equal((await send("GET", "/agents", { headers })).status, 200);
  const { body: { key: next } } = await rotate(purser, keyId, { grace_seconds: 600 });
  assert.equal((await send("GET", "/agents", { headers })).status, 401);
  assert.equal((await purser.api("GET", `/keys/${keyId}`)).body.web_sessions, 0);
  assert.equal(await statusOf(purser, key), 200, "requests by it are accepted");
  const refused = await signIn(key);
  assert.equal(refused.status, 401);
  assert.match((await refused.json()).detail, /the API key got a new one; use that one/);
  assert.equal((await signIn(next)).status, 200);
});

Deno.test("a replaced secret, accepted for a while, makes nothing that outlives it: no key and no secret", async () => {
  await using purser = await openTestPurser();
  const { key, keyId } = await makeKey(purser, ["admin"]);
  const { body: { key: next } } = await rotate(purser, keyId, { grace_seconds: 600 });
  const { send } = openHttpClient(purser);
  const rows: [path: string, body: unknown, made: number][] = [
    ["/keys", { name: "lasting", scopes: ["admin"] }, 201],
    [`/keys/${keyId}/rotate`, {}, 200],
  ];
  for (const [path, body] of rows) {
    const refused = await send("POST", path, { key, body });
    assert.equal(refused.status, 401, path);
    assert.match(refused.body.detail, /with this secret: the API key got a new one; use that one$/);
  }
  assert.equal(await statusOf(purser, key), 200, "it is accepted for everything else");
  for (const [path, body, made] of rows) {
    assert.equal((await send("POST", path, { key: next, body })).status, made, path);
  }
});

Deno.test("a stream that a replaced secret follows ends with it", async () => {
  await using purser = await openTestPurser();
  const { key, keyId } = await makeKey(purser, ["read"]);
  const { body: { key: next } } = await rotate(purser, keyId, { grace_seconds: 60 });
  const principals = await Promise.all(
    [key, next].map((text) => authenticate(purser.core, `Bearer ${text}`)),
  );
  const checks = principals.map((principal) => createKeyCheck(purser.core, principal));
  const answers = async () =>
    (await Promise.all(checks.map((check) => check()))).map((isOpen) => isOpen ? "open" : "ended");
  assert.deepEqual(await answers(), ["open", "open"]);
  purser.clock.advance(MINUTE_MS);
  assert.deepEqual(await answers(), ["ended", "open"]);
});

Deno.test("a second active key of a name is refused with the first one's id, also of many at once", async () => {
  await using purser = await openTestPurser();
  const create = (name: string) => purser.api("POST", "/keys", { name, scopes: ["read"] });
  const created = await Promise.all(Array.from({ length: 6 }, () => create("bob")));
  assert.deepEqual(created.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409]);
  const { key_id } = created.find(({ status }) => status === 201)!.body;
  const refused = created.find(({ status }) => status === 409)!.body;
  assert.equal(refused.code, "conflict");
  assert.match(
    refused.detail,
    new RegExp(`the active key ${key_id} has the name "bob"; .*purser keys rotate`),
  );
  assert.equal((await create("Bob")).status, 201, "names are compared exactly");
  // Those of earlier versions keep working.
  const other = await create("bob2");
  const rename = "UPDATE api_keys SET name = 'bob' WHERE key_id = ?";
  await purser.core.store.write([{ sql: rename, args: [other.body.key_id] }]);
  assert.equal(await statusOf(purser, other.body.key), 200);
  assert.equal((await rotate(purser, other.body.key_id)).status, 200);
});

for (const kind of serverKindsInTime) {
  Deno.test({
    name: `${kind.name}: an instance accepts a replaced secret for at most five more seconds`,
    ignore: kind.ignore,
    async fn() {
      await using server = await kind.start(false);
      const { url, fetch } = await server.createDatabase();
      const options = { config: { dbUrl: url, channels: [] }, ids: createIds(systemClock), fetch };
      await using a = await openTestPurser(options);
      await using b = await openTestPurser(options);
      const { key, keyId } = await makeKey(a, ["read"]);
      assert.equal(await statusOf(b, key), 200);
      const { body: { key: next } } = await rotate(a, keyId);
      assert.equal(await statusOf(a, key), 401);
      assert.equal(await statusOf(b, next), 200, "the new one at once");
      b.clock.advance(KEY_CACHE_MS);
      assert.equal(await statusOf(b, key), 401);
    },
  });
}
