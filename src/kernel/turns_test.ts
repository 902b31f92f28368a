import assert from "node:assert/strict";
import { createTurns, inTurns } from "./turns.ts";

/** Turns of the event loop that end when the test says so. */
function manualTurns(sliceUnits: number) {
  const ends: (() => void)[] = [];
  const turns = createTurns(() => new Promise((resolve) => ends.push(resolve)), sliceUnits);
  return {
    turns,
    /** Ends the turn in progress, and lets what was released run. */
    async end() {
      assert.equal(ends.length, 1, "one turn at a time");
      ends.pop()!();
      for (let i = 0; i < 10; i++) await Promise.resolve();
    },
    isWaiting: () => ends.length > 0,
  };
}

function* steps(name: string, count: number, units: number, log: string[]): Generator<number, string> {
  for (let step = 1; step <= count; step++) {
    log.push(`${name}${step}`);
    yield units;
  }
  return name;
}

Deno.test("createTurns() lets work continue until its slice is used up", async () => {
  const { turns, end, isWaiting } = manualTurns(100);
  assert.equal(turns.spend(60), undefined);
  const turn = turns.spend(60);
  assert.ok(turn);
  await end();
  await turn;
  assert.equal(turns.spend(60), undefined, "a new slice has begun");
  assert.equal(isWaiting(), false);
});

Deno.test("inTurns() runs the work of all callers by turns, one slice in each turn of the event loop", async () => {
  const { turns, end, isWaiting } = manualTurns(20);
  const log: string[] = [];
  const all = Promise.all(["a", "b", "c"].map((name) => inTurns(turns, steps(name, 4, 10, log))));
  const slices: string[] = [log.splice(0).join(" ")];
  while (isWaiting()) {
    await end();
    slices.push(log.splice(0).join(" "));
  }
  assert.deepEqual(await all, ["a", "b", "c"]);
  assert.equal(slices[0], "a1 a2 b1 c1", "the first slice ends the work of a; b and c wait behind it");
  assert.deepEqual(slices.slice(1).filter((slice) => slice.split(" ").length > 2), []);
  const order = slices.slice(1).join(" ").replaceAll(/\d/g, "");
  assert.equal(order, "a b c a b c b c", "in the order in which they ran out");
});

Deno.test("inTurns() lets many callers with little work share a turn of the event loop", async () => {
  const { turns, end, isWaiting } = manualTurns(1_000);
  const log: string[] = [];
  const names = Array.from({ length: 500 }, (_, index) => `n${index}.`);
  const all = Promise.all(names.map((name) => inTurns(turns, steps(name, 3, 10, log))));
  let count = 0;
  for (; isWaiting(); count++) await end();
  assert.equal((await all).length, 500);
  assert.ok(count <= 20, `${count} turns for 15,000 units in slices of 1,000`);
});

Deno.test("inTurns() runs at once without turns", async () => {
  const log: string[] = [];
  assert.equal(await inTurns(undefined, steps("a", 3, 1_000, log)), "a");
  assert.equal(log.length, 3);
});
