import assert from "node:assert/strict";
import { listen, withAccessCheck } from "../../src/http/server/mod.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { answerTo } from "../harness/answers.ts";
import { type FakeProvider, startFakeProvider } from "../harness/fake_provider.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { allEnded, readCalls, sendTo } from "./requests.ts";

/** Clients that leave, or are sent away, while their provider has not answered yet: the call is booked, and nothing stays reserved. */

const STREAMED = {
  path: "/openai/v1/chat/completions",
  body: { model: "gpt-4o-mini", stream: true, max_tokens: 10, messages: [{ role: "user", content: "Hi" }] },
};

/** A provider whose headers wait for `answer()`. */
async function startWaitingProvider() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const fake = await startFakeProvider((call) => ({ ...answerTo(call, { text: "Hi" }), after: promise }));
  return { fake, answer: resolve, [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose]() };
}

async function asked(fake: FakeProvider): Promise<void> {
  while (fake.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function reservedUsd(purser: TestPurser): Promise<number> {
  const { body: [budget] } = await purser.api("GET", "/budgets");
  return budget.reserved_usd;
}

Deno.test("a stream is booked whose client has left before its headers came, where only its signal says so", async () => {
  await using provider = await startWaitingProvider();
  await using purser = await openTestPurser({ fake: provider.fake, clock: systemClock });
  await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 1 });
  const client = new AbortController();
  const answered = sendTo(purser, STREAMED, { signal: client.signal });
  await asked(provider.fake);
  client.abort();
  provider.answer();
  await answered; // its body is never read
  await allEnded(purser);
  assert.equal((await readCalls(purser)).length, 1);
  assert.equal(await reservedUsd(purser), 0);
});

Deno.test("a stream is booked whose client got a 503 at shutdown before its headers came", async () => {
  await using provider = await startWaitingProvider();
  await using purser = await openTestPurser({ fake: provider.fake, clock: systemClock });
  await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 1 });
  const at = { host: "127.0.0.1", port: 0 };
  const server = await listen(purser.core, withAccessCheck(purser.core, purser.app), at);
  const sent = fetch(`${server.url}${STREAMED.path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(STREAMED.body),
  });
  await asked(provider.fake);
  const ended = server.shutdown({ graceMs: 0 });
  const response = await sent;
  assert.equal(response.status, 503);
  await response.body?.cancel();
  provider.answer();
  await ended;
  await allEnded(purser);
  assert.equal((await readCalls(purser)).length, 1);
  assert.equal(await reservedUsd(purser), 0);
});

Deno.test("a client that leaves while it waits for room in a budget is no error of the server", async () => {
  await using provider = await startWaitingProvider();
  await using purser = await openTestPurser({ fake: provider.fake, clock: systemClock });
  await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 0.000001 });
  const first = sendTo(purser, STREAMED);
  await asked(provider.fake);
  const client = new AbortController();
  const second = sendTo(purser, STREAMED, { signal: client.signal });
  client.abort();
  assert.equal((await second).status, 503);
  provider.answer();
  await (await first).text();
  assert.equal(provider.fake.requests.length, 1);
  assert.deepEqual(purser.logs.filter(({ level }) => level === "error"), []);
});
