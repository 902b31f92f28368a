import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { listen, withAccessCheck } from "../../src/http/server/mod.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { allEnded, readCalls } from "./requests.ts";

/** Starts a provider that streams as fast as it is read, without an end, and counts the bytes that it could send. */
async function startEndlessProvider() {
  const sent = { bytes: 0 };
  const event = `data: {"choices":[{"index":0,"delta":{"content":"${"word ".repeat(10_000)}"}}]}\n\n`;
  const send = (response: ServerResponse) => {
    while (!response.destroyed && response.write(event)) sent.bytes += event.length;
    response.once("drain", () => send(response));
  };
  const left = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    request.resume();
    response.once("close", left.resolve);
    send(response.writeHead(200, { "content-type": "text/event-stream" }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    sent,
    left: left.promise,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

Deno.test("a stream is read only as fast as its client reads, and ends with it", async () => {
  await using provider = await startEndlessProvider();
  await using purser = await openTestPurser({
    env: { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: provider.url },
  });
  const server = await listen(purser.core, withAccessCheck(purser.core, purser.app), {
    ...{ host: "127.0.0.1", port: 0 },
  });
  const { hostname, port } = new URL(server.url);
  const body = JSON.stringify({ model: "gpt-4o-mini", stream: true, messages: [] });
  const client = connect({ host: hostname, port: Number(port) });
  client.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  );
  await once(client, "readable"); // what it never reads

  let before = -1;
  while (provider.sent.bytes !== before) {
    before = provider.sent.bytes;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.ok(before < 32 * 1024 * 1024, `${before} bytes were sent`); // what the buffers of two connections hold
  client.destroy();
  await provider.left;
  await allEnded(purser);
  const [call] = await readCalls(purser);
  assert.ok(call?.isEstimated && call.output > 10_000);
  await server.shutdown({ graceMs: 0 });
});
