import assert from "node:assert/strict";
import { fixedClock } from "../src/kernel/clock.ts";
import { silentLog } from "../src/kernel/log.ts";
import { type Handler, listen } from "../src/http/server/mod.ts";
import { withBody } from "../src/http/middleware/served_body.ts";
import { rejection } from "./harness/test_purser.ts";

const start = (handle: Handler, clock = fixedClock(0)) =>
  listen({ clock, log: silentLog }, handle, { host: "127.0.0.1", port: 0 });

Deno.test("the server passes on requests unchanged, with the client's address", async () => {
  const server = await start(async (request, from) =>
    Response.json({
      from,
      method: request.method,
      path: new URL(request.url).pathname + new URL(request.url).search,
      key: request.headers.get("authorization"),
      body: await request.text(),
    }, { status: 207, headers: { "x-own": "yes" } })
  );
  const url = `${server.url}/a%20b?c=d`;
  const answer = await fetch(url, {
    method: "POST",
    body: "é".repeat(100_000),
    headers: { authorization: "k" },
  });
  assert.equal(answer.status, 207);
  assert.equal(answer.headers.get("x-own"), "yes");
  const { body, ...rest } = await answer.json();
  assert.equal(body.length, 100_000);
  assert.deepEqual(rest, { from: "127.0.0.1", method: "POST", path: "/a%20b?c=d", key: "k" });
  await server.shutdown();
});

Deno.test("the server streams a response as it comes, and notices that the client has disconnected", async () => {
  const left = Promise.withResolvers<void>();
  const server = await start(() =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("first")),
        cancel: () => left.resolve(),
      }),
      { headers: { "content-type": "text/event-stream" } },
    )
  );
  const stop = new AbortController();
  const answer = await fetch(server.url, { signal: stop.signal });
  const { value } = await answer.body!.getReader().read();
  assert.equal(new TextDecoder().decode(value), "first");
  stop.abort();
  await left.promise;
  await server.shutdown();
});

Deno.test("the server reports that a port is taken", async () => {
  const server = await start(() => new Response());
  const port = Number(new URL(server.url).port);
  const again = listen({ clock: fixedClock(0), log: silentLog }, () => new Response(), {
    host: "127.0.0.1",
    port,
  });
  const error = await rejection(again);
  assert.equal(error.code, "unavailable");
  assert.equal(
    error.message,
    `Cannot listen on 127.0.0.1:${port}: the port is in use; choose another with --port`,
  );
  await server.shutdown();
});

Deno.test("the server answers the requests in flight before it ends, and none after", async () => {
  const [arrived, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const server = await start(async () => {
    arrived.resolve();
    await go.promise;
    return new Response("late");
  });
  const answer = fetch(server.url);
  await arrived.promise;
  const ended = server.shutdown();
  go.resolve();
  assert.equal(await (await answer).text(), "late");
  await ended; // though the client would have kept the connection for its next request
  await assert.rejects(fetch(server.url));
});

Deno.test("a request that takes longer than the grace period gets a 503 with Retry-After", async () => {
  const clock = fixedClock(0);
  const arrived = Promise.withResolvers<void>();
  const server = await start(() => {
    arrived.resolve();
    return new Promise<Response>(() => {});
  }, clock);
  const answer = fetch(server.url);
  await arrived.promise;
  const ended = server.shutdown({ graceMs: 1_000 });
  clock.advance(1_000);
  const response = await answer;
  assert.deepEqual([response.status, response.headers.get("retry-after")], [503, "1"]);
  assert.equal((await response.json()).code, "unavailable");
  await ended;
});

Deno.test("a response of any type is written while it is made, and a document in one piece", async () => {
  let send = (_text: string) => {};
  const server = await start((request) => {
    if (request.url.endsWith("/whole")) return withBody(new Response("[1]"), "[1]");
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        send = (text) => controller.enqueue(new TextEncoder().encode(text));
      },
    });
    return new Response(stream, { headers: { "content-type": "application/json" } });
  });
  const whole = await fetch(`${server.url}/whole`);
  assert.deepEqual([whole.headers.get("content-length"), await whole.text()], ["3", "[1]"]);
  const { body, headers } = await fetch(server.url); // before anything is sent
  assert.equal(headers.get("content-length"), null);
  const reader = body!.getReader();
  for (const text of ["first", "second"]) {
    send(text);
    assert.equal(new TextDecoder().decode((await reader.read()).value), text);
  }
  await reader.cancel();
  await server.shutdown();
});
