import assert from "node:assert/strict";
import { loadConfig } from "../src/config/mod.ts";
import { checkLoopbackRequest, listenOptionsOf, serve } from "../src/http/server/mod.ts";
import { isLoopback } from "../src/kernel/loopback_host.ts";
import { makeKey } from "./harness/http_client.ts";
import { RawClient } from "./harness/raw_client.ts";
import { openTestPurser, rejection } from "./harness/test_purser.ts";

type Headers = Record<string, string>;

function refusal(headers: Headers, method = "GET", guard = checkLoopbackRequest): string | undefined {
  try {
    guard(new Request("http://127.0.0.1:8420/agents", { method, headers }));
    return undefined;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

Deno.test("the loopback guard allows programs of this machine, by any of its names", () => {
  for (
    const host of [
      "localhost:8420",
      "127.0.0.1:8420",
      "[::1]:8420",
      "localhost",
      "127.0.0.2:1",
      "LOCALHOST:8420",
    ]
  ) {
    assert.equal(refusal({ host }), undefined, host);
    assert.equal(refusal({ host }, "POST"), undefined, host);
  }
});

Deno.test("the loopback guard refuses names that another site may have bound to this machine (DNS rebinding)", () => {
  const hosts = [
    "evil.example",
    "evil.example:8420",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    "localhost@evil.example",
    "[::2]",
    "0.0.0.0:8420",
    "192.168.1.2",
    "localhost.",
    "",
    "a b",
    "[::ffff:10.0.0.1]",
  ];
  for (const host of hosts) assert.equal(refusal({ host }), "forbidden", host);
});

Deno.test("the loopback guard allows its own pages, and no page of another origin", () => {
  const host = "localhost:8420";
  assert.equal(refusal({ host, origin: "http://localhost:8420" }, "POST"), undefined);
  const origins = [
    "null",
    "http://evil.example",
    "http://localhost:3000",
    "http://localhost",
    "https://localhost:8420",
    "http://127.0.0.1:8420",
    "http://localhost:8420.evil.example",
    "file://",
    "",
  ];
  for (const origin of origins) assert.equal(refusal({ host, origin }, "POST"), "forbidden", origin);
  assert.equal(refusal({ host: "[::1]:8420", origin: "http://[::1]:8420" }, "PUT"), undefined);
});

Deno.test("the loopback guard trusts the browser's headers on the origin of a request", () => {
  const host = "localhost:8420";
  const visit = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  const outcomes: [Headers, string, string | undefined][] = [
    [{ "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" }, "POST", undefined],
    [{ "sec-fetch-site": "none", ...visit }, "GET", undefined],
    [
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script" },
      "GET",
      "forbidden",
    ],
    [
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
      "GET",
      "forbidden",
    ],
    [{ "sec-fetch-site": "same-site", "sec-fetch-mode": "cors" }, "GET", "forbidden"],
    [
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
      "GET",
      "forbidden",
    ],
    [{ "sec-fetch-site": "cross-site", ...visit }, "GET", undefined],
    [{ "sec-fetch-site": "cross-site", ...visit }, "POST", "forbidden"],
  ];
  for (const [headers, method, expected] of outcomes) {
    assert.equal(refusal({ host, ...headers }, method), expected, JSON.stringify(headers));
  }
});

Deno.test("loopback addresses are this machine's own only", () => {
  for (const host of ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"]) {
    assert.ok(isLoopback(host), host);
  }
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "example.com", "127.0.0.1.example.com", "128.0.0.1", ""]) {
    assert.ok(!isLoopback(host), host);
  }
});

Deno.test("serve() refuses an address that other machines can reach", async () => {
  await using purser = await openTestPurser();
  for (const host of ["0.0.0.0", "::", "192.168.0.1", "example.com"]) {
    const error = await rejection(serve(purser.core, purser.app, { host, port: 0 }));
    assert.equal(error.code, "forbidden");
    assert.match(
      error.message,
      new RegExp(`^Cannot listen on ${host.replaceAll(".", "\\.")}: without an API key`),
    );
  }
});

Deno.test("serve() reports that a port is taken", async () => {
  await using purser = await openTestPurser();
  const first = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0 });
  const port = Number(new URL(first.url).port);
  const error = await rejection(serve(purser.core, purser.app, { host: "127.0.0.1", port }));
  assert.equal(error.code, "unavailable");
  assert.match(error.message, /the port is in use; choose another with --port$/);
  await first.shutdown();
});

for (const host of ["127.0.0.1", "127.0.0.2", "::1", "[::1]", "localhost"]) {
  Deno.test(`a server on ${host} answers at the address that it names`, async () => {
    await using purser = await openTestPurser();
    const server = await serve(purser.core, purser.app, { host, port: 0 });
    try {
      const response = await fetch(`${server.url}/healthz`);
      assert.equal(response.status, 200);
      await response.body?.cancel();
    } finally {
      await server.shutdown();
    }
  });
}

/** Sends a request as it is written, and reads its response; the connection may stay open afterwards. */
async function sendRaw(url: string, head: string, body = ""): Promise<{ status: number; body: string }> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) });
  await connection.write(new TextEncoder().encode(`${head.replaceAll("\n", "\r\n")}\r\n\r\n${body}`));
  const buffer = new Uint8Array(65_536);
  const decoder = new TextDecoder();
  for (let answer = "";;) {
    const size = await connection.read(buffer);
    if (size !== null) answer += decoder.decode(buffer.subarray(0, size), { stream: true });
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? NaN);
    if (size === null || body.length >= length) return { status: Number(head.split(" ")[1]), body };
  }
}

Deno.test("over the network, a request without a body needs no content type", async () => {
  await using purser = await openTestPurser();
  const { url, shutdown } = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0 });
  const end = "HTTP/1.1\nHost: localhost\nConnection: close";
  for (const length of ["", "\nContent-Length: 0", "\nContent-Length: 0\nContent-Type: text/plain"]) {
    assert.equal((await sendRaw(url, `POST /runs/run_x/cancel ${end}${length}`)).status, 404, length);
    assert.equal((await sendRaw(url, `DELETE /agents/a ${end}${length}`)).status, 404, length);
    const isTyped = length.includes("Type");
    assert.equal((await sendRaw(url, `PUT /agents/a ${end}${length}`)).status, isTyped ? 415 : 400, length);
  }
  const chunked = `PUT /agents/a ${end}\nTransfer-Encoding: chunked`;
  const body = '15\r\n{"model":"demo:echo"}\r\n0\r\n\r\n';
  assert.equal((await sendRaw(url, `${chunked}\nContent-Type: application/json`, body)).status, 201);
  assert.equal((await sendRaw(url, chunked, body)).status, 415);
  await shutdown();
});

Deno.test("over the network, a body is refused by its length, declared or not", async () => {
  await using purser = await openTestPurser({ config: { maxBodyBytes: 100 } });
  const { url, shutdown } = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0 });
  const head = "PUT /agents/a HTTP/1.1\nHost: localhost\nConnection: close\nContent-Type: application/json";
  assert.equal((await sendRaw(url, `${head}\nContent-Length: 101`)).status, 413);
  const chunk = `78\r\n"${"x".repeat(118)}"\r\n`;
  assert.equal((await sendRaw(url, `${head}\nTransfer-Encoding: chunked`, `${chunk}0\r\n\r\n`)).status, 413);
  await shutdown();
});

Deno.test("over the network, a page of another origin gets a 403 problem", async () => {
  await using purser = await openTestPurser();
  const { url, shutdown } = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0 });
  const { status, body } = await sendRaw(url, "GET /agents HTTP/1.1\nHost: evil.example\nConnection: close");
  assert.equal(status, 403);
  assert.equal(JSON.parse(body).code, "forbidden");
  await shutdown();
});

Deno.test("over the network, a Host that names no host gets a 400 problem, with a key and without", async () => {
  await using purser = await openTestPurser();
  const { url, shutdown } = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0 });
  for (const isKeyed of [false, true]) {
    const key = isKeyed ? (await makeKey(purser, ["admin"])).key : undefined;
    const header = key ? `\nAuthorization: Bearer ${key}` : "";
    for (const host of ["127.0.0.999", "a b", "x:99999", "[::1", "%zz"]) {
      for (const path of ["/agents", "/healthz"]) {
        const { status, body } = await sendRaw(
          url,
          `GET ${path} HTTP/1.1\nHost: ${host}\nConnection: close${header}`,
        );
        assert.equal(status, 400, host);
        const { code, detail, instance } = JSON.parse(body);
        assert.deepEqual([code, instance], ["invalid", "/"]);
        assert.equal(detail, "Cannot read the request: its Host header names no host");
      }
    }
  }
  await shutdown();
});

Deno.test("over the network, a method that `Request` does not allow is 405, not an internal error", async () => {
  await using purser = await openTestPurser();
  const { url, shutdown } = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0 });
  const send = (method: string) =>
    sendRaw(url, `${method} /agents HTTP/1.1\nHost: localhost\nConnection: close`);
  const trace = await send("TRACE");
  assert.equal(trace.status, 405);
  assert.equal(JSON.parse(trace.body).detail, "Cannot TRACE /agents: it takes GET");
  // A method that HTTP does not have.
  const track = await send("TRACK");
  assert.equal(track.status, 400);
  assert.equal(JSON.parse(track.body).detail, "Cannot read the request: it is not valid HTTP/1.1");
  await shutdown();
});

Deno.test("clients behind a trusted proxy have limits of their own, by the server's configuration", async () => {
  /** Starts a server of a config file, and returns the statuses of one request for each of these clients. */
  const statusesOf = async (clients: string[], file: object) => {
    const text = JSON.stringify({ port: 0, limits: { requests_per_minute_per_address: 1 }, ...file });
    const config = await loadConfig({ env: { HOME: "/home/ada", PURSER_CONFIG_JSON: text } });
    await using purser = await openTestPurser({ config: { requestLimits: config.requestLimits } });
    const { key } = await makeKey(purser, ["read"]);
    const server = await serve(purser.core, purser.app, listenOptionsOf(config));
    const statuses: number[] = [];
    for (const client of clients) {
      using connection = await RawClient.connect(server);
      await connection.write(
        `GET /agents HTTP/1.1\nHost: localhost\nAuthorization: Bearer ${key}\nX-Forwarded-For: ${client}\n\n`,
      );
      statuses.push(Number((await connection.until(/^HTTP\/1\.1 \d+ /)).split(" ")[1]));
    }
    await server.shutdown({ graceMs: 0 });
    return statuses;
  };
  const clients = ["198.51.100.1", "198.51.100.2", "198.51.100.1", "203.0.113.9, 198.51.100.2"];
  assert.deepEqual(await statusesOf(clients, { trusted_proxies: ["127.0.0.0/8"] }), [200, 200, 429, 429]);
  assert.deepEqual(await statusesOf(clients, {}), [200, 429, 429, 429]);
});
