import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { listen, withAccessCheck } from "../../src/http/server/mod.ts";
import { SLICE_UNITS } from "../../src/kernel/turns.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { startPlainProvider } from "./plain_provider.ts";
import { allEnded, readCalls, sendTo } from "./requests.ts";

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

Deno.test("a body that is large, or long to parse, is read in steps with turns of the event loop between them", async () => {
  await using provider = startPlainProvider(() =>
    Response.json({ usage: { prompt_tokens: 1, completion_tokens: 1 } })
  );
  await using purser = await openTestPurser({ fake: provider });
  const slices = { whole: 0, parts: 0 };
  const { turns } = purser.core;
  purser.core.turns = {
    spend(units) {
      slices[units === SLICE_UNITS ? "whole" : "parts"]++;
      return turns.spend(units);
    },
  };
  const slicesFor = async (content: unknown) => {
    slices.whole = slices.parts = 0;
    const body = { model: "gpt-4o-mini", messages: [{ role: "user", content }] };
    const response = await sendTo(purser, { path: "/openai/v1/chat/completions", body });
    assert.equal(response.status, 200);
    return { ...slices };
  };
  assert.deepEqual(await slicesFor("x".repeat(100_000)), { whole: 0, parts: 0 });
  const { whole, parts } = await slicesFor("x".repeat(2_000_000));
  assert.ok(whole === 0 && parts >= 15, `${parts} parts are looked at, and then it waits for none`);
  // Before it is decoded, parsed, searched, changed and measured.
  assert.equal((await slicesFor("x".repeat(5_000_000))).whole, 5 * 8);
  assert.equal((await slicesFor(Array(200_000).fill(0))).whole, 5 * 8);
});

Deno.test("a large answer is parsed in parts with turns between them, whole or as an event", async () => {
  const usage = { prompt_tokens: 7, completion_tokens: 1 };
  const choices = [{
    index: 0,
    message: { content: "Hi" },
    logprobs: { content: Array(60_000).fill({ logprob: -1 }) },
  }];
  const answer = JSON.stringify({ choices, usage });
  const text = "\n".repeat(20_000);
  const answers: Record<string, () => Response> = {
    whole: () => new Response(answer, { headers: { "content-type": "application/json" } }),
    event: () =>
      new Response(`event: a\ndata: ${answer}\n\ndata: [DONE]\n\n`, {
        headers: { "content-type": "text/event-stream" },
      }),
    "event of several lines": () =>
      new Response(`data: ${answer.replace("{", "{\ndata: ")}\r\n\r\ndata: [DONE]\n\n`, {
        headers: { "content-type": "text/event-stream" },
      }),
    "event without its end": () =>
      new Response(`: ${text}data:${answer}`, { headers: { "content-type": "text/event-stream" } }),
  };
  for (const [name, respond] of Object.entries(answers)) {
    await using provider = startPlainProvider(respond);
    await using purser = await openTestPurser({ fake: provider });
    let slices = 0;
    const { turns } = purser.core;
    purser.core.turns = { spend: (units) => (slices++, turns.spend(units)) };
    const body = { model: "gpt-4o-mini", stream: name !== "whole", messages: [] };
    const response = await sendTo(purser, { path: "/openai/v1/chat/completions", body });
    const sent = await respond().text();
    assert.equal((await response.text()) === sent, true, name);
    await allEnded(purser);
    const calls = (await readCalls(purser)).map(({ input, isEstimated }) => [input, isEstimated]);
    assert.deepEqual(calls, [[7, name === "event without its end"]], name);
    assert.ok(slices >= answer.length / 40_000, `${name}: ${slices} slices`);
  }
});
