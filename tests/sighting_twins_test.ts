import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { bookLooseCalls, rollUp, sightCalls } from "../src/calls/mod.ts";
import { listCosts } from "../src/ledger/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { checkTotals } from "./harness/check_books.ts";
import { dialectKinds } from "./harness/databases.ts";
import { cases } from "./harness/thorough.ts";
import { gatewayCall, LOG, sighting } from "./harness/sightings.ts";

/** A call of the gateway, or the record of a log without an id of the answer, by its number. */
type Arrival = readonly ["gateway" | "log", number];

/** Some of them know the id of the request. */
const record = (number: number) =>
  sighting({
    ref: `ses_a:${number}`,
    responseId: undefined,
    requestId: number % 2 === 0 ? undefined : `req_012345abcdef${number}`,
  });
const call = (number: number) =>
  gatewayCall({
    callId: `call_${number}`,
    responseId: `msg_012345abcdef${number}`,
    ...(number > 1 && { requestId: `req_012345abcdef${number}` }),
  });

const numbers = (source: Arrival[0], count: number) =>
  Array.from({ length: count }, (_, number): Arrival => [source, number]);

/** Some arrivals in any order, divided into those of one commit, or of one moment. */
const anyArrivals = fc.tuple(fc.nat(4), fc.nat(4)).chain(([calls, records]) => {
  const all = [...numbers("gateway", calls), ...numbers("log", records)];
  return fc.tuple(
    fc.constant(Math.max(calls, records)),
    fc.shuffledSubarray(all, { minLength: all.length }),
    fc.array(fc.integer({ min: 1, max: 4 }), { minLength: all.length, maxLength: all.length }),
    fc.boolean(),
  );
});

/** Two records, then two calls in one commit. */
const TWINS: [number, Arrival[], number[], boolean] = [
  2,
  [["log", 0], ["log", 1], ["gateway", 0], ["gateway", 1]],
  [2, 2, 1, 1],
  true,
];

function groupsOf(arrivals: readonly Arrival[], sizes: readonly number[]): Arrival[][] {
  const groups: Arrival[][] = [];
  for (let start = 0; start < arrivals.length; start += groups.at(-1)!.length) {
    groups.push(arrivals.slice(start, start + sizes[groups.length]!));
  }
  return groups;
}

for (const kind of dialectKinds()) {
  Deno.test({
    name:
      `calls with the same counts take one record of a log each, in any order and grouping (${kind.name})`,
    ignore: kind.ignore,
    async fn() {
      await fc.assert(
        fc.asyncProperty(anyArrivals, async ([expected, arrivals, sizes, isOneBooking]) => {
          await using database = await kind.create();
          const ctx = await createBooking(await database.open());
          for (const group of groupsOf(arrivals, sizes)) {
            const calls = group.filter(([source]) => source === "gateway").map(([, number]) => call(number));
            const records = group.filter(([source]) => source === "log").map(([, number]) => record(number));
            await Promise.all([
              ...(isOneBooking ? [calls] : calls.map((one) => [one])).map((some) =>
                bookLooseCalls(ctx, some)
              ),
              sightCalls(ctx, LOG, records),
            ]);
          }
          await rollUp(ctx);
          await checkTotals(ctx.store);
          const [row] = await listCosts(ctx.store, { groupBy: "provider", limit: 10, offset: 0 });
          assert.equal(row?.model_calls ?? 0, expected);
          await ctx.rollUps.ended();
        }),
        { examples: [[TWINS]], numRuns: cases(kind.name === "memory" ? 60 : 3) },
      );
    },
  });
}

for (const kind of dialectKinds()) {
  Deno.test({
    name: `of calls with the same counts, a record is of the one with the id of its request (${kind.name})`,
    ignore: kind.ignore,
    async fn() {
      const log = (ctx: TestBooking, ...numbers: number[]) =>
        sightCalls(ctx, LOG, numbers.map((number) => ({ ...record(number), branch: `b${number}` })));
      const orders = [
        async (ctx: TestBooking) => {
          await bookLooseCalls(ctx, [call(1), call(3)]);
          await log(ctx, 3);
        },
        async (ctx: TestBooking) => {
          await log(ctx, 1, 3);
          await bookLooseCalls(ctx, [call(3)]);
        },
      ];
      for (const order of orders) {
        await using database = await kind.create();
        const ctx = await createBooking(await database.open());
        await order(ctx);
        const { rows } = await ctx.store.read({ sql: "SELECT call_id, tags FROM call_tags" });
        assert.deepEqual(rows.map(([id, tags]) => [id, JSON.parse(tags as string).branch]), [[
          "call_3",
          "b3",
        ]]);
        await ctx.rollUps.ended();
      }
    },
  });
}

for (const kind of dialectKinds()) {
  Deno.test({
    name:
      `two calls of a commit with one placeholder id are booked, and one takes the record of a log (${kind.name})`,
    ignore: kind.ignore,
    async fn() {
      await using database = await kind.create();
      const ctx = await createBooking(await database.open());
      const responseId = "chatcmpl-123";
      await sightCalls(ctx, LOG, [sighting({ responseId, requestId: undefined })]);
      await bookLooseCalls(ctx, ["a", "b"].map((callId) => gatewayCall({ callId, responseId })));
      const [row] = await listCosts(ctx.store, { groupBy: "provider", limit: 10, offset: 0 });
      assert.equal(row?.model_calls, 2);
      await ctx.rollUps.ended();
    },
  });
}

for (const kind of dialectKinds()) {
  Deno.test({
    name: `a call that its client has stopped is one row, without an id, in any order (${kind.name})`,
    ignore: kind.ignore,
    async fn() {
      const stopped = sighting({
        responseId: undefined,
        requestId: undefined,
        quality: "provisional",
        usage: usageOf({ inputTokens: 1_000, outputTokens: 5 }),
      });
      const gateway = (ctx: TestBooking) => bookLooseCalls(ctx, [gatewayCall({ isEstimated: true })]);
      const log = (ctx: TestBooking) => sightCalls(ctx, LOG, [stopped]);
      for (const order of [[gateway, log], [log, gateway]]) {
        await using database = await kind.create();
        const ctx = await createBooking(await database.open());
        for (const arrive of order) await arrive(ctx);
        const [row] = await listCosts(ctx.store, { groupBy: "provider", limit: 10, offset: 0 });
        assert.deepEqual([row?.model_calls, row?.output_tokens], [1, 631]);
        await ctx.rollUps.ended();
      }
    },
  });
}
