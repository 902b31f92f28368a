import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { fixedClock } from "./clock.ts";
import { countingIds, createIds, NAME_PATTERN } from "./ids.ts";

Deno.test("createIds() creates ids of a prefix and 26 characters", () => {
  const ids = createIds(fixedClock("2026-11-01T12:00:00.000Z"));
  assert.match(ids.next("run"), /^run_[0-9a-hjkmnp-tv-z]{26}$/);
  assert.match(ids.next("alert"), /^alert_[0-9a-hjkmnp-tv-z]{26}$/);
});

Deno.test("ids sort in the order of creation, even when the clock stands still or steps back", () => {
  fc.assert(fc.property(fc.array(fc.integer({ min: -5000, max: 5000 }), { maxLength: 200 }), (steps) => {
    const clock = fixedClock(1_800_000_000_000);
    const ids = createIds(clock);
    const made = steps.map((step) => {
      clock.advance(step);
      return ids.next("call");
    });
    assert.deepEqual([...made].sort(), made);
    assert.equal(new Set(made).size, made.length);
  }));
});

Deno.test("ids carry into the next digit within a millisecond", () => {
  const allOnes = (length: number) => new Uint8Array(length).fill(255);
  const ids = createIds({ now: () => 0 }, allOnes);
  const made = [ids.next("call"), ids.next("call"), ids.next("call")];
  assert.deepEqual(made, [
    "call_0000000000fzzzzzzzzzzzzzzz",
    "call_0000000000g000000000000000",
    "call_0000000000g000000000000001",
  ]);
});

Deno.test("the first ten characters of an id are its time", () => {
  const zeros = (length: number) => new Uint8Array(length);
  const timeOf = (ms: number) => createIds({ now: () => ms }, zeros).next("run").slice(4, 14);
  // Base 32 of the milliseconds, by hand.
  assert.equal(timeOf(0), "0000000000");
  assert.equal(timeOf(33), "0000000011");
  assert.equal(timeOf(2 ** 48 - 1), "7zzzzzzzzz");
});

Deno.test("two generators at one moment don't create the same id", () => {
  const clock = fixedClock(0);
  const made = Array.from({ length: 1000 }, () => createIds(clock).next("run"));
  assert.equal(new Set(made).size, made.length);
});

Deno.test("countingIds() counts over all kinds", () => {
  const ids = countingIds();
  assert.deepEqual([ids.next("run"), ids.next("call")], ["run_0001", "call_0002"]);
});

Deno.test("NAME_PATTERN accepts valid ids of agents and sessions", () => {
  for (const name of ["a", "Agent-1", "ses_01jabc", "team:agent.v2", "9", "x".repeat(128)]) {
    assert.ok(NAME_PATTERN.test(name), name);
  }
  for (const name of ["", "-a", ".a", "_a", "a b", "a/b", "ä", "a\n", "x".repeat(129)]) {
    assert.ok(!NAME_PATTERN.test(name), JSON.stringify(name));
  }
});

Deno.test("every id is a valid name", () => {
  assert.ok(NAME_PATTERN.test(createIds(fixedClock(0)).next("ses")));
});
