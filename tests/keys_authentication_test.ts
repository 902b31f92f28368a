import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { MINUTE_MS } from "../src/kernel/clock.ts";
import { writeKeyText } from "../src/keys/key_text.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** Authentication of requests to a server or an edge, with a key and without. */

Deno.test("without a valid key the response is 401 with the reason and the way to authenticate", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const { key, keyId } = await makeKey(purser, ["admin"]);
  const unknown = writeKeyText("key_unknown", "0".repeat(32));
  const wrong = writeKeyText(keyId, "0".repeat(32));
  const [none, form, foreign, damaged, notKnown] = [
    /^Cannot answer without an API key: send one as Authorization: Bearer psr_…$/,
    /^Cannot read the Authorization header/,
    /: it is not one of Purser's/,
    /: it is cut off or mistyped/,
    /^Cannot use the API key: it is not known here$/,
  ];
  const cases: [string | undefined, RegExp][] = [
    [undefined, none],
    ["", form],
    ["Bearer", form],
    [`Basic ${key}`, form],
    [key, form],
    [`Bearer ${key} ${key}`, form],
    [`Bearer ${key}, Bearer ${key}`, form],
    [`Bearer "${key}"`, form],
    ["Bearer sk-ant-api03-0123456789", foreign],
    [`Bearer ${key.toUpperCase()}`, foreign],
    [`Bearer ${key.slice(0, -1)}`, damaged],
    [`Bearer ${key}0`, damaged],
    [`Bearer ${unknown}`, notKnown],
    [`Bearer ${wrong}`, notKnown],
  ];
  for (const [authorization, detail] of cases) {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const where = String(authorization);
    for (const from of ["192.0.2.1", "127.0.0.1", null]) {
      const answer = await client.send("GET", "/agents", { headers, from });
      assert.equal(answer.status, 401, where);
      assert.match(answer.body.detail, detail, where);
      assert.equal(answer.headers.get("www-authenticate"), "Bearer");
      assert.equal(answer.body.code, "unauthorized");
    }
  }
  for (const authorization of [`Bearer ${key}`, `bearer  ${key}`, `BEARER ${key} `]) {
    assert.equal(
      (await client.send("GET", "/agents", { headers: { authorization } })).status,
      200,
      authorization,
    );
  }
});

Deno.test("an unknown id and a wrong secret cost the same work and get the same response", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const { keyId } = await makeKey(purser, ["admin"]);
  const reads: string[] = [];
  const { read, write } = purser.core.store;
  purser.core.store.read = (statement) => {
    reads.push(statement.sql);
    return read.call(purser.core.store, statement);
  };
  purser.core.store.write = (statements) => {
    reads.push("write");
    return write.call(purser.core.store, statements);
  };
  const outcomes = [];
  for (const id of [keyId, "key_unknown", keyId, "key_unknown"]) {
    reads.length = 0;
    const { status, body } = await client.send("GET", "/agents", { key: writeKeyText(id, "z".repeat(32)) });
    outcomes.push(JSON.stringify([status, body, reads]));
  }
  assert.equal(new Set(outcomes).size, 1, outcomes.join("\n"));
  assert.equal(JSON.parse(outcomes[0]!)[2].length, 1);
});

Deno.test("no malformed key is ever valid, and none is an internal error", async () => {
  await using purser = await openTestPurser({
    config: { requestLimits: { failed_keys_per_address: 1_000 } },
  });
  const client = openHttpClient(purser);
  const { key, keyId } = await makeKey(purser, ["admin"]);
  const NearKey = fc.tuple(fc.nat(key.length - 1), fc.nat(3), fc.stringMatching(/^[\w.~+/=-]{0,3}$/))
    .map(([at, cut, put]) => key.slice(0, at) + put + key.slice(at + cut)).filter((text) => text !== key);
  const OtherSecret = fc.stringMatching(/^[0-9a-hjkmnp-tv-z]{32}$/).map((secret) =>
    writeKeyText(keyId, secret)
  );
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(NearKey, OtherSecret, fc.stringMatching(/^[\x21-\x7e]{0,40}$/)),
      async (text) => {
        assert.equal((await client.send("GET", "/agents", { key: text })).status, 401, text);
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("before the first key only this machine has access, afterwards every client with a key", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const local = { from: "127.0.0.1", headers: { host: "localhost:8420" } };
  for (const path of ["/agents", "/healthz", "/docs"]) {
    assert.equal((await client.send("GET", path, local)).status, 200, path);
    for (const from of ["192.0.2.1", "::ffff:192.0.2.1", null]) {
      const { status, body } = await client.send("GET", path, { ...local, from });
      assert.equal(status, 403, path);
      assert.match(
        body.detail,
        /there is no API key yet; make one with purser keys add NAME --scope admin$/,
      );
    }
    const evil = { ...local, headers: { host: "evil.example" } };
    assert.equal((await client.send("GET", path, evil)).status, 403, path);
  }
  for (const name of ["forwarded", "x-forwarded-for"]) {
    const proxied = { from: "127.0.0.1", headers: { ...local.headers, [name]: "for=127.0.0.1" } };
    const { status, body } = await client.send("GET", "/agents", proxied);
    assert.equal(status, 403, name);
    assert.match(body.detail, /^Cannot answer through a proxy, .* make one with purser keys add NAME/);
  }
  // Over HTTP from this machine, as its user may.
  const made = await client.send("POST", "/keys", { ...local, body: { name: "first", scopes: ["admin"] } });
  assert.equal(made.status, 201);
  const { key } = made.body;
  assert.equal((await client.send("GET", "/agents", local)).status, 401);
  for (const from of ["127.0.0.1", "::1", "192.0.2.1", null]) {
    const headers = { "x-forwarded-for": "192.0.2.1" };
    assert.equal((await client.send("GET", "/agents", { from, key, headers })).status, 200, String(from));
    assert.equal((await client.send("GET", "/healthz", { from })).status, 200, String(from));
  }
});

Deno.test("within the process no key is needed, even if keys exist", async () => {
  await using purser = await openTestPurser();
  await makeKey(purser, ["read"]);
  assert.equal((await purser.api("PUT", "/agents/a", { model: "demo:echo" })).status, 201);
  assert.equal((await purser.app.fetch(new Request("http://localhost/keys"))).status, 200);
});

Deno.test("liveness is reported without the database, also when keys are required", async () => {
  const purser = await openTestPurser();
  const client = openHttpClient(purser);
  const { key } = await makeKey(purser, ["admin"]);
  await client.send("GET", "/agents", { key });
  await Promise.all(purser.core.keyCache.writing);
  await purser.core.close();
  assert.equal((await client.send("GET", "/healthz")).status, 200);
  assert.equal((await client.send("GET", "/readyz")).status, 503);
  assert.equal((await client.send("GET", "/agents", { key })).status, 503);
});

Deno.test("the event stream ends when its key is revoked or expires, and sends no later event", async () => {
  for (const end of ["revoked", "expired"] as const) {
    await using purser = await openTestPurser();
    const client = openHttpClient(purser);
    const { key, keyId } = await makeKey(purser, ["read"], { expires_at: "2026-11-01T13:00:00.000Z" });
    const stream = await client.fetch("GET", "/events", { key });
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    await purser.run({}, "before");
    let text = "";
    while (!text.includes("run.completed")) text += (await reader.read()).value!;
    if (end === "revoked") await purser.api("DELETE", `/keys/${keyId}`);
    else purser.clock.advance(60 * MINUTE_MS);
    await purser.run({}, "secret of afterwards");
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value;
    assert.ok(!rest.includes("secret of afterwards"), rest);
  }
});

Deno.test("the event stream of a client without a key ends with the first key, and sends no later event", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  const open = async (stream: Promise<Response>) => {
    const reader = (await stream).body!.pipeThrough(new TextDecoderStream()).getReader();
    return {
      async readUntil(wanted?: string): Promise<string> {
        let text = "";
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
          text += part.value;
          if (wanted !== undefined && text.includes(wanted)) break;
        }
        return text;
      },
      cancel: () => reader.cancel(),
    };
  };
  const local = { from: "127.0.0.1", headers: { host: "localhost:8420" } };
  const keyless = await open(client.fetch("GET", "/events", local));
  const within = await open(Promise.resolve(purser.app.request("/events")));
  await purser.run({}, "before");
  await keyless.readUntil("run.completed");
  await makeKey(purser, ["read"]);
  await purser.run({}, "secret of afterwards");
  const rest = await keyless.readUntil();
  assert.ok(!rest.includes("secret of afterwards"), rest);
  // A client with direct access to the database continues.
  await within.readUntil("secret of afterwards");
  await within.cancel();
});
