import assert from "node:assert/strict";
import { FIXTURE_AT } from "./fixtures/providers/mod.ts";
import { type HttpClient, makeKey, openHttpClient } from "./harness/http_client.ts";
import { decodeAnswer, decodeFailure, encodeOtlp } from "./harness/otlp_messages.ts";
import { callSpan, spansOf } from "./harness/otlp_requests.ts";
import { fault } from "./harness/sqlite_faults.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "./harness/test_purser.ts";

/** `POST /v1/traces`, `/v1/logs` and `/v1/metrics`: the answers of the protocol, and what is booked. */

const PROTOBUF = { "content-type": "application/x-protobuf" };
const JSON_TYPE = { "content-type": "application/json" };

const DISK_ERROR = Object.assign(new Error("disk I/O error"), { code: "ERR_SQLITE_ERROR" });

interface Service extends AsyncDisposable {
  purser: TestPurser;
  client: HttpClient;
  key: string;
  /** Sends a request by a key with the scope `report`, unless another one is given. */
  post(path: string, body: BodyInit, headers?: Record<string, string>, key?: string): Promise<Response>;
  calls(): Promise<number>;
}

async function open(options: TestOptions = {}): Promise<Service> {
  const purser = await openTestPurser(options);
  const client = openHttpClient(purser);
  const { key } = await makeKey(purser, ["report"]);
  return {
    purser,
    client,
    key,
    post: (path, rawBody, headers = PROTOBUF, by = key) =>
      client.raw("POST", path, { key: by, rawBody, headers }),
    calls: async () => (await purser.api("GET", "/costs/total")).body.model_calls,
    [Symbol.asyncDispose]: () => purser[Symbol.asyncDispose](),
  };
}

const bytesOf = async (response: Response) => new Uint8Array(await response.arrayBuffer());

const gzip = async (bytes: Uint8Array<ArrayBuffer>) =>
  new Uint8Array(
    await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
  );

Deno.test("a span that is a call is booked once, as protobuf, as JSON, compressed and sent again", async () => {
  await using service = await open();
  const request = spansOf([callSpan("1"), callSpan("2")]);
  const bytes = encodeOtlp("traces", request);
  const text = JSON.stringify(request);
  for (
    const [body, headers] of [
      [bytes, PROTOBUF],
      [await gzip(bytes), { ...PROTOBUF, "content-encoding": "gzip" }],
      [text, JSON_TYPE],
      [await gzip(new TextEncoder().encode(text)), { ...JSON_TYPE, "content-encoding": "gzip" }],
    ] as const
  ) {
    const response = await service.post("/v1/traces", body, headers);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), headers["content-type"]);
    assert.equal(await response.text(), headers["content-type"] === "application/json" ? "{}" : "");
    assert.equal(await service.calls(), 2);
  }
});

Deno.test("records that can't be are rejected, with the reason, and the others are booked", async () => {
  await using service = await open();
  const ahead = callSpan("2", { at: FIXTURE_AT + 3_600_000 });
  const request = spansOf([callSpan("1"), ahead]);
  const first = await service.post("/v1/traces", encodeOtlp("traces", request));
  assert.equal(first.status, 200);
  const { rejected, message } = decodeAnswer(await bytesOf(first));
  assert.equal(rejected, 1);
  assert.match(message, /more than five minutes ahead/);
  const second = await service.post("/v1/traces", JSON.stringify(request), JSON_TYPE);
  const { partialSuccess } = await second.json();
  assert.equal(partialSuccess.rejectedSpans, "1");
  assert.equal(partialSuccess.errorMessage, message);
  assert.equal(await service.calls(), 1);
});

Deno.test("what can't be decoded is a 400 with a Status in the encoding of the request", async () => {
  await using service = await open();
  const whole = encodeOtlp("traces", spansOf([callSpan("1")]));
  const cut = await service.post("/v1/traces", whole.slice(0, -3));
  assert.equal(cut.status, 400);
  assert.equal(cut.headers.get("content-type"), "application/x-protobuf");
  const { code, message } = decodeFailure(await bytesOf(cut));
  assert.equal(code, 3);
  assert.match(message, /^Cannot read the body as protobuf: /);
  const json = await service.post("/v1/traces", '{"resourceSpans": [', JSON_TYPE);
  assert.equal(json.status, 400);
  assert.deepEqual(await json.json(), { code: 3, message: "Cannot read the body: it is not JSON" });
  const logs = await service.post("/v1/traces", '{"resourceLogs": []}', JSON_TYPE);
  assert.match((await logs.json()).message, /log records; send them to \/v1\/logs/);
  assert.equal(await service.calls(), 0);
});

Deno.test("a body of another type or encoding is a 415 that names those that are read", async () => {
  await using service = await open();
  const text = await service.post("/v1/traces", "x", { "content-type": "text/plain" });
  assert.equal(text.status, 415);
  assert.match((await text.json()).message, /text\/plain; send application\/x-protobuf or application\/json/);
  const brotli = await service.post("/v1/logs", "x", { ...JSON_TYPE, "content-encoding": "br" });
  assert.equal(brotli.status, 415);
  assert.match((await brotli.json()).message, /br; send gzip/);
});

Deno.test("a compressed body is refused while it is inflated: too large, cut off, or with another length than it says", async () => {
  await using service = await open();
  const headers = { ...PROTOBUF, "content-encoding": "gzip" };
  const bomb = await gzip(new Uint8Array(33 * 1024 * 1024));
  const refused = await service.post("/v1/traces", bomb, headers);
  assert.equal(refused.status, 413);
  assert.match(decodeFailure(await bytesOf(refused)).message, /over 33554432 bytes/);
  const whole = await gzip(encodeOtlp("traces", spansOf([callSpan("1")])));
  const lying = whole.slice();
  lying[lying.length - 4]! ^= 1;
  for (const body of [whole.slice(0, -9), lying, new Uint8Array([1, 2, 3])]) {
    const response = await service.post("/v1/traces", body, headers);
    assert.equal(response.status, 400);
    assert.match(decodeFailure(await bytesOf(response)).message, /damaged or truncated gzip/);
  }
  assert.equal(await service.calls(), 0);
});

Deno.test("metrics are answered and not booked, which is said once", async () => {
  await using service = await open();
  const first = await service.post("/v1/metrics", new Uint8Array([1, 2, 3]));
  assert.equal(first.status, 200);
  assert.deepEqual(decodeAnswer(await bytesOf(first)), {
    rejected: 0,
    message: "metrics are not booked: send traces or logs",
  });
  assert.equal((await bytesOf(await service.post("/v1/metrics", new Uint8Array()))).length, 0);
});

Deno.test("records need a key with the scope report or run, and another method is a 405", async () => {
  await using service = await open();
  const body = encodeOtlp("traces", spansOf([callSpan("1")]));
  const without = await service.client.raw("POST", "/v1/traces", { rawBody: body, headers: PROTOBUF });
  assert.equal(without.status, 401);
  assert.equal(decodeFailure(await bytesOf(without)).code, 16);
  const { key } = await makeKey(service.purser, ["read", "call"]);
  const reading = await service.post("/v1/traces", body, PROTOBUF, key);
  assert.equal(reading.status, 403);
  assert.equal(decodeFailure(await bytesOf(reading)).code, 7);
  const get = await service.client.raw("GET", "/v1/traces", { key: service.key });
  assert.equal(get.status, 405);
  assert.equal(get.headers.get("allow"), "POST");
  assert.equal((await get.json()).code, 12);
  assert.equal(await service.calls(), 0);
});

Deno.test("a key of one agent books its own agent's calls alone, in sessions that are named after it", async () => {
  await using service = await open();
  const { key } = await makeKey(service.purser, ["report"], { agent_id: "mine" });
  const own = callSpan("1", { agent: "mine", session: "s1" });
  const others = callSpan("2", { agent: "theirs", session: "s1" });
  const response = await service.post(
    "/v1/traces",
    encodeOtlp("traces", spansOf([own, others])),
    PROTOBUF,
    key,
  );
  assert.equal(response.status, 200);
  const { rejected, message } = decodeAnswer(await bytesOf(response));
  assert.equal(rejected, 1);
  assert.match(message, /agent theirs: the API key is for agent mine only/);
  const { body } = await service.purser.api("GET", "/costs?group_by=session");
  assert.deepEqual(
    body.map((
      { session_id, agent_id, model_calls }: Record<string, unknown>,
    ) => [session_id ?? agent_id, model_calls]),
    [["mine:s1", 1]],
  );
});

Deno.test("a body for which there is no room is a 429 with Retry-After, and nothing of it is booked", async () => {
  await using service = await open({
    config: { maxBodyBytes: 1_024, requestLimits: { body_bytes_per_key: 1 } },
  });
  const body = encodeOtlp("traces", spansOf([callSpan("1")]));
  const response = await service.post("/v1/traces", body);
  assert.equal(response.status, 429);
  assert.ok(Number(response.headers.get("retry-after")) > 0);
  assert.equal(decodeFailure(await bytesOf(response)).code, 8);
  assert.equal(await service.calls(), 0);
});

Deno.test("a request whose client has left before its turn is not booked", async () => {
  await using service = await open();
  const body = JSON.stringify(spansOf([callSpan("1")]));
  const request = { method: "POST", headers: JSON_TYPE, body, signal: AbortSignal.abort() };
  assert.equal((await service.purser.app.request("/v1/traces", request)).status, 503);
  assert.equal(await service.calls(), 0);
});

Deno.test("while the database takes nothing, a request is a 503 with Retry-After, and books when it is sent again", async () => {
  let isAway = false;
  const sqlite = fault((sql) => {
    if (isAway && /INSERT INTO calls\b/.test(sql)) throw DISK_ERROR;
  });
  await using service = await open({ sqlite });
  const body = encodeOtlp("traces", spansOf([callSpan("1")]));
  isAway = true;
  const refused = await service.post("/v1/traces", body);
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get("retry-after"), "5");
  assert.equal(decodeFailure(await bytesOf(refused)).code, 14);
  isAway = false;
  assert.equal((await service.post("/v1/traces", body)).status, 200);
  assert.equal(await service.calls(), 1);
});

Deno.test("100,000 spans: the first 10,000 are taken, the others counted, and other requests are answered meanwhile", async () => {
  await using service = await open();
  // Requests one after the other are one request, by the encoding of protobuf.
  const thousand = encodeOtlp("traces", spansOf(Array.from({ length: 1_000 }, () => ({ name: "x" }))));
  const first = encodeOtlp("traces", spansOf([callSpan("1")]));
  const body = new Uint8Array(first.length + 100 * thousand.length);
  body.set(first);
  for (let part = 0; part < 100; part++) body.set(thousand, first.length + part * thousand.length);
  const done: string[] = [];
  const spans = service.post("/v1/traces", body).then((response) => {
    done.push("spans");
    return response;
  });
  const other = service.client.raw("GET", "/healthz").then(() => done.push("other"));
  const { rejected, message } = decodeAnswer(await bytesOf(await spans));
  await other;
  assert.deepEqual(done, ["other", "spans"]);
  assert.ok(rejected >= 90_001);
  assert.match(message, /90001 \(beyond the first 10000 of the request/);
  assert.equal(await service.calls(), 1);
});
