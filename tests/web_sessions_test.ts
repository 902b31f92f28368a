import assert from "node:assert/strict";
import { UTC } from "../src/contract/calendars/zones.ts";
import { createHash } from "node:crypto";
import { withAccessCheck } from "../src/http/server/mod.ts";
import { DAY_MS, HOUR_MS } from "../src/kernel/clock.ts";
import { makeKey } from "./harness/http_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** The sessions of the dashboard over HTTP; tests/ui/sign_in_test.ts has them in a browser. */

type Headers = Record<string, string>;

const OWN = { "sec-fetch-site": "same-origin" };

function openBrowserOf({ core, app }: TestPurser, base = "http://127.0.0.1:8420", more: Headers = OWN) {
  const handle = withAccessCheck(core, app);
  const { host, origin } = new URL(base);
  return async (
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Headers; body?: unknown } = {},
  ) => {
    const response = await handle(
      new Request(base + path, {
        method,
        headers: {
          host,
          ...more,
          ...(method !== "GET" && { origin }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
      "127.0.0.1",
    );
    assert.deepEqual(response.headers.getSetCookie(), [], "no cookie holds anything");
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  };
}

async function signIn(purser: TestPurser, scopes: ("admin" | "read" | "call")[] = ["admin"], more = {}) {
  const { key, keyId: key_id } = await makeKey(purser, scopes, more);
  const send = openBrowserOf(purser);
  const { status, body } = await send("POST", "/ui/session", { body: { api_key: key } });
  assert.equal(status, 200);
  const token: string = body.token;
  return { key, key_id, token, headers: { "purser-dashboard": token }, send };
}

Deno.test("without a key there is nothing to sign in to", async () => {
  await using purser = await openTestPurser();
  const send = openBrowserOf(purser);
  assert.equal((await send("GET", "/ui/session")).body.access, "keyless");
  const { status, body } = await send("POST", "/ui/session", { body: { api_key: "psr_x" } });
  assert.deepEqual([status, body.code], [409, "conflict"]);
});

Deno.test("the token of a session has no key, and only the answer to a sign-in has it", async () => {
  await using purser = await openTestPurser();
  const { key, token, headers, send } = await signIn(purser);
  assert.match(token, /^pws_[0-9a-f]{64}$/);
  assert.ok(!key.includes(token.slice(4)));
  assert.equal((await send("GET", "/ui/session", { headers })).body.token, undefined);
  const { rows } = await purser.core.store.read({ sql: "SELECT hash FROM web_sessions" });
  assert.ok(!JSON.stringify(rows).includes(token.slice(4)), "the database has its hash");
});

Deno.test("no cookie is a session, whoever has set it, and none changes one", async () => {
  await using purser = await openTestPurser();
  const own = await signIn(purser);
  const other = await signIn(purser, ["read"]);
  const named = (token: string) => [`purser=${token}`, `__Host-purser=${token}`, `purser-session=${token}`];
  const tokens = [own.token, own.token.slice(4), other.token, "0".repeat(64), ""];
  const cookies = [...tokens.flatMap(named), named(other.token).join("; "), "purser=" + "x".repeat(3_000)];
  for (const cookie of cookies) {
    // Another port of this host gets the cookies of all, and can set them, in a browser and by itself.
    for (const more of [{}, { origin: "http://127.0.0.1:8420" }] as Headers[]) {
      const headers = { cookie, ...more };
      assert.equal((await own.send("GET", "/agents", { headers })).status, 401, cookie);
      const body = { name: "mine", scopes: ["admin"] };
      assert.equal((await own.send("POST", "/keys", { headers, body })).status, 401, cookie);
      assert.equal((await own.send("GET", "/ui/session", { headers })).body.access, "signed_out", cookie);
      assert.equal((await own.send("DELETE", "/ui/session", { headers })).status, 204);
    }
    const { body } = await own.send("GET", "/ui/session", { headers: { ...own.headers, cookie } });
    assert.equal(body.key_id, own.key_id, cookie);
  }
  assert.equal((await own.send("GET", "/agents", { headers: own.headers })).status, 200, "it continues");
});

Deno.test("a session of an earlier version, whose token was in a cookie, has ended", async () => {
  await using purser = await openTestPurser();
  const { key_id, send } = await signIn(purser);
  const token = "0123456789abcdef".repeat(4);
  const now = purser.clock.now();
  await purser.core.store.write([{
    sql:
      `INSERT INTO web_sessions (hash, key_id, created_at, last_used_at, expires_at) VALUES (?1, ?2, ?3, ?3, ?4)`,
    args: [createHash("sha256").update(token).digest("hex"), key_id, now, now + DAY_MS],
  }]);
  const sent: Headers[] = [
    { cookie: `purser=${token}` },
    { "purser-dashboard": token },
    { "purser-dashboard": "1" },
  ];
  for (const headers of sent) {
    assert.equal((await send("GET", "/agents", { headers })).status, 401, JSON.stringify(headers));
  }
});

Deno.test("a session has the permissions of its key, and no others", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", { model: "demo:echo" });
  const { headers, key_id, send } = await signIn(purser, ["read"], { agent_id: "a" });
  const { body } = await send("GET", "/ui/session", { headers });
  assert.deepEqual(body, {
    access: "signed_in",
    key_id,
    name: body.name,
    scopes: ["read"],
    agent_id: "a",
    expires_at: new Date(purser.clock.now() + 7 * DAY_MS).toISOString(),
    calendar: UTC,
  });
  assert.equal((await send("GET", "/agents", { headers })).status, 200);
  assert.equal((await send("GET", "/keys", { headers })).status, 403);
  assert.equal((await send("DELETE", "/agents/a", { headers })).status, 403);
});

Deno.test("the key of a request counts before its session, and the gateway knows no session", async () => {
  await using purser = await openTestPurser();
  const { headers, token, send } = await signIn(purser);
  const wrong = { ...headers, authorization: "Bearer psr_wrong" };
  assert.equal((await send("GET", "/agents", { headers: wrong })).status, 401);
  const asKey = { authorization: `Bearer ${token}` };
  assert.equal((await send("GET", "/agents", { headers: asKey })).status, 401, "its token is no key");
  for (const sent of [headers, asKey, { "x-api-key": token }]) {
    const gateway = await send("POST", "/openai/v1/chat/completions", { headers: sent, body: {} });
    assert.equal(gateway.status, 401);
  }
});

Deno.test("a session makes no key, and changes no limit of one, without the key itself", async () => {
  await using purser = await openTestPurser();
  const { key, key_id, headers, send } = await signIn(purser);
  const budget = async (more: object) => {
    const { status, body } = await send("POST", "/budgets", {
      headers,
      body: { limit_usd: 5, per: "day", ...more },
    });
    assert.equal(status, 201, "a budget restricts");
    return `/budgets/${body.budget_id}`;
  };
  const [ofAll, ofOne, ofEach] = [
    await budget({ name: "All" }),
    await budget({ name: "One", key_id }),
    await budget({ name: "Each", each: "key" }),
  ];
  const requests = (path: string): [method: string, path: string, body?: object][] => [
    ["PATCH", path, { limit_usd: 500 }],
    ["PATCH", path, { enabled: false }],
    ["PATCH", path, { key_id: null, each: null }],
    ["POST", `${path}/raises`, { extra_usd: 500 }],
    ["DELETE", path],
  ];
  const closed: [method: string, path: string, body?: object][] = [
    ["POST", "/keys", { name: "mine", scopes: ["admin"] }],
    ["POST", "/keys", { name: "my own", scopes: ["read"], expires_at: "2030-01-01T00:00:00.000Z" }],
    // By its tags, a key would spend from another budget, or approve what its own person asks for.
    ["PATCH", `/keys/${key_id}`, { tags: { user: "another" } }],
    ["POST", "/ui/session/codes"],
    ...requests(ofOne),
    ...requests(ofEach),
    ...requests(await budget({ name: "People", each: "tag:user" })),
    ...requests(await budget({ name: "Anna", tags: { user: "anna" } })),
  ];
  for (const [method, path, body] of closed) {
    const refused = await send(method, path, { headers, body });
    assert.deepEqual([refused.status, refused.body.code], [403, "forbidden"], `${method} ${path}`);
    assert.match(refused.body.detail, /by the session of the dashboard: enter the API key again/);
    assert.deepEqual(refused.body.details, { step_up: "api_key" });
  }
  const wrong = { ...headers, authorization: `Bearer ${key.slice(0, -1)}` };
  const { status } = await send("POST", "/keys", {
    headers: wrong,
    body: { name: "mine", scopes: ["admin"] },
  });
  assert.equal(status, 401, "nor with a wrong one");
  for (const [method, path, body] of requests(ofAll)) {
    const done = await send(method, path, { headers, body });
    assert.ok(done.status < 300, `${method} ${path}: ${JSON.stringify(done.body)}`);
  }
  for (const [method, path, body] of closed) {
    const done = await send(method, path, { headers: { ...headers, authorization: `Bearer ${key}` }, body });
    assert.ok(done.status < 300 || done.status === 400, `${method} ${path}: ${JSON.stringify(done.body)}`);
  }
  assert.equal((await send("GET", "/keys", { headers })).status, 200);
  assert.equal(
    (await send("DELETE", `/keys/${key_id}`, { headers })).status,
    204,
    "to revoke one needs none",
  );
});

Deno.test("a session ends with its key, after 12 hours without use, and after 7 days", async () => {
  await using purser = await openTestPurser();
  const { clock } = purser;
  const first = await signIn(purser);
  const read = async ({ headers, send }: typeof first) => (await send("GET", "/agents", { headers })).status;
  for (let hours = 11; hours < 7 * 24; hours += 11) {
    clock.advance(11 * HOUR_MS);
    assert.equal(await read(first), 200, `after ${hours} hours`);
    await Promise.all(purser.core.keyCache.writing);
  }
  clock.advance(11 * HOUR_MS);
  assert.equal(await read(first), 401);
  const second = await signIn(purser);
  clock.advance(12 * HOUR_MS);
  assert.equal(await read(second), 401);
  const { headers } = second;
  assert.equal((await second.send("GET", "/ui/session", { headers })).body.access, "signed_out");
  const third = await signIn(purser);
  await purser.api("DELETE", `/keys/${third.key_id}`);
  assert.equal(await read(third), 401);
  const { rows } = await purser.core.store.read({ sql: "SELECT count(*) FROM web_sessions" });
  assert.equal(Number(rows[0]![0]), 0, "and no row stays");
});

Deno.test("a key's list counts its sessions, of which it has 20 at most", async () => {
  await using purser = await openTestPurser();
  const { key, key_id, headers, send } = await signIn(purser);
  const count = async () => (await purser.api("GET", `/keys/${key_id}`)).body.web_sessions;
  assert.equal(await count(), 1);
  for (let i = 0; i < 20; i++) {
    purser.clock.advance(1);
    await send("POST", "/ui/session", { body: { api_key: key } });
  }
  assert.equal(await count(), 20);
  assert.equal((await purser.api("GET", "/keys")).body[0].web_sessions, 20);
  assert.equal((await send("GET", "/agents", { headers })).status, 401, "the oldest has ended");
  for (let i = 0; i < 3; i++) {
    purser.clock.advance(1);
    const headers = { authorization: `Bearer ${key}` };
    const { body } = await send("POST", "/ui/session/codes", { headers });
    await send("POST", "/ui/session", { body: { code: body.code } });
  }
  assert.equal(await count(), 20, "also by codes");
});

Deno.test("signing out ends the session", async () => {
  await using purser = await openTestPurser();
  const { headers, key_id, send } = await signIn(purser);
  assert.equal((await send("DELETE", "/ui/session", { headers })).status, 204);
  assert.equal((await send("GET", "/agents", { headers })).status, 401);
  assert.equal((await purser.api("GET", `/keys/${key_id}`)).body.web_sessions, 0);
});

Deno.test("a code signs in once, within a minute, as the key that made it", async () => {
  await using purser = await openTestPurser();
  const { key, keyId: key_id } = await makeKey(purser, ["call"]);
  const send = openBrowserOf(purser, undefined, {});
  const headers = { authorization: `Bearer ${key}` };
  const makeCode = async () => (await send("POST", "/ui/session/codes", { headers })).body.code as string;
  const redeem = (code: string) => send("POST", "/ui/session", { body: { code } });

  const [replaced, code] = [await makeCode(), await makeCode()];
  assert.equal((await redeem(replaced)).status, 401, "a new code replaces it");
  const statuses = (await Promise.all([redeem(code), redeem(code)])).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [200, 401]);

  const late = await makeCode();
  purser.clock.advance(60_000);
  assert.equal((await redeem(late)).status, 401);

  const useless = await makeCode();
  await purser.api("DELETE", `/keys/${key_id}`);
  assert.equal((await redeem(useless)).status, 401);
  assert.equal((await send("POST", "/ui/session/codes")).status, 401);
});

Deno.test("a code of another key than that of the session signs in only where that is confirmed", async () => {
  await using purser = await openTestPurser();
  const own = await signIn(purser);
  const other = await makeKey(purser, ["read"], { name: "Bob" });
  const codeOf = async (key: string) => {
    const headers = { authorization: `Bearer ${key}` };
    return (await own.send("POST", "/ui/session/codes", { headers })).body.code as string;
  };
  const redeem = (body: object, headers: Headers = own.headers) =>
    own.send("POST", "/ui/session", { body, headers });

  assert.equal((await redeem({ code: await codeOf(own.key) })).status, 200, "its own");
  const code = await codeOf(other.key);
  const { status, body } = await redeem({ code });
  assert.deepEqual([status, body.code, body.token], [409, "conflict", undefined]);
  assert.deepEqual(body.details, { key_id: other.keyId, name: "Bob" });
  const switched = await redeem({ code, replace: true });
  assert.deepEqual([switched.status, switched.body.key_id], [200, other.keyId]);
  assert.equal((await redeem({ code })).status, 401, "it works once");

  const ended = { "purser-dashboard": "pws_" + "0".repeat(64) };
  assert.equal((await redeem({ code: await codeOf(other.key) }, ended)).status, 200, "without a session");
});

Deno.test("no page of another origin signs a browser in, also where browsers name the origin only", async () => {
  await using purser = await openTestPurser();
  const { key } = await makeKey(purser, ["read"]);
  const own = "http://books.example.com:8420";
  const send = openBrowserOf(purser, own, {});
  const statusOf = async (origin: string) => {
    const { status, body } = await send("POST", "/ui/session", {
      body: { api_key: key },
      headers: { origin },
    });
    assert.equal(typeof body.token, status === 200 ? "string" : "undefined");
    return status;
  };
  assert.equal(await statusOf(own), 200);
  for (const origin of ["http://evil.example", "http://books.example.com:3000", "null"]) {
    assert.equal(await statusOf(origin), 403, origin);
  }
});

Deno.test("a client without a key may send a few bytes of JSON, and no other body", async () => {
  await using purser = await openTestPurser();
  await makeKey(purser, ["read"]);
  const handle = withAccessCheck(purser.core, purser.app);
  const signIn = async (body: string) => {
    const headers = { host: "127.0.0.1:8420", "content-type": "application/json" };
    const request = new Request("http://127.0.0.1:8420/ui/session", { method: "POST", headers, body });
    const response = await handle(request, "127.0.0.1");
    return [response.status, (await response.json()).code];
  };
  for (const body of ["", "{", "[".repeat(4000)]) assert.deepEqual(await signIn(body), [400, "invalid"]);
  assert.deepEqual(await signIn(JSON.stringify({ code: "a".repeat(5000) })), [413, "too_large"]);
});

Deno.test("wrong keys are slowed as everywhere, and no answer repeats one", async () => {
  await using purser = await openTestPurser();
  await makeKey(purser, ["admin"]);
  const send = openBrowserOf(purser);
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) {
    const key = (await makeKey(purser, ["read"])).key.replace(/_[^_]*$/, "_x");
    const { status, body } = await send("POST", "/ui/session", { body: { api_key: `${key}${i}` } });
    statuses.push(status);
    assert.ok(!JSON.stringify(body).includes(key.slice(4, 20)));
  }
  assert.deepEqual(statuses.slice(0, 10), Array(10).fill(401));
  assert.equal(statuses.at(-1), 429);
  const malformed = await send("POST", "/ui/session", { body: { key: "x" } });
  assert.equal(malformed.status, 400);
  assert.equal((await send("POST", "/ui/session", { body: { code: "0".repeat(64) } })).status, 429);
});
