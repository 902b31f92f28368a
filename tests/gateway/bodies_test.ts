import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { listen, withAccessCheck } from "../../src/http/mod.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { startPlainProvider } from "./plain_provider.ts";
import { sendTo } from "./requests.ts";

/** Bodies as they arrive over a socket: whole, in many pieces of the server's buffers, and chunked. */

const PATH = "/openai/v1/responses/input_tokens";

function bodyOf(length: number): string {
  const [before, after] = ['{"model":"gpt-5-mini","input":"', '"}'];
  return before + "0123456789".repeat(Math.ceil(length / 10)).slice(before.length + after.length, length) +
    after;
}

/** Returns a body as chunks of a size, with a trailer after the last one. */
function chunked(body: string, size: number): string {
  const chunks = body.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
  return chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("") +
    "0\r\nx-last: 1\r\n\r\n";
}

Deno.test("a body passes byte for byte, in however many pieces it has arrived", async () => {
  await using provider = startPlainProvider(() => Response.json({ input_tokens: 1 }));
  await using purser = await openTestPurser({ fake: provider });
  const server = await listen(purser.core, withAccessCheck(purser.core, purser.app), {
    ...{ host: "127.0.0.1", port: 0 },
  });
  const { host, hostname, port } = new URL(server.url);

  /** Sends requests on one connection, all at once, and returns the statuses of their answers. */
  async function send(...bodies: string[]): Promise<string[]> {
    const client = connect({ host: hostname, port: Number(port) });
    let said = "";
    client.on("data", (part) => said += part);
    client.write(
      bodies.map((body, index) =>
        `POST ${PATH} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n` +
        (index === bodies.length - 1 ? "connection: close\r\n" : "") + body
      ).join(""),
    );
    await once(client, "close");
    return [...said.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status!);
  }
  const whole = (body: string) => `content-length: ${body.length}\r\n\r\n${body}`;
  const inChunks = (body: string, size: number) => `transfer-encoding: chunked\r\n\r\n${chunked(body, size)}`;

  const bodies = [60_000, 66_000, 80_000, 100_000, 131_072, 400_000].map(bodyOf);
  for (const body of bodies) assert.deepEqual(await send(whole(body)), ["200"], `${body.length} bytes`);
  // Those behind the first one have arrived by the time they are read.
  assert.deepEqual(await send(...bodies.slice(0, 3).map(whole)), ["200", "200", "200"]);
  const [small, large] = [bodyOf(93), bodyOf(60_000)];
  assert.deepEqual(await send(inChunks(small, 1)), ["200"]);
  assert.deepEqual(await send(whole(small), inChunks(small, 1), inChunks(large, 30_000)), [
    "200",
    "200",
    "200",
  ]);
  const expected = [...bodies, ...bodies.slice(0, 3), small, small, small, large];
  assert.deepEqual(provider.requests.map(({ body }) => body.length), expected.map(({ length }) => length));
  assert.deepEqual(provider.requests.map(({ body }) => body), expected);

  const count = provider.requests.length;
  const twoValues = inChunks(small, 93).replace("0\r\nx-last", "7\r\nGARBAGE\r\n0\r\nx-last");
  assert.deepEqual(await send(twoValues), ["200"]); // a free request passes as it is
  assert.equal(provider.requests[count]?.body, `${small}GARBAGE`);
  await server.shutdown({ graceMs: 0 });
});

Deno.test("a large body is read in steps with turns of the event loop between them, and one of a few megabytes waits for none", async () => {
  await using provider = startPlainProvider(() =>
    Response.json({ usage: { prompt_tokens: 1, completion_tokens: 1 } })
  );
  await using purser = await openTestPurser({ fake: provider });
  let taken = 0;
  const { turns } = purser.core;
  purser.core.turns = {
    spend(units) {
      taken++;
      return turns.spend(units);
    },
  };
  const turnsFor = async (length: number) => {
    taken = 0;
    const body = { model: "gpt-4o-mini", messages: [{ role: "user", content: "x".repeat(length) }] };
    const response = await sendTo(purser, { path: "/openai/v1/chat/completions", body });
    assert.equal(response.status, 200);
    return taken;
  };
  assert.equal(await turnsFor(2_000_000), 0);
  assert.equal(await turnsFor(9_000_000), 4 * 8); // before it is decoded, parsed, searched and changed
});
