import assert from "node:assert/strict";
import {
  bookLooseCalls,
  reportCalls,
  sightCalls,
  type Sighting,
  type SightingOrigin,
} from "../src/calls/mod.ts";
import { readCostTotal } from "../src/ledger/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import type { TestBooking } from "./harness/booking.ts";
import { checkTotals } from "./harness/check_books.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { bookingTests } from "./harness/booking_tests.ts";
import { dialectKinds } from "./harness/databases.ts";
import { gatewayCall, LOG, sighting } from "./harness/sightings.ts";

/** A key takes none of the calls that another key has reported out of the bill. */

const OWN: SightingOrigin = { ...LOG, sender: { keyId: "key_1" } };
const OTHER: SightingOrigin = { ...LOG, sender: { keyId: "key_2" } };
const SMALL = usageOf({ inputTokens: 1_000, outputTokens: 5 });
const second: Partial<Sighting> = {
  ref: "msg_2",
  responseId: "msg_6789abcdef01",
  requestId: "req_6789abcdef01",
  usage: usageOf({ inputTokens: 3_000, outputTokens: 200 }),
};

async function sums({ store }: TestBooking) {
  const { model_calls, output_tokens, cost_usd, plan_usd } = await readCostTotal(store, {});
  return [model_calls, output_tokens, cost_usd, plan_usd];
}

for (const kind of dialectKinds()) {
  const test = bookingTests(kind, { clock: () => eagerClock(), check: ({ store }) => checkTotals(store) });

  test("a sighting that has the ids of two calls of another key takes neither out of the bill", async (ctx) => {
    await sightCalls(ctx, OWN, [sighting(), sighting(second)]);
    const before = await sums(ctx);
    assert.equal(before[0], 2);
    for (const source of ["log", "otlp", "report"] as const) {
      const liar = { ...OTHER, source, name: `liar-${source}` };
      await sightCalls(ctx, liar, [sighting({ ref: "msg_3", requestId: second.requestId! })]);
      await sightCalls(ctx, { ...liar, name: OWN.name }, [sighting({ responseId: second.responseId! })]);
    }
    assert.deepEqual(await sums(ctx), before);
    await sightCalls(ctx, OWN, [sighting({ ref: "msg_4", requestId: second.requestId! })]);
    assert.equal((await sums(ctx))[0], 1);
  });

  test("a sighting that has the id of a call of the gateway leaves that of another key in the bill", async (ctx) => {
    await bookLooseCalls(ctx, [gatewayCall()]);
    await sightCalls(ctx, OWN, [sighting(second)]);
    const before = await sums(ctx);
    assert.equal(before[0], 2);
    await sightCalls(ctx, OTHER, [sighting({ ref: "msg_3", requestId: second.requestId! })]);
    assert.deepEqual(await sums(ctx), before);
  });

  test("any number of statements of another key leaves the end of a call to its own", async (ctx) => {
    await sightCalls(ctx, OWN, [sighting({ quality: "provisional", usage: SMALL })]);
    const many = Array.from(
      { length: 10 },
      (_, index) => sighting({ usage: usageOf({ inputTokens: 1_000, outputTokens: 50_000 + index }) }),
    );
    await sightCalls(ctx, OTHER, many);
    const { amended } = await sightCalls(ctx, OWN, [sighting()]);
    assert.equal(amended, 1);
    assert.deepEqual((await sums(ctx)).slice(0, 2), [1, 631]);
  });

  test("a sighting under the name of another key's leaves the end of that call to its own", async (ctx) => {
    const early = {
      responseId: undefined,
      requestId: undefined,
      quality: "provisional",
      usage: SMALL,
    } as const;
    await sightCalls(ctx, OWN, [sighting(early)]);
    await sightCalls(ctx, OTHER, [sighting(second)]);
    const { ref: _, ...ids } = second;
    await sightCalls(ctx, OTHER, [sighting(ids), sighting({ ...ids, ref: "msg_2", durationMs: 1 })]);
    await sightCalls(ctx, OWN, [sighting({ ...early, quality: "exact", usage: sighting().usage })]);
    assert.deepEqual((await sums(ctx)).slice(0, 2), [2, 831]);
  });

  test("a more trusted source of another key corrects no call to a lower cost", async (ctx) => {
    const priced = { ...second, statedCostUsd: "0.5", model: "unpriced" };
    await sightCalls(ctx, OWN, [sighting(priced)]);
    for (const source of ["otlp", "report"] as const) {
      const other = { ...OTHER, source, name: source };
      await sightCalls(ctx, other, [sighting({ ...priced, ref: "span", statedCostUsd: "0.1" })]);
    }
    assert.deepEqual(await sums(ctx), [1, 200, 0.5, undefined]);
  });

  test("a report of another key takes no call of a log out of the bill", async (ctx) => {
    await sightCalls(ctx, OWN, [sighting()]);
    const call = { ...gatewayCall({ usage: SMALL }), agentId: OTHER.agentId };
    await reportCalls(ctx, "report", [{ ...call, keyId: "key_2", costUsd: 0.000001 }]);
    assert.deepEqual((await sums(ctx)).slice(0, 3), [2, 636, 0.003525]);
    await reportCalls(ctx, "report", [{
      ...call,
      callId: "call_2",
      keyId: "key_2",
      costUsd: 1,
      isPlan: true,
    }]);
    assert.deepEqual((await sums(ctx)).slice(0, 3), [3, 641, 0.003525]);
    await sightCalls(ctx, OWN, [sighting({ isPlan: true }), sighting({ usage: second.usage! })]);
    assert.equal((await sums(ctx))[0], 3);
    await reportCalls(ctx, "report", [{ ...call, callId: "call_3", keyId: "key_1" }]);
    assert.equal((await sums(ctx))[0], 3);
  });

  test("a report among sightings takes the place of what a log has led to", async (ctx) => {
    await sightCalls(ctx, OWN, [sighting()]);
    const { amended } = await sightCalls(ctx, { ...OWN, source: "report" }, [sighting()]);
    assert.equal(amended, 1);
    assert.deepEqual((await sums(ctx)).slice(0, 3), [1, 631, 0.003524]);
  });

  test("a key that has corrected a call of another key may not take it out of the bill then", async (ctx) => {
    await sightCalls(ctx, OWN, [sighting()]);
    const exporter = { ...OTHER, source: "otlp", name: "exporter" } as const;
    const more = usageOf({ inputTokens: 1_000, outputTokens: 700 });
    await sightCalls(ctx, exporter, [sighting({ ref: "span", usage: more })]);
    const before = await sums(ctx);
    assert.deepEqual(before.slice(0, 2), [1, 700]);
    await sightCalls(ctx, exporter, [sighting({ ref: "span", usage: more, isPlan: true })]);
    await sightCalls(ctx, OTHER, [sighting({ isPlan: true })]);
    await sightCalls(ctx, exporter, [sighting({ ref: "span", usage: usageOf({ outputTokens: 800 }) })]);
    assert.deepEqual(await sums(ctx), before);
    for (const outputTokens of [900, 950]) {
      await sightCalls(ctx, OWN, [sighting({ usage: usageOf({ inputTokens: 1_000, outputTokens }) })]);
      assert.deepEqual((await sums(ctx)).slice(0, 2), [1, outputTokens], "its own key has the last word");
    }
    const most = usageOf({ inputTokens: 1_000, outputTokens: 990 });
    await sightCalls(ctx, exporter, [sighting({ ref: "span", usage: most })]);
    assert.deepEqual((await sums(ctx)).slice(0, 2), [1, 990]);
  });
}
