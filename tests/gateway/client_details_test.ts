import assert from "node:assert/strict";
import Anthropic from "#dev/anthropic_sdk.ts";
import { OpenAI } from "#dev/openai.ts";
import { type Fixture, providerFixtures } from "../fixtures/providers/mod.ts";
import { answerTo } from "../harness/answers.ts";
import { rejection } from "../harness/test_purser.ts";
import { realClients } from "./clients/mod.ts";
import { openSetting } from "./clients/setting.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import { readCalls } from "./requests.ts";

/** The facts about published clients that the gateway is made for: they fail when a new version behaves differently. */

const fixtureOf = (api: string): Fixture => providerFixtures.find((fixture) => fixture.api === api)!;

const ASK = { max_tokens: 64, messages: [{ role: "user" as const, content: "What is 2+2?" }] };

/** The header in which each client sends its key, and the path that it calls at the bare address. */
const SENT: Record<string, [header: string, path: RegExp]> = {
  "openai, chat completions": ["authorization", /^\/v1\/chat\/completions$/],
  "openai, responses": ["authorization", /^\/v1\/responses$/],
  "@anthropic-ai/sdk, messages": ["authorization", /^\/v1\/messages$/],
  "@google/genai, generateContent": ["x-goog-api-key", /^\/v1\/models\/[^/]+:generateContent$/],
  "@google/genai, generateContent of v1beta": [
    "x-goog-api-key",
    /^\/v1beta\/models\/[^/]+:generateContent$/,
  ],
  "@langchain/openai, chat completions": ["authorization", /^\/v1\/chat\/completions$/],
  "@langchain/openai, responses": ["authorization", /^\/v1\/responses$/],
  "@langchain/anthropic, messages": ["x-api-key", /^\/v1\/messages$/],
  "ai, @ai-sdk/openai, responses": ["authorization", /^\/v1\/responses$/],
  "ai, @ai-sdk/openai, chat completions": ["authorization", /^\/v1\/chat\/completions$/],
  "ai, @ai-sdk/anthropic, messages": ["x-api-key", /^\/v1\/messages$/],
  "ai, @ai-sdk/google, generateContent": ["x-goog-api-key", /^\/v1beta\/models\/[^/]+:generateContent$/],
};

const KEY_HEADERS = ["authorization", "x-api-key", "x-goog-api-key"];

for (const client of realClients) {
  Deno.test(`${client.name}: its key comes in one header of its wire, and the provider gets its own key there`, async () => {
    await using setting = await openSetting();
    const { fake, asked, through } = setting;
    const { model, rounds, provider } = fixtureOf(client.api);
    fake.enqueue({ answer: rounds[0]!.answer });
    await client.open(through(), model).whole();
    const [{ path, headers }] = asked as [typeof asked[number]];
    const [header, expected] = SENT[client.name]!;
    assert.deepEqual(KEY_HEADERS.filter((name) => headers.has(name)), [header]);
    assert.match(path, expected);
    const sent = fake.requests[0]!.headers;
    const own = { openai: "authorization", anthropic: "x-api-key", google: "x-goog-api-key" }[provider]!;
    assert.deepEqual(KEY_HEADERS.filter((name) => name in sent), [own]);
    assert.match(sent[own]!, /^(Bearer )?not-a-key$/);
  });
}

for (const name of ["openai, chat completions", "@anthropic-ai/sdk, messages"]) {
  Deno.test(`${name}: an error that it may repeat is repeated by it alone, and only the answer is booked`, async () => {
    await using setting = await openSetting({ maxRetries: null });
    const { fake, purser, asked, through } = setting;
    const client = realClients.find((each) => each.name === name)!;
    const { api, model, rounds } = fixtureOf(client.api);
    const again = { status: api === "anthropic" ? 529 : 429, headers: { "retry-after-ms": "1" } };
    fake.enqueue(again, again, { answer: rounds[0]!.answer });
    await client.open(through(), model).whole();
    assert.equal(asked.length, 3);
    assert.deepEqual(fake.requests.map(({ headers }) => headers["x-stainless-retry-count"]), ["0", "1", "2"]);
    assert.equal(fake.requests[0]!.headers["x-stainless-lang"], "js");
    const calls = await readCalls(purser);
    assert.deepEqual(calls.map(({ cost, isEstimated }) => ({ cost, isEstimated })), [
      { cost: rounds[0]!.costNanoUsd, isEstimated: false },
    ]);
  });
}

Deno.test("an SDK with two different keys is refused once, in words that say why", async () => {
  await using setting = await openSetting({ maxRetries: null });
  const { fake, purser, asked, through } = setting;
  const { url, key } = through();
  const twoKeys = new Anthropic({ baseURL: url, apiKey: key, defaultHeaders: { "x-api-key": "another" } });
  const anthropic = await rejection(twoKeys.messages.create({ ...ASK, model: "claude-haiku-4-5" }));
  assert.ok(anthropic instanceof Anthropic.AuthenticationError);
  assert.match(anthropic.message, /hold different/);
  const openai = await rejection(
    new OpenAI({ baseURL: `${url}/v1`, apiKey: key, defaultHeaders: { "x-api-key": "another" } })
      .chat.completions.create({ ...ASK, model: "gpt-4o-mini" }),
  );
  assert.ok(openai instanceof OpenAI.AuthenticationError);
  assert.match(openai.message, /hold different/);
  assert.equal(asked.length, 2);
  assert.equal(fake.calls, 0);
  const { rounds, model } = fixtureOf("anthropic");
  fake.enqueue({ answer: rounds[0]!.answer });
  const sameTwice = new Anthropic({ baseURL: url, apiKey: key, defaultHeaders: { "x-api-key": key } });
  await sameTwice.messages.create({ ...ASK, model });
  assert.equal((await readCalls(purser)).length, 1);
});

Deno.test("an error of Purser's own has the id of the log where each SDK reads it", async () => {
  await using setting = await openSetting();
  const { purser, through } = setting;
  const { url } = through();
  const wrong = { apiKey: "psr_wrong", maxRetries: 0 };
  const errors = [
    await rejection(
      new Anthropic({ baseURL: url, ...wrong }).messages.create({ ...ASK, model: "claude-haiku-4-5" }),
    ),
    await rejection(
      new OpenAI({ baseURL: `${url}/v1`, ...wrong }).chat.completions.create({
        ...ASK,
        model: "gpt-4o-mini",
      }),
    ),
  ];
  const logged = purser.logs.filter(({ message, fields }) =>
    message === "Answered a request" && fields.status === 401
  );
  assert.equal(logged.length, 2);
  assert.deepEqual(errors.map(({ requestID }) => requestID), logged.map(({ fields }) => fields.request_id));
});

Deno.test("openai: a loop that is left early ends the provider's stream", async () => {
  await using setting = await openSetting();
  const { fake, purser, through } = setting;
  const { rounds, model } = fixtureOf("openai-chat");
  const { frames } = rounds[0]!.answer;
  const { promise: never, resolve } = Promise.withResolvers<void>();
  fake.enqueue({ paced: [...frames.slice(0, 2), never] });
  const { url, key } = through();
  const { chat } = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
  let items = 0;
  for await (const _chunk of await chat.completions.create({ ...ASK, model, stream: true })) {
    items++;
    break;
  }
  assert.equal(items, 1);
  const { signal } = fake.requests[0]!;
  if (!signal.aborted) {
    await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
  }
  resolve();
  await Promise.all([...purser.core.gateway.calls.values()].map(({ ended }) => ended));
  const [call, ...more] = await readCalls(purser);
  assert.deepEqual(more, []);
  assert.ok(call!.isEstimated && call!.cost! > 0n);
});

Deno.test("openai: a call that is given up while it waits for room in a budget never reaches the provider", async () => {
  await using setting = await openSetting();
  const { fake, purser, asked, through } = setting;
  const { model } = fixtureOf("openai-chat");
  // The call that is with the provider holds all that the budget has, and costs less.
  await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 0.00003 });
  const { promise: held, resolve } = Promise.withResolvers<void>();
  const usage = usageOf({ inputTokens: 10, outputTokens: 1 });
  const { answer } = answerTo({ api: "openai-chat", model }, { text: "4", usage });
  fake.enqueue({ answer, after: held }, { answer });
  const { url, key } = through();
  const { chat } = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  const first = chat.completions.create({ ...ASK, model });
  await until(() => fake.calls === 1);
  const leaving = new AbortController();
  const second = rejection(chat.completions.create({ ...ASK, model }, { signal: leaving.signal }));
  await until(() => asked.length === 2);
  leaving.abort();
  assert.ok(await second instanceof OpenAI.APIUserAbortError);
  // The server has seen that it is gone before there is room.
  const answered = () => purser.logs.filter(({ message }) => message === "Answered a request").length;
  await until(() => answered() === 1);
  resolve();
  await first;
  await until(() => answered() === 2);
  assert.equal(fake.calls, 1);
  assert.equal((await readCalls(purser)).length, 1);
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
}
