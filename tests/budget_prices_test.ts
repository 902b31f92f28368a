import assert from "node:assert/strict";
import { generateText } from "ai";
import { BudgetExceededError } from "../src/kernel/errors.ts";
import { PriceOverride } from "../src/contract/price_override.ts";
import { createPriceBook } from "../src/pricing/prices.ts";
import { meter, type MeterContext } from "../src/runner/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { checkAllFree, countReservations, kinds, RUN } from "./harness/budget_settings.ts";
import type { DatabaseKind } from "./harness/databases.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { callOptions, fakeModel } from "./harness/fake_model.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { realModel } from "./harness/metered_models.ts";
import { openTestPurser, rejection } from "./harness/test_purser.ts";

const MIDNIGHT = Date.parse("2026-11-22T00:00:00.000Z");

const databases = kinds.filter(({ name }) => name === "memory" || name === "postgres");

const price = (from: string, usd: number) =>
  PriceOverride.parse({
    provider: "local",
    model: "priced",
    from,
    input_usd_per_million: usd,
    output_usd_per_million: usd,
  });

/** A price that doubles at midnight, a second from now. */
async function risingPrices(factor: number) {
  const overrides = [price("2026-01-01", 1), price("2026-11-22", factor)];
  return await createPriceBook({ overrides });
}

const cost = async (ctx: TestBooking) =>
  (await ctx.store.read({ sql: "SELECT coalesce(sum(cost_nano_usd), 0) FROM calls" })).rows[0]![0] as bigint;

/** Waits for a condition. */
async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 10_000 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, 0));
  assert.ok(condition(), "it never came true");
}

/** Makes two calls of which the second waits for the first until after midnight, and then takes nearly all of its bound. */
async function callOverMidnight({ create }: DatabaseKind, limitUsd: number, factor: number) {
  await using database = await create();
  const clock = eagerClock(MIDNIGHT - 1_000);
  const ctx = await createBooking(await database.open(), { clock, prices: await risingPrices(factor) });
  const first = Promise.withResolvers<void>();
  const fake = fakeModel(async ({ maxOutputTokens }, number) => {
    if (number === 0) await first.promise;
    return { inputTokens: number === 0 ? 100 : 1_100, outputTokens: maxOutputTokens! };
  });
  const model = meter(ctx, fake.model, {
    agentId: "agent",
    runId: RUN,
    provider: "local",
    costBudgetUsd: limitUsd,
    budgetMode: "strict",
  });
  const one = model.doGenerate(callOptions("hello", { maxOutputTokens: 1_000 }));
  await until(() => fake.calls() === 1);
  const two = model.doGenerate(callOptions("hello", { maxOutputTokens: 1_000 }));
  await until(() => clock.now() >= MIDNIGHT);
  first.resolve();
  const outcomes = await Promise.allSettled([one, two]);
  const limit = BigInt(Math.round(limitUsd * 1e9));
  await checkAllFree(ctx, limit);
  return { outcomes, spent: await cost(ctx), limit, calls: fake.calls(), errors: ctx.errors };
}

/** Declares a test for every database. */
function test(sentence: string, body: (kind: DatabaseKind) => Promise<void>): void {
  for (const kind of databases) {
    Deno.test({ name: `${kind.name}: ${sentence}`, ignore: kind.ignore, fn: () => body(kind) });
  }
}

test("a strict budget covers a price that rises while a call waits: its output limit is lowered", async (kind) => {
  const { outcomes, spent, limit, calls } = await callOverMidnight(kind, 0.0042, 2);
  assert.deepEqual(outcomes.map(({ status }) => status), ["fulfilled", "fulfilled"]);
  assert.equal(calls, 2);
  assert.ok(spent <= limit && spent > 3_500_000n, `${spent} of ${limit}`);
});

test("a strict budget refuses a call that no longer fits once its price has risen", async (kind) => {
  const { outcomes, spent, limit, calls } = await callOverMidnight(kind, 0.0042, 4);
  assert.deepEqual(outcomes.map(({ status }) => status), ["fulfilled", "rejected"]);
  assert.ok((outcomes[1] as PromiseRejectedResult).reason instanceof BudgetExceededError);
  assert.equal(calls, 1);
  assert.ok(spent <= limit, `${spent} of ${limit}`);
});

test("a call that was admitted before a price rises is admitted anew, priced and booked as of its sending", async (kind) => {
  await using database = await kind.create();
  const clock = eagerClock(MIDNIGHT - 1);
  const ctx = await createBooking(await database.open(), { clock, prices: await risingPrices(2) });
  const { admit } = ctx.gate;
  const reserved: unknown[] = [];
  ctx.gate.admit = async (request) => {
    const admission = await admit(request);
    const { rows } = await ctx.store.read({ sql: "SELECT at, worst_nano_usd FROM reservations" });
    reserved.push(...rows);
    clock.advance(1);
    return admission;
  };
  const fake = fakeModel(() => Promise.resolve({ inputTokens: 10, outputTokens: 100 }));
  const model = meter(ctx, fake.model, {
    agentId: "agent",
    provider: "local",
    costBudgetUsd: 1,
    budgetMode: "strict",
  });
  await model.doGenerate(callOptions("hello", { maxOutputTokens: 100 }));
  const [[before, bound], [after, doubled]] = reserved as [[bigint, bigint], [bigint, bigint]];
  assert.deepEqual([before, after], [BigInt(MIDNIGHT - 1), BigInt(MIDNIGHT)]);
  assert.equal(doubled, 2n * bound);
  assert.equal(fake.calls(), 1);
  const { rows } = await ctx.store.read({ sql: "SELECT at, cost_nano_usd FROM calls ORDER BY at" });
  assert.deepEqual(rows, [[BigInt(MIDNIGHT + 1), 220_000n]]);
  assert.equal(await countReservations(ctx.store), 0);
});

const UNPRICED = "local:unheard-of";

Deno.test("allow_unpriced lets a run of a model without a price pass under a strict budget", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Free?" }));
  await using purser = await openTestPurser({ fake });
  const agent = { model: UNPRICED, cost_budget_usd: 0.01, budget_mode: "strict", allow_unpriced: true };
  await purser.api("PUT", "/agents/a", { ...agent, max_output_tokens: 77 });
  const { status, body } = await purser.api("POST", "/agents/a/runs", { input: "Go", session_id: "s1" });
  assert.equal(status, 200);
  const { cost_usd, unpriced_calls, model_calls } = body.token_usage;
  assert.deepEqual([cost_usd, unpriced_calls, model_calls], [null, 1, 1]);
  assert.equal(fake.requests[0]!.body.max_tokens, 77, "its output limit is its own");
  assert.equal(await countReservations(purser.core.store), 0);
  const { status: streamed } = await purser.fetch("POST", "/agents/a/runs", {
    body: { input: "Go" },
    headers: { accept: "text/event-stream" },
  });
  assert.equal(streamed, 200);
});

async function openMeter(context: Partial<MeterContext>) {
  const fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  const purser = await openTestPurser({ fake });
  const metered = (model: string, more: Partial<MeterContext> = {}) =>
    meter(purser.core, realModel(fake, "openai-compatible", model), {
      agentId: "outside",
      runId: "run_mixed",
      budgetMode: "strict",
      allowUnpriced: true,
      ...context,
      ...more,
    });
  return {
    fake,
    purser,
    metered,
    async [Symbol.asyncDispose]() {
      await purser[Symbol.asyncDispose]();
      await fake.close();
    },
  };
}

const PNG = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]);

Deno.test("allowUnpriced lets unpriced calls of a meter pass under a strict budget, also those without a bound", async () => {
  await using test = await openMeter({ costBudgetUsd: 0.01 });
  const model = test.metered("unheard-of");
  await Promise.all(Array.from({ length: 8 }, () => generateText({ model, prompt: "Hi" })));
  await generateText({
    model,
    messages: [{ role: "user", content: [{ type: "file", data: PNG, mediaType: "image/png" }] }],
  });
  assert.equal(test.fake.calls, 9);
});

Deno.test("allowUnpriced does not spare a model with a price its bound under a strict budget", async () => {
  await using test = await openMeter({ costBudgetUsd: 0.000_001 });
  const tight = await rejection(generateText({ model: test.metered("my-model"), prompt: "Hi" }));
  assert.match(tight.message, /might cost more than is left/);
  const file = { type: "file" as const, data: PNG, mediaType: "image/png" };
  const unbounded = await rejection(generateText({
    model: test.metered("my-model", { costBudgetUsd: 1 }),
    messages: [{ role: "user", content: [file] }],
  }));
  assert.match(unbounded.message, /its prompt holds a file/);
  assert.equal(test.fake.calls, 0);
});

Deno.test("once priced calls have spent a strict budget, unpriced calls of its run are refused too", async () => {
  await using test = await openMeter({ costBudgetUsd: 0.01 });
  await generateText({ model: test.metered("my-model"), prompt: "Hi", maxOutputTokens: 1 });
  await generateText({ model: test.metered("unheard-of"), prompt: "Hi" });
  const spent = await rejection(
    generateText({ model: test.metered("unheard-of", { costBudgetUsd: 0.000_000_001 }), prompt: "Hi" }),
  );
  assert.match(spent.message, /it has cost/);
  assert.equal(test.fake.calls, 2);
});

Deno.test("without allowUnpriced, a model whose price is not known is refused under a strict budget", async () => {
  await using test = await openMeter({ costBudgetUsd: 1, allowUnpriced: false });
  assert.throws(() => test.metered("unheard-of"), /no price is known/);
});
