import assert from "node:assert/strict";
import { DAY_MS, fixedClock, HOUR_MS, systemClock, toIso } from "./clock.ts";

Deno.test("fixedClock() stands still until it is advanced", () => {
  const clock = fixedClock("2028-02-29T23:59:59.999Z");
  assert.equal(clock.now(), clock.now());
  clock.advance(1);
  assert.equal(toIso(clock.now()), "2028-03-01T00:00:00.000Z");
});

Deno.test("fixedClock() wakes a sleeper when it has been advanced far enough", async () => {
  const clock = fixedClock(0);
  let isAwake = false;
  const sleeping = clock.sleep(100).then(() => void (isAwake = true));
  clock.advance(99);
  await Promise.resolve();
  assert.equal(isAwake, false);
  clock.advance(1);
  await sleeping;
  assert.equal(isAwake, true);
});

Deno.test("fixedClock() wakes every sleeper that is due, and only those", async () => {
  const clock = fixedClock(0);
  const woken: number[] = [];
  const sleeping = [30, 10, 20].map((ms) => clock.sleep(ms).then(() => void woken.push(ms)));
  clock.advance(20);
  await Promise.all(sleeping.slice(1));
  assert.deepEqual(woken.sort(), [10, 20]);
  clock.advance(10);
  await sleeping[0];
});

for (const [name, clock] of [["systemClock", systemClock], ["fixedClock()", fixedClock(0)]] as const) {
  Deno.test(`${name} resolves sleep() when its signal aborts`, async () => {
    const abort = new AbortController();
    const sleeping = clock.sleep(DAY_MS, abort.signal);
    abort.abort();
    await sleeping;
    await clock.sleep(DAY_MS, abort.signal);
  });

  Deno.test(`${name} does not wait for a delay of zero`, async () => {
    await clock.sleep(0);
  });
}

Deno.test("systemClock counts up in whole milliseconds of the epoch", () => {
  assert.ok(Number.isInteger(systemClock.now()));
  assert.ok(systemClock.monotonic() <= systemClock.monotonic());
});

Deno.test("toIso() writes UTC with milliseconds and a Z", () => {
  assert.equal(toIso(0), "1970-01-01T00:00:00.000Z");
  assert.equal(toIso(25 * HOUR_MS + 7), "1970-01-02T01:00:00.007Z");
});
