import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { databaseKinds } from "../../tests/harness/databases.ts";
import { modelCall } from "../../tests/harness/model_calls.ts";
import { extrapolate, forecastCosts } from "./forecast_costs.ts";
import { recordCalls } from "./mod.ts";

const time = (text: string) => Date.parse(`${text}Z`);

Deno.test("extrapolate() is exact to half a nano-USD, and never below what is spent", () => {
  const any = fc.tuple(fc.bigInt(0n, 10n ** 20n), fc.nat(1e9), fc.integer({ min: 1, max: 1e9 }), fc.nat(1e9));
  fc.assert(fc.property(any, ([spent, from, elapsed, left]) => {
    const whole = extrapolate(spent, { from, now: from + elapsed, to: from + elapsed + left });
    const error = whole * BigInt(elapsed) - spent * BigInt(elapsed + left);
    assert.ok(2n * (error < 0n ? -error : error) <= BigInt(elapsed));
    assert.ok(whole >= spent);
  }));
});

Deno.test("forecastCosts() takes the pace of the month, of a ledger that began later from its first day", async () => {
  await using database = await databaseKinds().find(({ name }) => name === "memory")!.create();
  const store = await database.open();
  const now = time("2026-02-15T00:00");
  const forecast = async (scope = {}, at = now) => {
    const { pace_from, cost_usd, forecast_usd } = await forecastCosts(store, scope, at);
    return [pace_from?.slice(0, 10), cost_usd, forecast_usd];
  };
  assert.deepEqual(await forecast(), [undefined, 0, null]);
  const book = (callId: string, at: string, costNanoUsd: bigint | null, agentId = "ann") =>
    store.write(recordCalls([modelCall({ callId, at: time(at), costNanoUsd, agentId })]));
  await book("a", "2026-02-08T13:00", 7_000_000_000n);
  assert.deepEqual(await forecast(), ["2026-02-08", 7, 21]);
  assert.deepEqual(await forecast({}, time("2026-02-08T23:59")), ["2026-02-08", 7, null]);
  await book("b", "2026-01-31T23:59:59.999", 1n);
  assert.deepEqual(await forecast(), ["2026-02-01", 7, 14]);
  assert.deepEqual(await forecast({}, time("2026-03-01T12:00")), ["2026-03-01", 0, null]);
  await book("c", "2026-02-14T00:00", null, "bob");
  assert.deepEqual(await forecast({ agentId: "bob" }), ["2026-02-14", null, null]);
  assert.deepEqual(await forecast({ agentId: "ann" }), ["2026-02-01", 7, 14]);
});
