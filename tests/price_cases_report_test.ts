import assert from "node:assert/strict";
import { fixedClock } from "../src/kernel/clock.ts";
import { costOfBill, reportCases } from "./fixtures/prices/mod.ts";
import { openTestPurser } from "./harness/test_purser.ts";

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
