import assert from "node:assert/strict";
import { bookLooseCalls, sightCalls } from "../src/calls/mod.ts";
import { listCalls, listCosts } from "../src/ledger/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { databaseKinds } from "./harness/databases.ts";
import { gatewayCall, LOG, sighting } from "./harness/sightings.ts";

async function total({ store }: TestBooking) {
  const [row] = await listCosts(store, { groupBy: "provider", limit: 10, offset: 0 });
  return row && [row.model_calls, row.input_tokens, row.output_tokens, row.cost_usd, row.estimated_calls];
}

const kinds = databaseKinds();
for (const kind of kinds) {
  const test = (name: string, fn: (ctx: TestBooking) => Promise<void>) =>
    Deno.test({
      name: `${name} (${kind.name})`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        const store = await database.open();
        const ctx = await createBooking(store);
        await fn(ctx);
        await ctx.rollUps.ended();
      },
    });

  test("a call of a log is booked once, and an import of the same changes nothing", async (ctx) => {
    const first = await sightCalls(ctx, LOG, [sighting()]);
    assert.equal(first.booked, 1);
    const again = await sightCalls(ctx, LOG, [sighting(), sighting()]);
    assert.deepEqual([again.booked, again.duplicates], [0, 2]);
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
    const [call] = await listCalls(ctx.query, { sessionId: "ses_a", limit: 10 });
    assert.equal(call?.agent_id, "claude-code");
    assert.deepEqual(call?.tags, { branch: "main", machine: "laptop", project: "shop" });
  });

  test("a later record of a call that went on amends it", async (ctx) => {
    const early = sighting({
      quality: "provisional",
      usage: usageOf({ inputTokens: 1000, outputTokens: 5 }),
    });
    await sightCalls(ctx, LOG, [early]);
    assert.deepEqual(await total(ctx), [1, 1000, 5, 0.00102, 1]);
    const result = await sightCalls(ctx, LOG, [sighting()]);
    assert.equal(result.amended, 1);
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
    const calls = await listCalls(ctx.query, { sessionId: "ses_a", limit: 10 });
    assert.deepEqual(calls.map((one) => [one.output_tokens, one.cost_usd, one.estimated, one.quality]), [
      [631, 0.003524, false, undefined],
    ]);
    assert.equal((await sightCalls(ctx, LOG, [early])).duplicates, 1);
  });

  test("the gateway's row of a call takes the place of the log's", async (ctx) => {
    await sightCalls(ctx, LOG, [sighting()]);
    await bookLooseCalls(ctx, [gatewayCall()]);
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
    const calls = await listCalls(ctx.query, { sessionId: "ses_a", limit: 10 });
    assert.deepEqual(calls.map((one) => one.call_id), ["call_1"]);
  });

  test("a log adds to the gateway's row of a call, and books nothing", async (ctx) => {
    await bookLooseCalls(ctx, [gatewayCall()]);
    const result = await sightCalls(ctx, LOG, [sighting()]);
    assert.deepEqual([result.booked, result.enriched], [0, 1]);
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
  });
}
