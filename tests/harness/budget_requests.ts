import assert from "node:assert/strict";
import { EVENT } from "./bodies.ts";
import type { TestPurser } from "./test_purser.ts";

/** The path of the budgets. */
export const BUDGETS = "/budgets";
/** A budget, and the noon at which the clock stands. */
export const DAY = { name: "Day", limit_usd: 50, per: "day" };
export const AT = "2026-11-01T12:00:00.000Z";
/** Returns the header of a request that may be sent again. */
export const keyed = (key: string) => ({ "idempotency-key": key });

/** Adds a budget and returns it. */
export async function add(purser: TestPurser, budget: object) {
  const { status, body } = await purser.api("POST", BUDGETS, budget);
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

let calls = 0;

/** Books a call that costs so much. */
export async function spend(purser: TestPurser, cost_usd: number | undefined, more: object = {}) {
  const call = {
    ...EVENT,
    call_id: `spent-${++calls}`,
    ...(cost_usd !== undefined && { cost_usd }),
    ...more,
  };
  const { status, body } = await purser.api("POST", "/costs/events", [call]);
  assert.equal(status, 201, JSON.stringify(body));
}

/** Reads a budget. */
export const read = async (purser: TestPurser, id: string) =>
  (await purser.api("GET", `${BUDGETS}/${id}`)).body;
