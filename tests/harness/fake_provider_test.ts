import assert from "node:assert/strict";
import { APICallError, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { usageOf } from "../../src/pricing/mod.ts";
import { createPriceBook } from "../../src/pricing/prices.ts";
import { trackAnswerUsage, usageFromAiSdk } from "../../src/pricing/usage/mod.ts";
import { type Fixture, FIXTURE_AT, LOCAL_PRICE, providerFixtures } from "../fixtures/providers/mod.ts";
import { answerTo } from "./answers.ts";
import { type FakeProvider, type Reply, startFakeProvider } from "./fake_provider.ts";
import { meteredModel, realModel } from "./metered_models.ts";

const calculator = tool({
  description: "Works out an arithmetic expression",
  inputSchema: z.object({ expression: z.string() }),
  execute: ({ expression }) => ({ expression, result: 4 }),
});

/** Known to the AI SDK, so that it logs no warning. */
const MODEL = "claude-haiku-4-5";

const APIS = ["openai-chat", "openai-responses", "anthropic", "google", "openai-compatible"] as const;

async function play(fake: FakeProvider, fixture: Fixture, isStreamed: boolean) {
  fake.enqueue(...fixture.rounds.map(({ answer }) => ({ answer })));
  const real = realModel(fake, fixture.api, fixture.model, fixture.provider);
  const { model, usages } = meteredModel(real);
  const call = {
    model,
    prompt: "What is 2+2?",
    stopWhen: stepCountIs(5),
    maxRetries: 0,
    tools: fixture.rounds.length > 1 ? { calculator } : undefined,
  };
  const text = isStreamed ? await streamText(call).text : (await generateText(call)).text;
  return { text, usages, provider: real.provider };
}

for (const fixture of providerFixtures) {
  for (const isStreamed of [false, true]) {
    Deno.test(`${fixture.name}, ${isStreamed ? "streamed" : "whole"}, is booked to the nano-USD`, async () => {
      await using fake = await startFakeProvider();
      const book = await createPriceBook({ overrides: [LOCAL_PRICE] });
      const { text, usages, provider } = await play(fake, fixture, isStreamed);
      assert.notEqual(text, "");
      assert.equal(fake.calls, fixture.rounds.length);
      assert.equal(usages.length, fixture.rounds.length);
      for (const [i, round] of fixture.rounds.entries()) {
        const usage = usageFromAiSdk(provider, usages[i]!);
        assert.deepEqual(usage, round.usage);
        const price = book.price({ provider: fixture.provider, model: fixture.model, at: FIXTURE_AT, usage });
        assert.equal(price.costNanoUsd, round.costNanoUsd);
      }
      assert.ok(fake.requests.every((request) => request.isStreamed === isStreamed));
    });
  }
}

function framesOf(api: (typeof APIS)[number]): readonly string[] {
  const wire = api === "openai-compatible" ? "openai-chat" : api;
  return answerTo({ api: wire, model: MODEL }, { text: "Half an answer" }).answer.frames;
}

async function ask(reply: Reply, api: (typeof APIS)[number], isStreamed: boolean) {
  await using fake = await startFakeProvider(() => reply);
  const real = realModel(fake, api, MODEL);
  const { model, usages } = meteredModel(real);
  const chunks = trackAnswerUsage(real.provider);
  const call = { model, prompt: "Hi", maxRetries: 0 };
  let error: unknown;
  try {
    if (!isStreamed) await generateText(call);
    else {
      for await (const part of streamText({ ...call, includeRawChunks: true, onError() {} }).fullStream) {
        if (part.type === "error") error = part.error;
        if (part.type === "raw") chunks.take(part.rawValue);
      }
    }
  } catch (thrown) {
    error = thrown;
  }
  return { error, usages, chunks };
}

for (const api of APIS) {
  Deno.test(`the fake ${api} refuses as its provider does`, async () => {
    const { error } = await ask(
      { status: 429, message: "Slow down", headers: { "retry-after": "7" } },
      api,
      false,
    );
    assert.ok(APICallError.isInstance(error));
    assert.equal(error.statusCode, 429);
    assert.equal(error.message, "Slow down");
    assert.equal(error.isRetryable, true);
    assert.equal(error.responseHeaders?.["retry-after"], "7");
    const bad = await ask({ status: 400, message: "Bad request" }, api, true);
    assert.ok(APICallError.isInstance(bad.error));
    assert.equal(bad.error.isRetryable, false);
  });

  Deno.test(`the fake ${api} can answer rubbish`, async () => {
    for (const text of ["<html>Bad gateway</html>", '{"surprise":true}', "[]"]) {
      const { error } = await ask({ text }, api, false);
      // Gemini's schema has no required fields: wrong JSON is an empty response there.
      if (api !== "google" || text !== '{"surprise":true}') assert.ok(error, text);
    }
  });

  Deno.test(`the fake ${api} can break a stream before its usage`, async () => {
    const { error, usages, chunks } = await ask({ brokenAfter: framesOf(api).slice(0, 1) }, api, true);
    assert.ok(error);
    assert.equal(usages.length, 0);
    assert.equal(chunks.isFinal(), false);
  });

  Deno.test(`the fake ${api} can break a stream after its usage, which the AI SDK then loses`, async () => {
    const frames = framesOf(api);
    // Without the end that follows the usage in the streams that have one.
    const isLastUsage = api === "openai-responses" || api === "google";
    const { error, usages, chunks } = await ask(
      { brokenAfter: isLastUsage ? frames : frames.slice(0, -1) },
      api,
      true,
    );
    assert.ok(error);
    assert.equal(usages.length, 0);
    assert.equal(chunks.isFinal(), true);
    assert.deepEqual(chunks.usage(), usageOf({ inputTokens: 10, outputTokens: 2 }));
  });

  Deno.test(`the fake ${api} can hang until its client gives up`, async () => {
    const abort = new AbortController();
    await using fake = await startFakeProvider(() => {
      abort.abort(new Error("enough"));
      return { hang: true };
    });
    const { model } = meteredModel(realModel(fake, api, MODEL));
    await assert.rejects(generateText({ model, prompt: "Hi", maxRetries: 0, abortSignal: abort.signal }));
    assert.equal(fake.calls, 1);
  });

  Deno.test(`the fake ${api} answers any request with the given usage`, async () => {
    const usage = {
      inputTokens: 100,
      outputTokens: 20,
      cacheReadTokens: 30,
      cacheWriteTokens: api === "google" ? 0 : 40,
      cacheWrite1hTokens: api === "anthropic" ? 15 : 0,
      reasoningTokens: 7,
    };
    await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi", usage }));
    const real = realModel(fake, api, MODEL);
    const { model, usages } = meteredModel(real);
    assert.equal((await generateText({ model, prompt: "Hi" })).text, "Hi");
    assert.equal(await streamText({ model, prompt: "Hi" }).text, "Hi");
    assert.deepEqual(usages.map((each) => usageFromAiSdk(real.provider, each)), [usage, usage]);
  });
}

Deno.test("the fake provider can wait for a promise before it answers", async () => {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  await using fake = await startFakeProvider((request) => {
    asked.resolve();
    return { ...answerTo(request, { text: "Late" }), after: gate.promise };
  });
  let isDone = false;
  const answered = generateText({ model: realModel(fake, "openai-chat", "m"), prompt: "Hi" }).then(
    (result) => {
      isDone = true;
      return result.text;
    },
  );
  await asked.promise;
  assert.equal(isDone, false);
  gate.resolve();
  assert.equal(await answered, "Late");
});

Deno.test("the fake provider can hold a stream between two frames", async () => {
  const gate = Promise.withResolvers<void>();
  await using fake = await startFakeProvider((request) => {
    const [first, second, ...rest] = answerTo(request, { text: "Half half" }).answer.frames;
    return { paced: [first!, second!, gate.promise, ...rest] };
  });
  const deltas: string[] = [];
  for await (
    const delta of streamText({ model: realModel(fake, "openai-chat", "m"), prompt: "Hi" }).textStream
  ) {
    deltas.push(delta);
    gate.resolve();
  }
  assert.equal(deltas.join(""), "Half half");
});

Deno.test("the fake provider closes with a request in flight", async () => {
  const asked = Promise.withResolvers<void>();
  const fake = await startFakeProvider(() => {
    asked.resolve();
    return { hang: true };
  });
  const answered = generateText({ model: realModel(fake, "anthropic", MODEL), prompt: "Hi", maxRetries: 0 });
  await asked.promise;
  await Promise.all([fake.close(), assert.rejects(answered)]);
});

Deno.test("the fake provider refuses a request without a reply left", async () => {
  await using fake = await startFakeProvider();
  const error = await generateText({ model: realModel(fake, "openai-chat", "m"), prompt: "Hi" }).catch((e) =>
    e
  );
  assert.match(String(error), /no reply for request 1/);
  assert.equal(fake.calls, 1);
});
