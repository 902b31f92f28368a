import assert from "node:assert/strict";
import { countingIds } from "../ids.ts";
import type { CallBounds } from "./decide_call.ts";
import { createMemoryGate } from "./memory_gate.ts";

const RUN = "run_1";
const BUDGET = { limitNanoUsd: 100n, mode: "stop" as const };
const CALL: CallBounds = {
  inputTokens: { unboundedBecause: "" },
  outputTokens: 0,
  rates: null,
  estimateNanoUsd: 60n,
};

function open(readSettled: () => Promise<bigint> = () => Promise.resolve(0n)) {
  const ids = countingIds();
  let reads = 0;
  const gate = createMemoryGate({
    readSettled() {
      reads++;
      return readSettled();
    },
    newReservationId: () => ids.next("req"),
  });
  return { gate, reads: () => reads, admit: () => gate.admit({ runId: RUN, budget: BUDGET, call: CALL }) };
}

Deno.test("createMemoryGate() reads what a run has cost once while its calls are in flight", async () => {
  const { admit, gate, reads } = open(() => Promise.resolve(10n));
  const grants = await Promise.all([admit(), admit()]);
  assert.equal(reads(), 1);
  for (const admission of grants) if (admission.go) await gate.release(admission.grant);
  await admit();
  assert.equal(reads(), 2, "a run without calls is forgotten");
});

Deno.test("createMemoryGate() misses no booking that is committed while it reads", async () => {
  const read = Promise.withResolvers<bigint>();
  const { admit, gate } = open(() => read.promise);
  const admission = admit();
  gate.settle(RUN, 100n); // newer than what the read is about to give
  read.resolve(40n);
  assert.deepEqual(await admission, { go: false, reason: "spent", settledNanoUsd: 100n });
});

Deno.test("createMemoryGate() reads again after a read that failed", async () => {
  let isBroken = true;
  const { admit } = open(() => isBroken ? Promise.reject(new Error("unavailable")) : Promise.resolve(0n));
  const outcomes = await Promise.allSettled([admit(), admit()]);
  assert.ok(outcomes.every((outcome) => outcome.status === "rejected"));
  isBroken = false;
  assert.ok((await admit()).go);
});

Deno.test("createMemoryGate() lets those that wait in when a call is released, and refuses them when it has spent all", async () => {
  for (const settled of [0n, 100n]) {
    let inLedger = 0n;
    const { admit, gate } = open(() => Promise.resolve(inLedger));
    const [first, second] = [await admit(), await admit()];
    assert.ok(first.go && second.go);
    const waiting = [admit(), admit()];
    gate.settle(RUN, inLedger = settled);
    gate.booked(first.grant, []);
    gate.booked(second.grant, []);
    for (const admission of await Promise.all(waiting)) assert.equal(admission.go, settled === 0n);
  }
});

Deno.test("createMemoryGate() hears of a booking or a release twice without harm", async () => {
  const { admit, gate } = open();
  const [first, second] = [await admit(), await admit()];
  assert.ok(first.go && second.go);
  gate.settle(RUN, 30n);
  gate.settle(RUN, 30n);
  gate.settle(RUN, 20n); // an older total
  await gate.release(first.grant);
  await gate.release(first.grant);
  gate.booked(first.grant, []);
  // 30 settled and 60 reserved of 100: one more may go, and then none.
  assert.ok((await admit()).go);
  const giveUp = AbortSignal.abort();
  await assert.rejects(gate.admit({ runId: RUN, budget: BUDGET, call: CALL, signal: giveUp }));
});

Deno.test("createMemoryGate() keeps runs apart", async () => {
  const { gate } = open();
  const admit = (runId: string) => gate.admit({ runId, budget: { ...BUDGET, limitNanoUsd: 1n }, call: CALL });
  assert.ok((await admit("run_1")).go);
  assert.ok((await admit("run_2")).go);
  gate.settle("run_1", 1n);
  assert.deepEqual(await admit("run_1"), { go: false, reason: "spent", settledNanoUsd: 1n });
});
