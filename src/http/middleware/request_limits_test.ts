import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import type { RequestLimitSettings } from "../../contract/limits.ts";
import { fixedClock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { silentLog } from "../../kernel/log.ts";
import { createTurns } from "../../kernel/turns.ts";
import { addressGroup } from "./loopback.ts";
import { RequestLimits } from "./request_limits.ts";

/** The parts of a process that the limits use for answers. */
const PARTS = {
  turns: createTurns(() => Promise.resolve()),
  store: { kind: "memory" },
  maxContextBytes: 10,
} as const;

function openLimits(requestLimits: RequestLimitSettings) {
  const clock = fixedClock(0);
  return {
    clock,
    limits: new RequestLimits({ clock, log: silentLog, requestLimits, maxBodyBytes: 10, ...PARTS }),
  };
}

/** Returns the seconds after which a refused use may be tried again, 0 where it is allowed. */
function retryOf(use: () => void): number {
  try {
    use();
    return 0;
  } catch (error) {
    assert.ok(error instanceof PurserError, String(error));
    return error.details!.retry_after_seconds as number;
  }
}

Deno.test("a rate allows its quota at once, then refills steadily, and Retry-After is when the next is allowed", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 200 }),
      (quota, pauses) => {
        const { clock, limits } = openLimits({ requests_per_minute_per_address: quota });
        const ask = () => retryOf(() => limits.open("192.0.2.1").countForAddress());
        for (let i = 0; i < quota; i++) assert.equal(ask(), 0, `request ${i + 1} of ${quota}`);
        const allowedAt: number[] = [];
        for (const pause of pauses) {
          clock.advance(pause);
          const seconds = ask();
          if (seconds === 0) {
            allowedAt.push(clock.now());
            continue;
          }
          assert.ok(seconds <= Math.ceil(60 / quota), `${seconds} s for ${quota} a minute`);
          if (seconds > 1) {
            clock.advance((seconds - 1) * 1000 - 1);
            assert.ok(ask() > 0, "earlier it is refused");
            clock.advance(1001);
          } else clock.advance(1000);
          assert.equal(ask(), 0, "after Retry-After it is allowed");
          allowedAt.push(clock.now());
        }
        for (const [first, from] of allowedAt.entries()) {
          for (const [last, to] of allowedAt.entries()) {
            if (last < first) continue;
            assert.ok(last - first + 1 <= quota + 1 + (to - from) / 60_000 * quota, "over its quota");
          }
        }
      },
    ),
    { numRuns: 50 },
  );
});

Deno.test("the state stays bounded: of more than ten thousand addresses the oldest are forgotten", () => {
  const { limits } = openLimits({ requests_per_minute_per_address: 1 });
  const ask = (address: string) => retryOf(() => limits.open(address).countForAddress());
  assert.deepEqual([ask("192.0.2.1"), ask("192.0.2.1")], [0, 60]);
  for (let i = 0; i < 4_000; i++) ask(`10.0.${i >> 8}.${i & 255}`);
  assert.equal(ask("192.0.2.1"), 60, "among the last thousands it is remembered");
  for (let i = 0; i < 20_000; i++) ask(`10.1.${i >> 8}.${i & 255}`);
  assert.equal(ask("192.0.2.1"), 0);
});

Deno.test("an address is counted as one client, whatever it is written as", () => {
  for (
    const [address, group] of [
      ["192.0.2.1", "192.0.2.1"],
      ["::ffff:192.0.2.1", "192.0.2.1"],
      ["::FFFF:192.0.2.1", "192.0.2.1"],
      ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
      ["2001:0DB8:0001:0002::9", "2001:db8:1:2::/64"],
      ["2001:db8:1::9", "2001:db8:1:0::/64"],
      ["2001:db8::1:2:3:4:5", "2001:db8:0:1::/64"],
      ["fe80::1%eth0", "fe80:0:0:0::/64"],
      ["::1", "0:0:0:0::/64"],
      ["::", "0:0:0:0::/64"],
      ["64:ff9b::192.0.2.33", "64:ff9b:0:0::/64"],
    ] as const
  ) assert.equal(addressGroup(address), group, address);
});

Deno.test("after ten failed keys the block of an address doubles up to a minute, and failures are forgiven", () => {
  const { clock, limits } = openLimits({});
  let keys = 0;
  const fail = () => retryOf(() => limits.open("192.0.2.1").beginAttempt(`key ${keys++}`)(false));
  for (let i = 0; i < 11; i++) assert.equal(fail(), 0, `failure ${i + 1}`);
  const blocks: number[] = [];
  for (let i = 0; i < 9; i++) {
    const seconds = fail();
    blocks.push(seconds);
    assert.equal(limits.open("192.0.2.2").beginAttempt("x")(false), undefined, "another address is free");
    clock.advance(seconds * 1000 - 1);
    assert.equal(fail(), 1, "until its end");
    clock.advance(1);
    assert.equal(fail(), 0, "and then one key is looked up");
  }
  assert.deepEqual(blocks, [1, 2, 4, 8, 16, 32, 32, 60, 60], "in the last minute one was forgiven");
  clock.advance(30 * 60_000);
  for (let i = 0; i < 11; i++) assert.equal(fail(), 0, `failure ${i + 1} after half an hour`);
  assert.ok(fail() > 0);
});

Deno.test("keys that are looked up at the same time can't pass the block together", () => {
  const { clock, limits } = openLimits({});
  const begin = (key: string) => limits.open("192.0.2.1").beginAttempt(key);
  const pending = Array.from({ length: 100 }, (_, i) => begin(`key ${i}`));
  assert.equal(retryOf(() => begin("one more")), 1);
  begin("key 7")(true); // the same key again is not another attempt
  for (const end of pending) end(false);
  assert.equal(retryOf(() => begin("later")), 60);
  clock.advance(60_000);
  const next = begin("later");
  assert.equal(retryOf(() => begin("beside it")), 1, "after failures one at a time");
  next(true);
  assert.equal(retryOf(() => begin("beside it")(true)), 0, "a valid key blocks nothing");
});

Deno.test("a site that tries keys from a quarter of its 65,536 addresses is refused, and displaces no failures of others", () => {
  const { clock, limits } = openLimits({});
  let keys = 0;
  const fail = (from: string) => retryOf(() => limits.open(from).beginAttempt(`key ${keys++}`)(false));
  for (let i = 0; i < 11; i++) fail("192.0.2.1");
  for (let i = 0; i < 5; i++) {
    assert.equal(fail("192.0.2.1"), 2 ** i);
    clock.advance(2 ** i * 1000);
    fail("192.0.2.1");
  }
  const blockOfOther = fail("192.0.2.1");
  let lookedUp = 0;
  for (let i = 0; i < 65_536; i += 4) if (fail(`2001:db8:1:${i.toString(16)}::1`) === 0) lookedUp++;
  assert.equal(lookedUp, 101);
  assert.equal(fail("192.0.2.1"), blockOfOther, "it is remembered");
  assert.equal(fail("2001:db8:2::1"), 0, "another site is free");
  clock.advance(60_000);
  lookedUp = 0;
  for (let i = 0; i < 1_000; i++) if (fail(`2001:db8:1:${i.toString(16)}::2`) === 0) lookedUp++;
  assert.equal(lookedUp, 10, "ten failures of a site are forgiven each minute");
  const valid = limits.open("2001:db8:3::1");
  for (let i = 0; i < 500; i++) assert.equal(retryOf(() => valid.beginAttempt(`valid ${i}`)(true)), 0);
});

Deno.test("a body takes the memory that has arrived of it and a step, and is refused at once if it can't fit", () => {
  const clock = fixedClock(0);
  const [KiB, MiB] = [1024, 1024 * 1024];
  const limits = new RequestLimits({
    clock,
    log: silentLog,
    requestLimits: {},
    maxBodyBytes: 8 * MiB,
    ...PARTS,
  });
  const open = (key: string, length: number) => {
    const lease = limits.open("192.0.2.1");
    lease.countForKey(key);
    lease.beginBody(length, 64 * MiB);
    return lease;
  };
  const leases: ReturnType<typeof open>[] = [];
  for (let key = 0; key < 4; key++) {
    for (let i = 0; i < 1_000; i++) leases.push(open(`key ${key}`, 8 * MiB));
  }
  const other = open("other", 8 * MiB);
  other.receive(8 * MiB);
  assert.equal(retryOf(() => open("other", 56 * MiB + 1)), 2, "a declared length that can't fit");
  const last = open("other", 56 * MiB);
  last.receive(56 * MiB);
  assert.equal(retryOf(() => open("other", 1)), 2, "all that has arrived is counted, and not more");
  for (const lease of [other, last]) lease.end();
  for (const lease of leases) lease.receive(16 * KiB);
  assert.equal(
    retryOf(() => {
      for (const lease of leases) lease.receive(48 * KiB);
    }),
    2,
    "what has arrived in memory is limited",
  );
  for (const lease of leases) lease.end();
  open("key 0", 64 * MiB).receive(64 * MiB);
});

Deno.test("uses end with their request, and those of a stream when it ends, also if ended twice", () => {
  const { limits } = openLimits({
    runs: 2,
    runs_per_key: 1,
    streams: 1,
    body_bytes: 150,
    body_bytes_per_key: 100,
  });
  const open = (key: string) => {
    const lease = limits.open("192.0.2.1");
    lease.countForKey(key);
    return lease;
  };
  const refusal = (use: () => void) => {
    try {
      use();
    } catch (error) {
      return [(error as PurserError).code, (error as PurserError).details!.limit];
    }
  };
  const [a, b] = [open("a"), open("b")];
  a.begin("runs");
  assert.deepEqual(refusal(() => open("a").begin("runs")), ["rate_limited", "runs_per_key"]);
  b.begin("runs");
  assert.deepEqual(refusal(() => open("c").begin("runs")), ["unavailable", "runs"]);
  a.begin("streams");
  const end = a.keep();
  a.end();
  assert.deepEqual(refusal(() => open("c").begin("runs")), ["unavailable", "runs"], "a kept lease counts on");
  end();
  end();
  b.end();
  b.end();
  for (const key of ["c", "d"]) open(key).begin("runs");
  assert.deepEqual(
    refusal(() => open("e").begin("runs")),
    ["unavailable", "runs"],
    "and was subtracted once",
  );
  open("c").begin("streams");
  const [first, second] = [open("a"), open("b")];
  first.beginBody(100, 100);
  assert.deepEqual(refusal(() => open("a").beginBody(1, 100)), [
    "rate_limited",
    "body_bytes_per_key",
  ]);
  assert.deepEqual(refusal(() => second.beginBody(51, 100)), ["unavailable", "body_bytes"]);
  second.beginBody(50, 100);
  first.end();
  open("c").beginBody(1_000_000, 90); // of which no more is held
  second.endBody();
  open("c").beginBody(10, 100);
});

Deno.test("a body counts again for what is made of it, until it is let go of", () => {
  const clock = fixedClock(0);
  const KiB = 1024;
  const requestLimits = { body_bytes_per_key: 400 * KiB };
  const limits = new RequestLimits({
    clock,
    log: silentLog,
    requestLimits,
    maxBodyBytes: 100 * KiB,
    ...PARTS,
  });
  const open = () => {
    const lease = limits.open("192.0.2.1");
    lease.countForKey("a");
    lease.beginBody(100 * KiB, 100 * KiB);
    lease.receive(100 * KiB);
    return lease;
  };
  const first = open();
  first.countBody(4);
  assert.equal(retryOf(open), 2);
  first.endBody();
  const second = open();
  second.countBody(2);
  open();
  assert.equal(retryOf(() => open().countBody(2)), 2);
  second.end();
  open().countBody(2);
});
