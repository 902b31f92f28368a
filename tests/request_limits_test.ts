import assert from "node:assert/strict";
import { EVENT } from "./harness/bodies.ts";
import { fakeModel } from "./harness/fake_model.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { snapshotOf } from "./harness/snapshots.ts";
import { readSse } from "./harness/sse_reader.ts";
import { openTestPurser, type TestOptions } from "./harness/test_purser.ts";
import { REQUEST_LIMITS, type RequestLimitSettings } from "../src/contract/limits.ts";
import { newSecret, writeKeyText } from "../src/keys/key_text.ts";

/** The limits of a server on its clients, over whole requests. */

async function openLimited(requestLimits: RequestLimitSettings, options: TestOptions = {}) {
  const purser = await openTestPurser({ ...options, config: { ...options.config, requestLimits } });
  const first = await makeKey(purser, ["admin"]);
  const second = await makeKey(purser, ["admin"]);
  return { purser, client: openHttpClient(purser), first, second };
}

const retryAfter = (headers: Headers) => Number(headers.get("retry-after"));

Deno.test("a key has a number of requests a minute: then 429 until Retry-After, with the draft's headers", async () => {
  const { purser, client, first, second } = await openLimited({ requests_per_minute_per_key: 3 });
  await using _ = purser;
  const ask = (key: string) => client.send("GET", "/agents", { key });
  for (const left of [2, 1, 0]) {
    const { status, headers } = await ask(first.key);
    assert.equal(status, 200);
    assert.equal(headers.get("ratelimit-policy"), '"requests_per_minute_per_key";q=3;w=60');
    assert.equal(headers.get("ratelimit"), `"requests_per_minute_per_key";r=${left};t=${(3 - left) * 20}`);
  }
  const refused = await ask(first.key);
  assert.deepEqual([refused.status, refused.body.code, retryAfter(refused.headers)], [
    429,
    "rate_limited",
    20,
  ]);
  assert.deepEqual(refused.body.details, { limit: "requests_per_minute_per_key", retry_after_seconds: 20 });
  assert.equal(refused.headers.get("ratelimit"), '"requests_per_minute_per_key";r=0;t=20');
  assert.match(
    refused.body.detail,
    /^Cannot answer now: this API key has used its 3 requests a minute .* try again in 20 s$/,
  );
  assert.equal((await ask(second.key)).status, 200, "another key has its own");
  assert.equal((await client.send("GET", "/healthz")).headers.get("ratelimit"), null, "no key, no rate");
  purser.clock.advance(19_999);
  assert.equal((await ask(first.key)).status, 429);
  purser.clock.advance(1);
  assert.equal((await ask(first.key)).status, 200);
  assert.deepEqual(purser.logs.filter(({ level }) => level === "warn").map(({ fields }) => fields), [
    { limit: "requests_per_minute_per_key", of: first.keyId },
  ]);
});

Deno.test("an address has a number of requests a minute, with any key and with none; a /64 is one address", async () => {
  const { purser, client, first, second } = await openLimited({ requests_per_minute_per_address: 2 });
  await using _ = purser;
  const ask = async (from: string, key?: string) =>
    (await client.send("GET", "/agents", { key, from })).status;
  assert.deepEqual([await ask("192.0.2.7", first.key), await ask("192.0.2.7")], [200, 401]);
  assert.deepEqual([await ask("192.0.2.7", second.key), await ask("::ffff:192.0.2.7", first.key)], [
    429,
    429,
  ]);
  assert.equal(await ask("192.0.2.8", first.key), 200);
  assert.equal((await client.send("GET", "/healthz", { from: "192.0.2.7" })).status, 429);
  const v6 = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1"];
  const statuses = [];
  for (const from of v6) statuses.push(await ask(from, first.key));
  assert.deepEqual(statuses, [200, 200, 429, 200]);
});

Deno.test("a key has a number of body bytes a minute, declared or not; a body may overdraw it once", async () => {
  const { purser, client, first, second } = await openLimited({ body_bytes_per_minute_per_key: 60_000 });
  await using _ = purser;
  const report = (key: string, size: number, isChunked: boolean) => {
    const body = JSON.stringify([EVENT]).padEnd(size);
    return client.raw("POST", "/costs/events", {
      key,
      headers: { "content-type": "application/json", ...!isChunked && { "content-length": String(size) } },
      rawBody: isChunked ? new Blob([body]).stream() : body,
    });
  };
  for (const [isChunked, { key }] of [[false, first], [true, second]] as const) {
    assert.equal((await report(key, 50_000, isChunked)).status, 201);
    assert.equal((await report(key, 700_000, isChunked)).status, 201, "it overdraws");
    const refused = await report(key, 500, isChunked);
    const { code, details } = await refused.json();
    assert.deepEqual([refused.status, code, details.limit], [
      429,
      "rate_limited",
      "body_bytes_per_minute_per_key",
    ]);
    assert.equal(retryAfter(refused.headers), 691);
    assert.match(refused.headers.get("ratelimit-policy")!, /;q=60000;w=60;qu="content-bytes"$/);
    assert.equal(
      (await client.send("GET", "/agents", { key })).status,
      200,
      "without a body nothing is refused",
    );
    const restore = await client.send("POST", "/agents/snapshot/restore", { key, body: snapshotOf({}) });
    assert.equal(restore.status, 429);
  }
  purser.clock.advance(691_000);
  assert.equal((await report(first.key, 500, false)).status, 201);
});

/** A model whose calls hang until `go` is called. */
function hangingModel() {
  const gate = Promise.withResolvers<void>();
  const { model, calls } = fakeModel(async () => {
    await gate.promise;
    return { inputTokens: 1, outputTokens: 1 };
  });
  return { model, calls, go: gate.resolve };
}

Deno.test("hanging runs are limited: 429 for the key that has too many, 503 where all have, none once they end", async () => {
  const { model, calls, go } = hangingModel();
  const { purser, client, first, second } = await openLimited({ runs: 5, runs_per_key: 3 }, {
    models: { "local:priced": model },
  });
  await using _ = purser;
  await client.send("PUT", "/agents/a", { key: first.key, body: { model: "local:priced" } });
  const run = (key: string) => client.send("POST", "/agents/a/runs", { key, body: { input: "Hi" } });
  const hanging = [...Array(3).fill(first.key), ...Array(2).fill(second.key)].map(run);
  while (calls() < 5) await new Promise((resolve) => setTimeout(resolve));
  const ofKey = await run(first.key);
  assert.deepEqual([ofKey.status, ofKey.body.details.limit, retryAfter(ofKey.headers)], [
    429,
    "runs_per_key",
    2,
  ]);
  const ofAll = await run(second.key);
  assert.deepEqual([ofAll.status, ofAll.body.code, ofAll.body.details.limit, retryAfter(ofAll.headers)], [
    503,
    "unavailable",
    "runs",
    2,
  ]);
  assert.equal(
    (await client.send("GET", "/agents", { key: first.key })).status,
    200,
    "other requests continue",
  );
  assert.equal((await purser.app.request("/agents/a", { method: "GET" })).status, 200);
  go();
  assert.ok((await Promise.all(hanging)).every(({ status }) => status === 200));
  for (const { key } of [first, second, first, second]) assert.equal((await run(key)).status, 200);
});

Deno.test("in this process nothing is limited", async () => {
  const { model, calls, go } = hangingModel();
  const { purser } = await openLimited({ runs: 1, requests_per_minute_per_address: 1, streams: 1 }, {
    models: { "local:priced": model },
  });
  await using _ = purser;
  await purser.api("PUT", "/agents/a", { model: "local:priced" });
  const runs = Array.from({ length: 3 }, () => purser.api("POST", "/agents/a/runs", { input: "Hi" }));
  while (calls() < 3) await new Promise((resolve) => setTimeout(resolve));
  go();
  assert.ok((await Promise.all(runs)).every(({ status }) => status === 200));
});

Deno.test("open streams are limited, of the log and of runs, and count until they end", async () => {
  const { purser, client, first, second } = await openLimited({ streams: 3, streams_per_key: 2 });
  await using _ = purser;
  await client.send("PUT", "/agents/a", { key: first.key, body: { model: "demo:echo" } });
  const open = (key: string) => client.fetch("GET", "/events?after=0", { key });
  const [a, b] = [await open(first.key), await client.fetch("GET", "/live", { key: first.key })];
  const refused = await client.send("GET", "/events?after=0", { key: first.key });
  assert.deepEqual([refused.status, refused.body.details.limit], [429, "streams_per_key"]);
  assert.equal((await client.raw("HEAD", "/events", { key: first.key })).status, 200, "HEAD opens no stream");
  const c = await open(second.key);
  assert.equal((await open(second.key)).status, 503);
  const streamed = (key: string) =>
    client.fetch("POST", "/agents/a/runs", {
      key,
      body: { input: "Hi" },
      headers: { accept: "text/event-stream" },
    });
  assert.equal((await streamed(second.key)).status, 503);
  for (const response of [a, c]) await response.body!.cancel();
  for (let round = 0; round < 4; round++) {
    const response = await streamed(second.key);
    assert.equal(response.status, 200, `round ${round}`);
    assert.equal((await readSse(response).rest()).at(-1)!.event, "result");
  }
  await b.body!.cancel();
});

Deno.test("sessions of runs in progress are limited in bytes: each is in memory several times until its run ends", async () => {
  const { model, calls, go } = hangingModel();
  const { purser, client, first, second } = await openLimited({
    context_bytes: 25_000,
    context_bytes_per_key: 15_000,
  }, { models: { "local:priced": model }, config: { maxContextBytes: 11_000 } });
  await using _ = purser;
  const agent = { model: "local:priced", system_prompt: "x".repeat(10_000) };
  await client.send("PUT", "/agents/a", { key: first.key, body: agent });
  const run = (key: string) => client.send("POST", "/agents/a/runs", { key, body: { input: "Hi" } });
  const hanging = [first.key, second.key].map(run);
  while (calls() < 2) await new Promise((resolve) => setTimeout(resolve));
  const limitOf = async (key: string) => {
    const { status, body } = await run(key);
    return [status, body.details.limit];
  };
  assert.deepEqual(await limitOf(first.key), [429, "context_bytes_per_key"]);
  const third = await makeKey(purser, ["admin"]);
  assert.deepEqual(await limitOf(third.key), [503, "context_bytes"]);
  assert.equal(calls(), 2, "nothing else was sent");
  assert.equal((await purser.api("GET", "/runs")).body.length, 2, "and no other run has begun");
  go();
  for (const { status } of await Promise.all(hanging)) assert.equal(status, 200);
  assert.equal((await run(first.key)).status, 200);
});

Deno.test("bodies that are read at the same time are limited in bytes, also those without a declared length", async () => {
  const { purser, client, first, second } = await openLimited({
    body_bytes: 400_000,
    body_bytes_per_key: 300_000,
  }, {
    config: { maxBodyBytes: 75_000 },
  });
  await using _ = purser;
  const send = (key: string) => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const answer = client.raw("POST", "/costs/events", {
      key,
      headers: { "content-type": "application/json" },
      rawBody: readable,
    });
    return { writer, answer };
  };
  type Five = [Sent, Sent, Sent, Sent, Sent];
  type Sent = ReturnType<typeof send>;
  const bytes = new TextEncoder().encode(JSON.stringify([EVENT]).padEnd(60_000));
  const [a, b, c, d, e] = [first, first, first, first, second].map(({ key }) => send(key)) as Five;
  for (const { writer } of [a, b, c, d, e]) await writer.write(bytes);
  const refused = send(first.key);
  refused.writer.write(bytes).catch(() => {}); // it is refused while it is read
  const ofKey = await refused.answer;
  assert.deepEqual([ofKey.status, (await ofKey.json()).details.limit], [429, "body_bytes_per_key"]);
  const declared = await client.raw("POST", "/costs/events", {
    key: second.key,
    headers: { "content-type": "application/json", "content-length": "60000" },
    rawBody: bytes,
  });
  assert.deepEqual([declared.status, (await declared.json()).details.limit], [503, "body_bytes"]);
  await a.writer.close();
  assert.equal((await a.answer).status, 429, "there is no room for what is made of it");
  for (const { writer, answer } of [b, d]) {
    await writer.abort();
    assert.equal((await answer).status, 400);
  }
  for (const { writer, answer } of [c, e]) {
    await writer.close();
    assert.equal((await answer).status, 201);
  }
  const later = send(first.key);
  await later.writer.write(bytes);
  await later.writer.close();
  assert.equal((await later.answer).status, 201);
});

Deno.test("bodies of which little has arrived leave room for others, whatever length they declare", async () => {
  const { purser, client, first, second } = await openLimited({
    body_bytes: 320_000,
    body_bytes_per_key: 320_000,
  }, {
    config: { maxBodyBytes: 60_000 },
  });
  await using _ = purser;
  const bytes = new TextEncoder().encode(JSON.stringify([EVENT]).padEnd(60_000));
  const slow = Array.from({ length: 4 }, () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const answer = client.raw("POST", "/costs/events", {
      key: first.key,
      headers: { "content-type": "application/json", "content-length": "60000" },
      rawBody: readable,
    });
    return { writer, answer };
  });
  for (const { writer } of slow) await writer.write(bytes.subarray(0, 1_000));
  const report = (key: string) =>
    client.raw("POST", "/costs/events", {
      key,
      headers: { "content-type": "application/json", "content-length": "60000" },
      rawBody: bytes,
    });
  for (const { key } of [first, second]) assert.equal((await report(key)).status, 201);
  for (const { writer, answer } of slow) {
    await writer.write(bytes.subarray(1_000));
    await writer.close();
    assert.equal((await answer).status, 201);
  }
});

Deno.test("wrong keys are refused without a look into the database, and keys that were valid still pass", async () => {
  const { purser, client, first, second } = await openLimited({});
  await using _ = purser;
  assert.equal((await client.send("GET", "/agents", { key: first.key })).status, 200);
  let reads = 0;
  const { read } = purser.core.store;
  purser.core.store.read = (statement) => {
    reads++;
    return read.call(purser.core.store, statement);
  };
  const statuses: Record<number, number> = {};
  const guess = async (i: number, from = "192.0.2.1") => {
    const key = writeKeyText(`key_${String(i).padStart(26, "0")}`, newSecret());
    const { status, headers } = await client.raw("GET", "/agents", { key, from });
    if (status === 429) assert.ok(retryAfter(headers) >= 1);
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  for (let i = 0; i < 2_000; i++) await guess(i);
  assert.deepEqual(purser.logs.filter(({ level }) => level === "warn").map(({ fields }) => fields), [
    { limit: "failed_keys_per_address", of: "192.0.2.1" },
  ]);
  assert.deepEqual(statuses, { 401: 11, 429: 1_989 });
  assert.equal(reads, 11);
  assert.equal((await client.send("GET", "/agents", { key: first.key })).status, 200, "it was valid before");
  assert.equal((await client.send("GET", "/agents", { key: second.key })).status, 429, "it is not known yet");
  assert.equal((await client.send("GET", "/agents", { key: second.key, from: "192.0.2.2" })).status, 200);
  assert.equal((await client.send("GET", "/agents", { key: second.key })).status, 200, "now it is known");
  await purser.api("DELETE", `/keys/${second.keyId}`);
  for (let i = 0; i < 20; i++) {
    const { status, body } = await client.send("GET", "/agents", { key: second.key });
    assert.deepEqual([status, body.detail], [401, "Cannot use the API key: it was revoked"]);
  }
  assert.equal((await client.send("GET", "/agents", { key: first.key })).status, 200);
  for (const wrong of ["sk-not-of-purser", first.key.slice(0, -1)]) {
    assert.equal((await client.send("GET", "/agents", { key: wrong })).status, 429);
  }
});

Deno.test("without settings only what protects the process is limited, far above what honest clients do", () => {
  const unset = Object.entries(REQUEST_LIMITS).filter(([, limit]) => limit === null).map(([name]) => name);
  assert.deepEqual(unset, [
    "requests_per_minute_per_key",
    "requests_per_minute_per_address",
    "body_bytes_per_minute_per_key",
    "body_bytes_per_minute_per_address",
    "runs_per_address",
    "calls_per_address",
    "streams_per_address",
  ]);
  for (const kind of ["runs", "calls", "streams", "body_bytes"] as const) {
    assert.ok(
      REQUEST_LIMITS[kind] >= 2 * REQUEST_LIMITS[`${kind}_per_key`],
      `one key can't use up all ${kind}`,
    );
  }
});
