import assert from "node:assert/strict";
import { and, asc, gt, isNull } from "drizzle-orm";
import { bookLooseCalls } from "../src/calls/mod.ts";
import { type ModelCall, toModelCall } from "../src/ledger/mod.ts";
import { explainPrice, readRates } from "../src/ledger/explain/mod.ts";
import { type Rates, type Usage, USAGE_DETAILS, usageOf } from "../src/pricing/mod.ts";
import { priceUsage } from "../src/pricing/price_usage.ts";
import type { RateTier } from "../src/pricing/rates.ts";
import { createQuery, type Store, tables } from "../src/store/mod.ts";
import { createBooking } from "./harness/booking.ts";
import { databaseKinds } from "./harness/databases.ts";
import { seededRandom } from "./harness/random.ts";

/** The rows of the proof; a million by `PURSER_PROOF_ROWS=1000000`. */
const ROWS = Number(Deno.env.get("PURSER_PROOF_ROWS") ?? 2_000);
const ROWS_PER_BOOKING = 1_000;
const CARDS = 500;
const START = Date.parse("2026-11-01T00:00:00.000Z");

const kind = databaseKinds().find(({ name }) => name === "file")!;

Deno.test(`each of ${ROWS} random calls is computed again from what the ledger keeps, without a difference`, async () => {
  const random = seededRandom(20261122);
  await using database = await kind.create();
  const booking = await createBooking(await database.open());
  const ctx = {
    ...booking,
    rules: { mayExist: false },
    bus: { ...booking.bus, hasSubscribers: () => false },
  };
  const cards = Array.from({ length: CARDS }, () => anyCard(random));
  for (let first = 0; first < ROWS; first += ROWS_PER_BOOKING) {
    const count = Math.min(ROWS_PER_BOOKING, ROWS - first);
    await bookLooseCalls(
      ctx,
      Array.from({ length: count }, (_, index) => anyCall(random, first + index, cards)),
    );
  }
  await ctx.rollUps.ended();
  await ctx.store.close();
  const found = await proveAll(await database.open());
  assert.equal(found.rows, ROWS);
  assert.deepEqual(found.differences, []);
  for (const basis of ["rates", "stated", "reported", "none"]) assert.ok(found.bases.has(basis), basis);
  assert.ok(found.partly > 0);
});

/** Computes every call of a ledger again. */
async function proveAll(store: Store) {
  const query = createQuery(store);
  const { calls, prices } = tables;
  const cardIds = await query.select({ priceId: prices.priceId }).from(prices);
  const cards = await readRates(query, cardIds.map(({ priceId }) => priceId));
  const found = { rows: 0, partly: 0, bases: new Set<string>(), differences: [] as unknown[] };
  for (let position = 0;;) {
    const rows = await query.select().from(calls).where(
      and(gt(calls.position, position), isNull(calls.adjusts)),
    )
      .orderBy(asc(calls.position)).limit(5_000);
    if (rows.length === 0) return found;
    position = rows.at(-1)!.position;
    for (const call of rows.map(toModelCall)) {
      const { isSame, basis } = prove(call, call.priceId == null ? null : cards.get(call.priceId) ?? null);
      found.rows++;
      found.bases.add(basis);
      if (call.unpricedParts) found.partly++;
      if (!isSame && found.differences.length < 5) found.differences.push(call);
    }
  }
}

/** Computes a call again, as the price of its usage and as the sum of the lines that explain it. */
function prove(call: ModelCall, rates: Rates | null): { isSame: boolean; basis: string } {
  const { basis, difference_usd, sum_usd, lines } = explainPrice(call, call.usage, rates);
  if (rates === null) return { basis, isSame: basis === (call.costNanoUsd === null ? "none" : "reported") };
  const computed = priceUsage(rates, call.usage);
  if (basis === "stated") {
    return {
      basis,
      isSame: call.listCostNanoUsd === (computed.unpricedParts ? undefined : computed.costNanoUsd),
    };
  }
  const isSame = basis === "rates" && computed.costNanoUsd === call.costNanoUsd && difference_usd === 0 &&
    JSON.stringify(computed.unpricedParts) === JSON.stringify(call.unpricedParts) &&
    (sum_usd === null || lines.some(({ rate_usd }) => rate_usd !== null));
  return { basis, isSame };
}

type Random = ReturnType<typeof seededRandom>;

const upTo = (random: Random, most: number) => Math.floor(random() * (most + 1));
const isOnce = (random: Random, every: number) => random() * every < 1;

/** Rates in pico-USD: from 0 to 1,000 USD per million tokens, most of them small. */
const anyRate = (random: Random) => BigInt(upTo(random, isOnce(random, 10) ? 1_000_000_000 : 30_000_000));

function anyTier(random: Random, aboveInputTokens: number): RateTier {
  const rate = () => anyRate(random);
  const details = USAGE_DETAILS.flatMap((name) => isOnce(random, 2) ? [[name, rate() * 1_000n]] : []);
  return {
    aboveInputTokens,
    input: rate(),
    output: isOnce(random, 20) ? null : rate(),
    reasoning: isOnce(random, 20) ? null : rate(),
    cacheRead: rate(),
    cacheWrite: rate(),
    cacheWrite1h: rate(),
    ...(details.length > 0 && { details: Object.fromEntries(details) }),
    ...(isOnce(random, 5) && { request: rate() * 1_000n }),
  };
}

function anyCard(random: Random): Rates {
  const tiers = Array.from(
    { length: 1 + upTo(random, 2) },
    (_, index) => anyTier(random, index === 0 ? -1 : index * 200_000),
  );
  return {
    source: `genai-prices@2026-11-${10 + upTo(random, 19)}`,
    tiers,
    ...(isOnce(random, 3) && { model: "another-name" }),
    ...(isOnce(random, 10) && { unknown: ["service_tier"] }),
  };
}

function anyUsage(random: Random): Usage {
  const count = () => isOnce(random, 4) ? 0 : upTo(random, isOnce(random, 3) ? 300_000 : 5_000);
  const [text, read, written, written1h, output, reasoning] = [
    count(),
    count(),
    count(),
    count(),
    count(),
    count(),
  ];
  if (!isOnce(random, 3)) {
    return usageOf({
      inputTokens: text + read + written + written1h,
      cacheReadTokens: read,
      cacheWriteTokens: written + written1h,
      cacheWrite1hTokens: written1h,
      outputTokens: output + reasoning,
      reasoningTokens: reasoning,
    });
  }
  const details = Object.fromEntries(
    USAGE_DETAILS.map((name) => [name, isOnce(random, 2) ? 0 : upTo(random, 5_000)]),
  );
  const of = (name: typeof USAGE_DETAILS[number]) => details[name]!;
  const media = (modality: "audio" | "image") =>
    of(`input_${modality}_tokens`) + of(`cache_read_${modality}_tokens`);
  const cacheRead = read + of("cache_read_audio_tokens") + of("cache_read_image_tokens");
  const cacheWrite = written + written1h + of("cache_write_12h_tokens");
  return usageOf({
    inputTokens: text + cacheRead + cacheWrite + of("input_audio_tokens") + of("input_image_tokens") +
      of("input_video_tokens"),
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    cacheWrite1hTokens: written1h,
    outputTokens: output + reasoning + of("output_audio_tokens") + of("output_image_tokens") +
      of("output_video_tokens"),
    reasoningTokens: reasoning,
    details: { ...details, input_audio_tokens: media("audio"), input_image_tokens: media("image") },
  });
}

/** A call as it is booked: by its rates, at the provider's or the reporter's cost, or without a price. */
function anyCall(random: Random, index: number, cards: readonly Rates[]): ModelCall {
  const rates = cards[upTo(random, cards.length - 1)]!;
  const usage = anyUsage(random);
  const cost = priceUsage(rates, usage);
  const stated = BigInt(upTo(random, 1_000_000_000));
  const price = isOnce(random, 10)
    ? {
      costNanoUsd: stated,
      priceSource: "provider",
      rates,
      ...(cost.costNanoUsd !== null && !cost.unpricedParts && { listCostNanoUsd: cost.costNanoUsd }),
    }
    : isOnce(random, 10)
    ? { costNanoUsd: stated, priceSource: "reported" }
    : cost.costNanoUsd === null || isOnce(random, 20)
    ? { costNanoUsd: null, priceSource: "none", rates: null }
    : { ...cost, priceSource: rates.source, rates };
  return {
    callId: `call_${String(index).padStart(8, "0")}`,
    at: START + index * 7_000,
    agentId: `agent_${index % 7}`,
    sessionId: null,
    runId: null,
    step: null,
    tools: [],
    provider: "openai",
    model: `model-${index % 11}`,
    usage,
    durationMs: 5,
    isEstimated: isOnce(random, 10),
    serviceTier: isOnce(random, 5) ? "flex" : null,
    ...(isOnce(random, 20) && { speed: "fast" }),
    ...price,
  };
}
