import assert from "node:assert/strict";
import { systemClock } from "../src/kernel/clock.ts";
import { serve } from "../src/http/server/mod.ts";
import { makeKey } from "./harness/http_client.ts";
import { problemOf, RawClient } from "./harness/raw_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** Clients that hold connections, and bodies that are not HTTP, over sockets. */

const HEAD = "Host: localhost\nContent-Type: application/json";

/** A Purser with a server, by the machine's clock: times are in milliseconds of it. */
async function startServer(limits: NonNullable<Parameters<typeof serve>[2]["limits"]> = {}) {
  const purser = await openTestPurser({ clock: systemClock });
  const server = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0, limits });
  return {
    ...server,
    purser,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await purser[Symbol.asyncDispose]();
    },
  };
}

const errorsOf = ({ logs }: TestPurser) => logs.filter(({ level }) => level === "error");

Deno.test("a connection that sends nothing, or its headers too slowly, is closed by the server", async () => {
  await using server = await startServer({ headersMs: 100 });
  using silent = await RawClient.connect(server);
  using slow = await RawClient.connect(server);
  await slow.write("GET / HT");
  assert.equal(await silent.end(), "");
  const { status, detail } = problemOf(await slow.end());
  assert.deepEqual([status, detail], [
    408,
    "Cannot read the request: its headers arrived too slowly; send it again",
  ]);
});

Deno.test("an idle connection is closed by the server, after its requests were answered", async () => {
  await using server = await startServer({ idleMs: 100 });
  using client = await RawClient.connect(server);
  await client.write("GET /healthz HTTP/1.1\nHost: localhost\n\n");
  assert.match(await client.end(), /^HTTP\/1\.1 200 /);
});

Deno.test("requests that are pipelined on one connection don't keep those of others waiting", async () => {
  await using server = await startServer();
  const order: string[] = [];
  const request = "GET /healthz HTTP/1.1\nHost: localhost\n\n";
  using busy = await RawClient.connect(server);
  using other = await RawClient.connect(server);
  await busy.write(request.repeat(28) + request.replace("healthz", "nowhere"));
  await busy.until(/"ok"/);
  await other.write(request);
  await Promise.all([
    other.until(/"ok"/).then(() => order.push("other")),
    busy.until(/404/).then(() => order.push("the last of many")),
  ]);
  assert.deepEqual(order, ["other", "the last of many"]);
});

Deno.test("32 requests that are sent at once on one connection are answered in order; with one more it is closed", async () => {
  await using server = await startServer();
  const paths = Array.from({ length: 32 }, (_, number) => `/nowhere/${number}`);
  const requestsFor = (some: string[]) =>
    some.map((path) => `GET ${path} HTTP/1.1\nHost: localhost\n\n`).join("");
  using client = await RawClient.connect(server);
  await client.write(requestsFor(paths));
  const text = await client.until(/GET \/nowhere\/31:/);
  assert.deepEqual([...text.matchAll(/Cannot find GET (\S+):/g)].map(([, path]) => path), paths);
  await client.write(requestsFor(["/healthz"]));
  await client.until(/"ok"/); // they wait no more
  using greedy = await RawClient.connect(server);
  await greedy.write(`${requestsFor(paths)}GET / HTTP/1.1\nHost: localhost\nConnection: close\n\n`);
  assert.equal(await greedy.end(), "");
});

Deno.test("at the limit on connections, a new one is answered in place of one that is idle", async () => {
  await using server = await startServer({ connections: 2, perAddress: 2 });
  using first = await RawClient.connect(server);
  await first.write("GET /healthz HTTP/1.1\nHost: localhost\n\n");
  await first.until(/"ok"/);
  const stream = await fetch(`${server.url}/events`);
  const health = await fetch(`${server.url}/healthz`, { headers: { connection: "close" } });
  assert.equal((await health.json()).status, "ok");
  await first.end();
  await stream.body!.cancel();
});

Deno.test("one address has half of the connections, unless its own limit is set", async () => {
  /** The answers on the first of three connections, which is asked again after the others. */
  const countFirst = async (limits: Parameters<typeof startServer>[0]) => {
    await using server = await startServer(limits);
    const request = (more = "") => `GET /healthz HTTP/1.1\nHost: localhost\n${more}\n`;
    const clients: RawClient[] = [];
    for (let number = 0; number < 3; number++) {
      const client = await RawClient.connect(server);
      clients.push(client);
      await client.write(request());
      await client.until(/"ok"/);
    }
    const [first] = clients;
    await first!.write(request("Connection: close\n")).catch(() => {}); // it may be closed
    const text = await first!.end();
    for (const client of clients) client[Symbol.dispose]();
    return text.match(/"ok"/g)!.length;
  };
  assert.equal(await countFirst({ connections: 4 }), 1);
  assert.equal(await countFirst({ connections: 4, perAddress: 3 }), 2);
});

Deno.test("at the limit on connections, a new one gets a 503 if all others are answering", async () => {
  await using server = await startServer({ connections: 1, perAddress: 1 });
  const stream = await fetch(`${server.url}/events`);
  using client = await RawClient.connect(server);
  const { status, code, head } = problemOf(await client.end());
  assert.deepEqual([status, code], [503, "unavailable"]);
  assert.match(head, /retry-after: \d/i);
  await stream.body!.cancel();
});

Deno.test("a refused connection gets its 503, also when it has sent a request at once, or what is none", async () => {
  await using server = await startServer({ connections: 1, perAddress: 1 });
  const stream = await fetch(`${server.url}/events`);
  for (const sent of ["GET /healthz HTTP/1.1\nHost: localhost\n\n", "what is no request\n\n"]) {
    for (let i = 0; i < 10; i++) {
      using client = await RawClient.connect(server);
      await client.write(sent);
      assert.equal(problemOf(await client.end()).status, 503);
    }
  }
  await stream.body!.cancel();
});

Deno.test("a body that breaks off or is malformed is a 400 and not logged, in the API and in a restore", async () => {
  await using server = await startServer();
  const chunked = "Transfer-Encoding: chunked";
  const bodies: [what: string, head: string, body: string][] = [
    ["a size that is no number", chunked, "zz\n"],
    ["a chunk longer than its size", chunked, "1\nabc\n"],
    ["the end after a chunk", chunked, '1\n"\n'],
    ["the end within the length", "Content-Length: 10", '{"a'],
  ];
  for (const path of ["PUT /agents/a", "POST /agents/snapshot/restore", "POST /costs/events"]) {
    for (const [what, head, body] of bodies) {
      using client = await RawClient.connect(server);
      await client.write(`${path} HTTP/1.1\n${HEAD}\n${head}\n\n${body}`);
      await client.closeWrite();
      const text = await client.end();
      // A client that has closed its side gets no answer.
      if (text === "") assert.match(what, /the end/);
      else assert.deepEqual([problemOf(text).status, problemOf(text).code], [400, "invalid"], what);
    }
    using malformed = await RawClient.connect(server);
    await malformed.write(`${path} HTTP/1.1\n${HEAD}\n${chunked}\n\n1\n{\nzz\n`);
    const { detail, head } = problemOf(await malformed.end());
    assert.match(detail, /^Cannot read the body: it broke off, or its chunks are malformed/);
    assert.match(head, /connection: close/i);
  }
  assert.deepEqual(errorsOf(server.purser), []);
});

Deno.test("what is not HTTP/1.1 gets a problem document, HTTP/2 its own", async () => {
  await using server = await startServer();
  const cases: [text: string, status: number, detail: RegExp][] = [
    ["GARBAGE\n\n", 400, /not valid HTTP/],
    ["GET / HTTP/1.1\nHost: a\nContent-Length: 1\nContent-Length: 2\n\n", 400, /not valid HTTP/],
    ["GET / HTTP/1.1\n\n", 400, /Host header/],
    [`GET / HTTP/1.1\nHost: a\nX: ${"x".repeat(20_000)}\n\n`, 431, /16 KiB/],
    ["PRI * HTTP/2.0\n\nSM\n\n", 505, /HTTP\/1\.1, not HTTP\/2/],
  ];
  for (const [text, expected, reason] of cases) {
    using client = await RawClient.connect(server);
    await client.write(text);
    const { status, detail } = problemOf(await client.end());
    assert.equal(status, expected, text.slice(0, 40));
    assert.match(detail, reason);
  }
  using upgrade = await RawClient.connect(server);
  await upgrade.write(
    "GET /healthz HTTP/1.1\nHost: localhost\nConnection: Upgrade, HTTP2-Settings\n" +
      "Upgrade: h2c\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\n\n",
  );
  assert.match(await upgrade.until(/"ok"/), /^HTTP\/1\.1 200 /); // the upgrade is ignored
});

Deno.test("the body of a request without a route or a key is not read, and its client gets the answer", async () => {
  await using server = await startServer();
  const { key } = await makeKey(server.purser, ["admin"]);
  const body = "x".repeat(1_000_000);
  for (const [path, authorization, expected] of [["/nothing", key, 404], ["/agents/a", "psr_wrong", 401]]) {
    using client = await RawClient.connect(server);
    await client.write(
      `PUT ${path} HTTP/1.1\n${HEAD}\nAuthorization: Bearer ${authorization}\nContent-Length: 100000000\n\n${body}`,
    );
    assert.equal(problemOf(await client.end()).status, expected);
  }
  const whole = await fetch(`${server.url}/nothing`, {
    method: "PUT",
    headers: { authorization: `Bearer ${key}` },
    body: "x".repeat(10_000_000),
  });
  assert.equal(whole.status, 404);
  await whole.body!.cancel();
});

Deno.test("a body in chunks of one byte is read as any other", async () => {
  await using server = await startServer();
  using client = await RawClient.connect(server);
  const prompt = "y".repeat(50_000);
  const body = JSON.stringify({ model: "demo:echo", system_prompt: prompt });
  const chunks = [...body].map((character) => `1\n${character}\n`).join("");
  await client.write(`PUT /agents/a HTTP/1.1\n${HEAD}\nTransfer-Encoding: chunked\n\n${chunks}0\n\n`);
  assert.match(await client.until(/\r\n\r\n.*\}/s), /^HTTP\/1\.1 201 /);
  const agent = await (await fetch(`${server.url}/agents/a`)).json();
  assert.equal(agent.system_prompt, prompt);
});

Deno.test("a chunk is copied: what a reader keeps of it would keep the whole buffer of which it is a part", async () => {
  await using purser = await openTestPurser();
  const bytes = new TextEncoder().encode(JSON.stringify({ model: "demo:echo", system_prompt: "in pieces" }));
  const buffer = new Uint8Array(64 * 1024);
  let at = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at === bytes.length) return controller.close();
      buffer[0] = bytes[at++]!;
      controller.enqueue(buffer.subarray(0, 1));
    },
  }, { highWaterMark: 0 });
  const request = new Request("http://localhost/agents/a", {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body,
    duplex: "half",
  } as RequestInit);
  const agent = await (await purser.app.request(request)).json();
  assert.equal(agent.system_prompt, "in pieces");
});
