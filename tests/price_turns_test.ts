import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { startOf } from "../src/contract/windows.ts";
import { fixedClock } from "../src/kernel/clock.ts";
import { type PriceBook } from "../src/pricing/mod.ts";
import { createPriceBook } from "../src/pricing/prices.ts";
import { PriceOverride } from "../src/contract/price_override.ts";
import { meter } from "../src/runner/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { createBooking } from "./harness/booking.ts";
import { kinds } from "./harness/budget_settings.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { callOptions, fakeModel } from "./harness/fake_model.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { isThorough } from "./harness/thorough.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { sendTo } from "./gateway/requests.ts";

/** Calls between whose admission and sending a price changes, or a window begins: they are of the time at which they are sent. */

const MIDNIGHT = Date.parse("2026-11-22T00:00:00.000Z");
/** The number of histories on each kind of database. */
const HISTORIES: { [kind: string]: number } = isThorough
  ? { memory: 120, postgres: 120 }
  : { memory: 24, postgres: 3 };

/** Prices in USD per million tokens, by when they begin. */
type Prices = readonly { from: number; usd: number }[];

const usdAt = (prices: Prices, at: number) => prices.findLast(({ from }) => from <= at)!.usd;

/** A book whose price changes at any millisecond, not only at midnight as those of the config. */
async function bookOf(prices: Prices): Promise<PriceBook> {
  const books = await Promise.all(prices.map(async ({ from, usd }) => ({
    from,
    book: await createPriceBook({
      overrides: [PriceOverride.parse({
        ...{ provider: "local", model: "priced", input_usd_per_million: usd, output_usd_per_million: usd },
      })],
    }),
  })));
  const at = (time: number) => books.findLast(({ from }) => from <= time)!.book;
  return {
    price: (input) => at(input.at).price(input),
    rates: (input) => at(input.at).rates(input),
    worstCaseRates: (input) => at(input.at).worstCaseRates(input),
    worstCase: (input) => at(input.at).worstCase(input),
    located: (query) => at(query.at).located(query),
  };
}

const offset = fc.integer({ min: -20, max: 20 });
const usd = fc.integer({ min: 1, max: 9 });
const history = fc.record({
  turns: fc.array(fc.record({ after: offset, usd }), { maxLength: 4 }),
  /** Prices that are loaded anew at a time, for all times. */
  update: fc.option(fc.record({ after: offset, usd }), { nil: undefined }),
  mode: fc.constantFrom("stop" as const, "strict" as const),
  /** The milliseconds that pass while each reservation is written. */
  delays: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 12 }),
  calls: fc.integer({ min: 1, max: 8 }),
});

const sentence =
  "whenever prices change and days begin, a call is booked at the price and in the day of its sending";

for (const { name, ignore, create } of kinds.filter(({ name }) => HISTORIES[name] !== undefined)) {
  const numRuns = HISTORIES[name]!;
  Deno.test({
    name: `${name}: ${sentence}`,
    ignore,
    async fn() {
      let anew = 0;
      await fc.assert(
        fc.asyncProperty(history, async ({ turns, update, mode, delays, calls }) => {
          await using database = await create();
          const clock = eagerClock(MIDNIGHT - 20);
          const prices = [
            { from: -Infinity, usd: 1 },
            ...turns.map(({ after, usd }) => ({ from: MIDNIGHT + after, usd })),
          ]
            .sort((a, b) => a.from - b.from);
          const [before, after] = [
            await bookOf(prices),
            await bookOf([{ from: -Infinity, usd: update?.usd ?? 1 }]),
          ];
          const isUpdated = (at: number) => update !== undefined && at >= MIDNIGHT + update.after;
          const current = () => isUpdated(clock.now()) ? after : before;
          const ctx = await createBooking(await database.open(), {
            clock,
            prices: Object.assign({ current }, before),
          });
          const budgets =
            "(budget_id, name, limit_nano_usd, per, scope, mode, action, warn_at, allow_unpriced, enabled, " +
            `created_at, updated_at) VALUES ('day', 'Day', 1000000000, 'day', '', '${mode}', 'refuse', '[]', 0, 1, 0, 0)`;
          await ctx.store.write([{ sql: `INSERT INTO budgets ${budgets}` }]);
          const { writeInSet } = ctx.store;
          let writes = 0;
          ctx.store.writeInSet = async (writer, item) => {
            const result = await writeInSet.call(ctx.store, writer, item);
            clock.advance(delays[writes++ % delays.length]!);
            return result as never;
          };
          const sent: { at: number; reserved: unknown[][] }[] = [];
          const fake = fakeModel(async () => {
            const at = clock.now();
            const { rows } = await ctx.store.read({
              sql: "SELECT at, worst_nano_usd, estimate_nano_usd FROM reservations WHERE scope = ''",
            });
            sent.push({ at, reserved: rows });
            return { inputTokens: 1_000, outputTokens: 100 };
          });
          const model = meter(ctx, fake.model, { agentId: "agent", provider: "local" });
          for (let call = 0; call < calls; call++) {
            await model.doGenerate(callOptions("hello", { maxOutputTokens: 100 }));
          }
          const { rows } = await ctx.store.read({
            sql: "SELECT at, cost_nano_usd FROM calls ORDER BY position",
          });
          assert.equal(rows.length, calls);
          for (const [index, { at, reserved }] of sent.entries()) {
            const price = isUpdated(at) ? update!.usd : usdAt(prices, at);
            assert.deepEqual(
              rows[index]!.map(Number),
              [at, 1_100 * price * 1_000],
              `call ${index} at ${at - MIDNIGHT}`,
            );
            const [[reservedAt, worst, estimate], ...more] = reserved.map((row) => row.map(Number)) as [
              number[],
            ];
            assert.deepEqual(more, [], "no other reservation is left");
            assert.equal(
              startOf("day", reservedAt!),
              startOf("day", at),
              "its day is the one that was decided on",
            );
            const amount = mode === "strict" ? worst! : estimate!;
            assert.ok(amount >= 1_024 * price * (mode === "strict" ? 1_000 : 0), "and so is its price");
          }
          anew += writes - 2 * calls;
          assert.equal((await ctx.store.read({ sql: "SELECT 1 FROM reservations" })).rows.length, 0);
        }),
        { numRuns },
      );
      if (numRuns >= 24) assert.ok(anew > numRuns / 4, `${anew} calls were admitted anew`);
    },
  });
}

for (const mode of ["stop", "strict"] as const) {
  Deno.test(`a call through the gateway that a ${mode} budget admits before a price rises, and that is sent after it, costs the new one`, async () => {
    const usage = { inputTokens: 1_000, outputTokens: 100 };
    await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello", usage }));
    const clock = fixedClock(MIDNIGHT - 1);
    const price = (from: string, usd: number) =>
      PriceOverride.parse({
        ...{
          provider: "openai",
          model: "gpt-4o-mini",
          from,
          input_usd_per_million: usd,
          output_usd_per_million: usd,
        },
      });
    await using purser = await openTestPurser({
      fake,
      clock,
      config: { prices: [price("2026-01-01", 1), price("2026-11-22", 3)] },
    });
    await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 1, mode });
    const { gate } = purser.core;
    const { admit } = gate;
    let admissions = 0;
    gate.admit = async (request) => {
      const admission = await admit(request);
      admissions++;
      clock.advance(1);
      return admission;
    };
    const body = {
      model: "gpt-4o-mini",
      max_completion_tokens: 100,
      messages: [{ role: "user", content: "Hi" }],
    };
    const response = await sendTo(purser, { path: "/v1/chat/completions", body });
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get("x-purser-cost-usd"), "0.0033");
    assert.equal(admissions, 2);
    const { rows } = await purser.core.store.read({ sql: "SELECT at FROM calls" });
    assert.deepEqual(rows, [[BigInt(MIDNIGHT + 1)]]);
  });
}
