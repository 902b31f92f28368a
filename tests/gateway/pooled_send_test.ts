import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { chargeEvidence } from "../../src/calls/charge_evidence.ts";
import type { ByteReader } from "../../src/kernel/byte_reader.ts";
import { createPooledSend, hasProxy } from "../../src/gateway/pooled_send.ts";

/** A provider that counts its connections and requests. */
async function startProvider(
  answer: (request: IncomingMessage, response: ServerResponse, number: number) => void,
) {
  const counts = { connections: 0, requests: 0 };
  const server = createServer(async (request, response) => {
    const number = ++counts.requests;
    for await (const _ of request);
    answer(request, response, number);
  });
  server.on("connection", () => counts.connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    counts,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Reads the body of an answer by its stream. */
const textOf = ({ body }: Pick<Response, "body">) => new Response(body).text();

const post = { method: "POST", headers: new Headers({ "x-a": "1" }), body: new Uint8Array([1, 2, 3]) };

Deno.test("requests that follow each other share a connection", async () => {
  await using provider = await startProvider((_request, response) => response.end("answer"));
  const send = createPooledSend({ hasProxy: false });
  for (let i = 0; i < 5; i++) assert.equal(await textOf(await send(provider.url, post)), "answer");
  assert.deepEqual(provider.counts, { connections: 1, requests: 5 });
});

Deno.test("a request on a kept connection that ends without an answer is not sent again", async () => {
  await using provider = await startProvider((request, response, number) => {
    if (number === 1) response.end("answer");
    else request.socket.destroy();
  });
  const send = createPooledSend({ hasProxy: false });
  await textOf(await send(provider.url, post));
  await assert.rejects(
    send(provider.url, post),
    (error: Error & { code?: string }) => error.code === "ECONNRESET",
  );
  assert.deepEqual(provider.counts, { connections: 1, requests: 2 });
});

Deno.test("an answer is read without a stream, and one that is not read to its end is closed", async () => {
  await using provider = await startProvider((_request, response) => response.end("answer".repeat(20_000)));
  const send = createPooledSend({ hasProxy: false });
  const read = async (reader: ByteReader, decoder = new TextDecoder()) => {
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value);
    }
    return text;
  };
  assert.equal(await read((await send(provider.url, post)).reader!()!), "answer".repeat(20_000));
  const cancelled = (await send(provider.url, post)).reader!()!;
  assert.equal((await cancelled.read()).done, false);
  await cancelled.cancel();
  await assert.rejects(read(cancelled), /terminated/);
});

Deno.test("a connection is used again after an answer without a body", async () => {
  await using provider = await startProvider((_request, response) => response.writeHead(204).end());
  const send = createPooledSend({ hasProxy: false });
  for (const method of ["HEAD", "POST", "HEAD"]) {
    assert.equal((await send(provider.url, { method, headers: { "x-a": "1" } })).body, null);
    await new Promise((resolve) => setImmediate(resolve)); // its connection is free then
  }
  assert.equal(provider.counts.connections, 1);
});

Deno.test("status, repeated headers and body are those of the provider, whatever the status", async () => {
  await using provider = await startProvider((_request, response) => {
    response.writeHead(429, [["x-one", "1"], ["x-two", "a"], ["x-two", "b"]] as never);
    response.end("slow down");
  });
  const response = await createPooledSend({ hasProxy: false })(provider.url, post);
  assert.deepEqual([response.status, response.headers.get("x-one"), response.headers.get("x-two")], [
    429,
    "1",
    "a, b",
  ]);
  assert.equal(await textOf(response), "slow down");
});

Deno.test("an aborted request ends its answer with the reason, before and in the middle", async () => {
  await using provider = await startProvider((request, response) => {
    if (request.url === "/begun") response.write("begun");
  });
  const send = createPooledSend({ hasProxy: false });
  const waiting = new AbortController();
  const unanswered = send(provider.url, { ...post, signal: waiting.signal });
  waiting.abort(new DOMException("enough", "AbortError"));
  await assert.rejects(unanswered, /enough/);
  const reading = new AbortController();
  const { body } = await send(`${provider.url}begun`, { ...post, signal: reading.signal });
  const reader = body!.getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value), "begun");
  reading.abort(new DOMException("enough", "AbortError"));
  await assert.rejects(reader.read(), /enough/);
});

Deno.test("an answer that breaks off is an error", async () => {
  await using provider = await startProvider((request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("begun", () => request.socket.destroy());
  });
  const response = await createPooledSend({ hasProxy: false })(provider.url, post);
  await assert.rejects(textOf(response));
  const whole = await createPooledSend({ hasProxy: false })(provider.url, post);
  const reader = whole.reader!()!;
  assert.equal(new TextDecoder().decode((await reader.read()).value), "begun");
  await assert.rejects(reader.read(), /aborted/);
});

Deno.test("a proxy of the environment is found by each of its names", () => {
  for (const name of ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"]) {
    assert.equal(hasProxy({ [name]: "http://proxy.example:3128" }), true, name);
  }
  assert.equal(hasProxy({ NO_PROXY: "*", HTTPS_PROXY: "" }), false);
});

Deno.test("a connection that ends in the middle of a request can't have been charged, after it it may have been", async () => {
  for (const [bytes, evidence] of [[64, "possible"], [32 * 1024 * 1024, "partial"]] as const) {
    await using provider = await startDropping();
    const body = new Uint8Array(bytes);
    await assert.rejects(
      createPooledSend({ hasProxy: false })(provider.url, { method: "POST", body }),
      (error: Error) => {
        assert.equal(chargeEvidence(error), evidence, `${bytes} bytes: ${error}`);
        return true;
      },
    );
  }
});

/** A provider that ends each connection at the first bytes of a request's body. */
async function startDropping() {
  const server = createServer((request) => request.once("data", () => request.socket.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
