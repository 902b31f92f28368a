import assert from "node:assert/strict";
import { createPriceBook } from "../src/pricing/prices.ts";
import { trackAnswerUsage } from "../src/pricing/usage/mod.ts";
import {
  costOfBill,
  DIMENSIONS,
  estimateCases,
  type PriceCase,
  priceCases,
  reportCases,
  type Wire,
} from "./fixtures/prices/mod.ts";
import { LOCAL_PRICE } from "./fixtures/providers/mod.ts";
import { fixedClock } from "../src/kernel/clock.ts";
import { openTestPurser } from "./harness/test_purser.ts";

const book = await createPriceBook({ overrides: [LOCAL_PRICE] });

/** The AI SDK's names of the models of each API. */
const SDK_PROVIDERS: Record<Wire, string> = {
  chat: "openai.chat",
  responses: "openai.responses",
  anthropic: "anthropic.messages",
  gemini: "google.generative-ai",
  compatible: "somewhere.chat",
};

/** Returns the payloads of the frames of a stream, as the AI SDK passes them on. */
function chunksOf(frames: readonly string[]): unknown[] {
  return frames.flatMap((frame) => {
    const data = /^data: (.*)$/m.exec(frame)?.[1]?.trim();
    return data === undefined || data === "[DONE]" ? [] : [JSON.parse(data)];
  });
}

function priceOf({ wire, provider, model, at }: PriceCase, chunks: readonly unknown[]) {
  const answer = trackAnswerUsage(SDK_PROVIDERS[wire]);
  for (const chunk of chunks) answer.take(chunk);
  assert.equal(answer.isFinal(), true);
  const usage = answer.usage();
  assert.ok(usage);
  const price = book.price({ provider, model, at, ...answer.served(), usage, statement: answer.statement() });
  return {
    cost: price.costNanoUsd,
    unpricedParts: price.unpricedParts ?? [],
    source: price.priceSource.replace(/@.*/, "@"),
  };
}

for (const one of priceCases) {
  const { dimension, rule, provider, model, at, bill, answer, unpricedParts, source } = one;
  const time = new Date(at).toISOString();
  Deno.test(`${dimension}: ${rule}: ${provider} ${model} at ${time} costs ${bill}`, () => {
    const expected = { cost: costOfBill(bill), unpricedParts, source };
    assert.deepEqual(priceOf(one, [answer.body]), expected, "whole");
    assert.deepEqual(priceOf(one, chunksOf(answer.frames)), expected, "streamed");
  });
}

Deno.test("the table has at least 300 cases, and several of every dimension", () => {
  const dimensions = [...priceCases, ...reportCases].map(({ dimension }) => dimension);
  assert.ok(dimensions.length >= 300);
  for (const one of DIMENSIONS) {
    const count = dimensions.filter((dimension) => dimension === one).length;
    assert.ok(count + (one === "estimate" ? estimateCases.length : 0) >= 5, one);
  }
});

Deno.test("the ledger has the bill of each reported call of the table, to the nano-USD", async () => {
  await using purser = await openTestPurser({ clock: fixedClock("2027-01-02T00:00:00.000Z") });
  const events = reportCases.map(({ event }, i) => ({
    ...event,
    call_id: `report-${i}`,
    agent_id: "elsewhere",
  }));
  const { status, body } = await purser.api("POST", "/costs/events", events);
  assert.equal(status, 201, JSON.stringify(body));
  const { rows } = await purser.core.store.read({
    sql: "SELECT call_id, cost_nano_usd, unpriced_parts, price_source, is_estimated FROM calls",
  });
  const booked = new Map(rows.map(([callId, ...row]) => [callId, row]));
  const differences = reportCases.flatMap(({ dimension, event, bill, source, unpricedParts }, i) => {
    const [cost, unpriced, priceSource, isEstimated] = booked.get(`report-${i}`)!;
    const isExact = cost === costOfBill(bill) && String(priceSource).replace(/@.*/, "@") === source &&
      String(unpriced ?? "[]") === JSON.stringify(unpricedParts) &&
      Boolean(isEstimated) === (dimension === "estimate");
    return isExact
      ? []
      : [{ event, bill, unpricedParts, booked: { cost, unpriced, priceSource, isEstimated } }];
  });
  assert.deepEqual(differences, []);
});
