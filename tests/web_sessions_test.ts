import assert from "node:assert/strict";
import { withAccessCheck } from "../src/http/mod.ts";
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
    const text = await response.text();
    return {
      status: response.status,
      cookies: response.headers.getSetCookie(),
      body: text === "" ? undefined : JSON.parse(text),
    };
  };
}

async function signIn(purser: TestPurser, scopes: ("admin" | "read" | "call")[] = ["admin"], more = {}) {
  const { key, keyId: key_id } = await makeKey(purser, scopes, more);
  const send = openBrowserOf(purser);
  const { status, cookies } = await send("POST", "/ui/session", { body: { api_key: key } });
  assert.equal(status, 200);
  const cookie = cookies[0]!.split(";")[0]!;
  return { key, key_id, cookie, send };
}

Deno.test("without a key there is nothing to sign in to", async () => {
  await using purser = await openTestPurser();
  const send = openBrowserOf(purser);
  assert.equal((await send("GET", "/ui/session")).body.access, "keyless");
  const { status, body } = await send("POST", "/ui/session", { body: { api_key: "psr_x" } });
  assert.deepEqual([status, body.code], [409, "conflict"]);
});

Deno.test("the cookie of a session has no key, and over TLS it is bound to its host", async () => {
  await using purser = await openTestPurser();
  const { key } = await makeKey(purser, ["admin"]);
  const plain = openBrowserOf(purser);
  const [cookie] = (await plain("POST", "/ui/session", { body: { api_key: key } })).cookies;
  assert.match(cookie!, /^purser=[0-9a-f]{64}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/);
  // A proxy ends TLS: the server sees plain HTTP, and the browser names the origin of the page.
  const headers = { origin: "https://purser.example.com", host: "purser.example.com" };
  const [secure] = (await plain("POST", "/ui/session", { body: { api_key: key }, headers })).cookies;
  assert.match(
    secure!,
    /^__Host-purser=[0-9a-f]{64}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
  );
});

Deno.test("over TLS a cookie that is not bound to its host is no session", async () => {
  await using purser = await openTestPurser();
  const { cookie } = await signIn(purser);
  const host = "purser.example.com";
  const headers = { ...OWN, host };
  const accessOf = async (base: string, sent: string, more: Headers) =>
    (await openBrowserOf(purser, base, {})("GET", "/ui/session", { headers: { cookie: sent, ...more } })).body
      .access;
  const overTls: [base: string, headers: Headers][] = [
    [`https://${host}`, headers],
    // A proxy ends TLS, and names the scheme, or does not.
    ["http://127.0.0.1:8420", { ...headers, "x-forwarded-proto": "https" }],
    ["http://127.0.0.1:8420", { ...OWN, "x-forwarded-proto": "https, http" }],
    ["http://127.0.0.1:8420", { ...OWN, forwarded: 'for=192.0.2.1;proto="https";host=x, for=10.0.0.1' }],
    ["http://127.0.0.1:8420", headers],
    ["http://127.0.0.1:8420", { ...headers, origin: `https://${host}` }],
  ];
  for (const [base, more] of overTls) {
    const what = JSON.stringify([base, more]);
    assert.equal(await accessOf(base, cookie, more), "signed_out", what);
    assert.equal(await accessOf(base, `__Host-${cookie}`, more), "signed_in", what);
    const planted = `purser=${"0".repeat(64)}; __Host-${cookie}`;
    assert.equal(await accessOf(base, planted, more), "signed_in", what);
  }
  const plain: [base: string, headers: Headers][] = [
    ["http://127.0.0.1:8420", OWN],
    ["http://localhost:8420", OWN],
    ["http://[::1]:8420", OWN],
    [`http://${host}`, { "purser-dashboard": "1" }],
    [`http://${host}`, { "purser-dashboard": "1", "x-forwarded-proto": "http" }],
    [`http://${host}`, { origin: `http://${host}` }],
  ];
  for (const [base, more] of plain) {
    assert.equal(await accessOf(base, cookie, more), "signed_in", JSON.stringify([base, more]));
  }
});

Deno.test("a session has the permissions of its key, and no others", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", { model: "demo:echo" });
  const { cookie, key_id, send } = await signIn(purser, ["read"], { agent_id: "a" });
  const headers = { cookie };
  const { body } = await send("GET", "/ui/session", { headers });
  assert.deepEqual(body, {
    access: "signed_in",
    key_id,
    name: body.name,
    scopes: ["read"],
    agent_id: "a",
    expires_at: new Date(purser.clock.now() + 7 * DAY_MS).toISOString(),
  });
  assert.equal((await send("GET", "/agents", { headers })).status, 200);
  assert.equal((await send("GET", "/keys", { headers })).status, 403);
  assert.equal((await send("DELETE", "/agents/a", { headers })).status, 403);
});

Deno.test("the key of a request counts before its cookie, and the gateway knows no cookie", async () => {
  await using purser = await openTestPurser();
  const { cookie, send } = await signIn(purser);
  const headers = { cookie, authorization: "Bearer psr_wrong" };
  assert.equal((await send("GET", "/agents", { headers })).status, 401);
  const gateway = await send("POST", "/openai/v1/chat/completions", { headers: { cookie }, body: {} });
  assert.equal(gateway.status, 401);
});

Deno.test("a cookie counts only in requests of the dashboard itself", async () => {
  await using purser = await openTestPurser();
  const { cookie } = await signIn(purser);
  const statusOf = async (method: string, headers: Headers) => {
    const send = openBrowserOf(purser, "http://books.example.com:8420", {});
    return (await send(method, method === "GET" ? "/agents" : "/agents/none", {
      headers: { cookie: `${cookie}; __Host-${cookie}`, ...headers },
    }))
      .status;
  };
  const own = "http://books.example.com:8420";
  const foreign = "http://books.example.com:3000";
  for (const method of ["GET", "DELETE"]) {
    const done = method === "GET" ? 200 : 404;
    assert.equal(await statusOf(method, { "sec-fetch-site": "same-origin" }), done);
    for (const site of ["same-site", "cross-site", "none"]) {
      assert.equal(await statusOf(method, { "sec-fetch-site": site, origin: own }), 403, `${method} ${site}`);
    }
    // Over plain HTTP to another machine, browsers leave the header out.
    assert.equal(await statusOf(method, { origin: own }), done);
    assert.equal(await statusOf(method, { origin: foreign, "purser-dashboard": "1" }), 403);
    assert.equal(await statusOf(method, { origin: "null" }), 403);
  }
  assert.equal(await statusOf("GET", { "purser-dashboard": "1" }), 200);
  assert.equal(await statusOf("GET", {}), 403);
});

Deno.test("a session ends with its key, after 12 hours without use, and after 7 days", async () => {
  await using purser = await openTestPurser();
  const { clock } = purser;
  const first = await signIn(purser);
  const read = async ({ cookie, send }: typeof first) =>
    (await send("GET", "/agents", { headers: { cookie } })).status;
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
  assert.equal(
    (await second.send("GET", "/ui/session", { headers: { cookie: second.cookie } })).body.access,
    "signed_out",
  );
  const third = await signIn(purser);
  await purser.api("DELETE", `/keys/${third.key_id}`);
  assert.equal(await read(third), 401);
  const { rows } = await purser.core.store.read({ sql: "SELECT count(*) FROM web_sessions" });
  assert.equal(Number(rows[0]![0]), 0, "and no row stays");
});

Deno.test("a key's list counts its sessions, of which it has 20 at most", async () => {
  await using purser = await openTestPurser();
  const { key, key_id, cookie, send } = await signIn(purser);
  const count = async () => (await purser.api("GET", `/keys/${key_id}`)).body.web_sessions;
  assert.equal(await count(), 1);
  for (let i = 0; i < 20; i++) {
    purser.clock.advance(1);
    await send("POST", "/ui/session", { body: { api_key: key } });
  }
  assert.equal(await count(), 20);
  assert.equal((await purser.api("GET", "/keys")).body[0].web_sessions, 20);
  assert.equal((await send("GET", "/agents", { headers: { cookie } })).status, 401, "the oldest has ended");
  for (let i = 0; i < 3; i++) {
    purser.clock.advance(1);
    const headers = { authorization: `Bearer ${key}` };
    const { body } = await send("POST", "/ui/session/codes", { headers });
    await send("POST", "/ui/session", { body: { code: body.code } });
  }
  assert.equal(await count(), 20, "also by codes");
});

Deno.test("signing out ends the session, and removes the cookie", async () => {
  await using purser = await openTestPurser();
  const { cookie, key_id, send } = await signIn(purser);
  const { status, cookies } = await send("DELETE", "/ui/session", { headers: { cookie } });
  assert.equal(status, 204);
  assert.match(cookies[0]!, /^purser=; Path=\/; Max-Age=0/);
  assert.equal((await send("GET", "/agents", { headers: { cookie } })).status, 401);
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
  const redeem = (body: object, cookie = own.cookie) =>
    own.send("POST", "/ui/session", { body, headers: { cookie } });

  assert.equal((await redeem({ code: await codeOf(own.key) })).status, 200, "its own");
  const code = await codeOf(other.key);
  const { status, body, cookies } = await redeem({ code });
  assert.deepEqual([status, body.code, cookies], [409, "conflict", []]);
  assert.deepEqual(body.details, { key_id: other.keyId, name: "Bob" });
  const switched = await redeem({ code, replace: true });
  assert.deepEqual([switched.status, switched.body.key_id], [200, other.keyId]);
  assert.equal((await redeem({ code })).status, 401, "it works once");

  const ended = "purser=" + "0".repeat(64);
  assert.equal((await redeem({ code: await codeOf(other.key) }, ended)).status, 200, "without a session");
});

Deno.test("a session makes no code, by which it could be followed by others for ever", async () => {
  await using purser = await openTestPurser();
  const { cookie, send } = await signIn(purser);
  const { status, body } = await send("POST", "/ui/session/codes", { headers: { cookie } });
  assert.deepEqual([status, body.code], [403, "forbidden"]);
});

Deno.test("no page of another origin signs a browser in, also where browsers name the origin only", async () => {
  await using purser = await openTestPurser();
  const { key } = await makeKey(purser, ["read"]);
  const own = "http://books.example.com:8420";
  const send = openBrowserOf(purser, own, {});
  const statusOf = async (origin: string) => {
    const { status, cookies } = await send("POST", "/ui/session", {
      body: { api_key: key },
      headers: { origin },
    });
    assert.equal(cookies.length, status === 200 ? 1 : 0);
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
