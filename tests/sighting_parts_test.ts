import assert from "node:assert/strict";
import {
  bookLooseCalls,
  reportCalls,
  rollUp,
  sightCalls,
  type Sighting,
  type SightingOrigin,
} from "../src/calls/mod.ts";
import { listCosts } from "../src/ledger/mod.ts";
import { explainCall } from "../src/ledger/explain/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import { createPriceBook } from "../src/pricing/prices.ts";
import { CACHE_WRITE_LIFETIME } from "../src/pricing/usage/mod.ts";
import { createBooking, LOCAL_PRICE, type TestBooking } from "./harness/booking.ts";
import { checkTotals } from "./harness/check_books.ts";
import { dialectKinds } from "./harness/databases.ts";
import { AT, gatewayCall, LOG, sighting } from "./harness/sightings.ts";

/** The parts of a call that only its log knows are added to the row of a better witness. */

const PRICE = {
  ...LOCAL_PRICE,
  cache_write_usd_per_million: 1.25,
  cache_write_1h_usd_per_million: 2,
  web_searches_usd_per_thousand: 10,
};

const COUNTS = { inputTokens: 1_000, outputTokens: 100, cacheWriteTokens: 400 };
/** 600 x 1 + 400 x 1.25 + 100 x 4. */
const WITHOUT_SPLIT = 1_500_000n;
/** 600 x 1 + 100 x 1.25 + 300 x 2 + 100 x 4. */
const WITH_SPLIT = 1_725_000n;

type Arrival = (ctx: TestBooking) => Promise<unknown>;

/** The gateway, where neither the request nor the answer has said how long the cache is kept. */
const gateway: Arrival = (ctx) =>
  bookLooseCalls(ctx, [
    gatewayCall({
      usage: usageOf({ ...COUNTS, others: { [CACHE_WRITE_LIFETIME]: 400 } }),
      costNanoUsd: WITHOUT_SPLIT,
      unpricedParts: [CACHE_WRITE_LIFETIME],
    }),
  ]);
const report: Arrival = (ctx) =>
  reportCalls(ctx, "report", [{
    callId: "mine",
    at: AT,
    agentId: "ann",
    sessionId: "ses_a",
    runId: null,
    keyId: "key_1",
    step: null,
    tools: [],
    provider: "local",
    model: "priced",
    usage: usageOf(COUNTS),
    durationMs: null,
    responseId: "msg_012345abcdef",
  }]);
const log = (
  more: object = {},
  origin: Partial<SightingOrigin> = {},
  quality: Sighting["quality"] = "exact",
): Arrival =>
(ctx) =>
  sightCalls(ctx, { ...LOG, ...origin }, [
    sighting({ usage: usageOf({ ...COUNTS, cacheWrite1hTokens: 300, ...more }), quality }),
  ]);
const span: Arrival = (ctx) =>
  sightCalls(ctx, { ...LOG, source: "otlp", name: "exporter" }, [
    sighting({ ref: "trace:span", usage: usageOf(COUNTS) }),
  ]);
const searches = { details: { web_searches: 2 } };

const CASES: { name: string; arrivals: Arrival[]; cost: bigint; explained?: string }[] = [
  {
    name: "the gateway's call",
    arrivals: [gateway, log()],
    cost: WITH_SPLIT,
    explained: "call_1",
  },
  { name: "a span", arrivals: [span, log(searches)], cost: WITH_SPLIT + 20_000_000n },
  {
    name: "a report",
    arrivals: [report, log(searches)],
    cost: WITH_SPLIT + 20_000_000n,
    explained: "mine",
  },
  {
    name: "all of them",
    arrivals: [gateway, span, log()],
    cost: WITH_SPLIT,
    explained: "call_1",
  },
  {
    name: "the gateway's call by a log with other totals",
    arrivals: [gateway, log({ outputTokens: 90 })],
    cost: WITHOUT_SPLIT,
  },
  {
    name: "a report by the log of a call that went on",
    arrivals: [report, log(searches, {}, "provisional")],
    cost: WITHOUT_SPLIT,
  },
  {
    name: "the gateway's call of another key",
    arrivals: [gateway, log({}, { sender: { keyId: "key_2" } })],
    cost: WITHOUT_SPLIT,
  },
];

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length <= 1
    ? [[...items]]
    : items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));

const WHAT = "the split of cache writes and the searches that only a log knows are";

for (const kind of dialectKinds()) {
  for (const { name, arrivals, cost, explained } of CASES) {
    Deno.test({
      name: `${WHAT} ${cost === WITHOUT_SPLIT ? "not " : ""}added to ${name}, in any order (${kind.name})`,
      ignore: kind.ignore,
      async fn() {
        const prices = await createPriceBook({ overrides: [PRICE] });
        const orders = kind.name === "memory" ? permutations(arrivals) : [arrivals, arrivals.toReversed()];
        for (const order of orders) {
          await using database = await kind.create();
          const ctx = await createBooking(await database.open(), { prices });
          for (const arrive of order) await arrive(ctx);
          await rollUp(ctx);
          await checkTotals(ctx.store);
          const rows = await listCosts(ctx.store, { groupBy: "provider", limit: 10, offset: 0 });
          assert.deepEqual(rows.map((row) => [row.model_calls, row.cost_usd]), [[1, Number(cost) / 1e9]]);
          for (const arrive of order) if (arrive !== gateway) await arrive(ctx);
          const again = await listCosts(ctx.store, { groupBy: "provider", limit: 10, offset: 0 });
          assert.deepEqual(again, rows, "nothing is added twice");
          if (explained) {
            const { call, adjustments, witnesses } = await explainCall(ctx, explained);
            assert.equal(call.unpriced_parts, undefined);
            assert.deepEqual(adjustments.map((one) => one.is_amendment), [true]);
            const lines = adjustments[0]!.price.lines.filter(({ part }) => part === "cache_write_1h_tokens");
            assert.deepEqual(lines.map(({ quantity }) => quantity), [300]);
            assert.equal(adjustments[0]!.price.difference_usd, 0, "the price is computed again");
            const said = witnesses.flatMap((one) => one.said.map((said) => said.cache_write_1h_tokens));
            assert.ok(said.includes(300), "the witness that knows it is shown");
          }
          await ctx.rollUps.ended();
        }
      },
    });
  }
}
