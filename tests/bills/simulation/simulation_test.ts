import assert from "node:assert/strict";
import { Reconciler } from "../../../src/bills/reconcile/reconciler.ts";
import { makeMonth, type Month } from "./month.ts";

const SEEDS = Deno.env.get("PURSER_THOROUGH") ? 1_000 : 30;

function compare({ setup, days }: Month) {
  const reconciler = new Reconciler(setup);
  for (const day of days) reconciler.addDay(day);
  return reconciler.finish();
}

const sizeOf = (amount: bigint) => amount < 0n ? -amount : amount;

function check(month: Month, seed: number): void {
  const found = compare(month);
  const context = () =>
    `seed ${seed}, ${month.provider.name}, ${month.injected}, ${month.setup.terms.countsBy}: ` +
    JSON.stringify(
      [
        found.variances.map((v) =>
          `${v.cause} ${new Date(v.from).toISOString()} ${
            Object.values(v.dimensions)
          } ${v.part} ${v.level} q=${v.quantity} ${v.amount} ${v.cells} ${v.evidence}`
        ),
        [...month.expected],
      ],
      (_, value) => typeof value === "bigint" ? String(value) : value,
      1,
    );
  const byCause = new Map<string, bigint>();
  for (const { cause, amount } of found.variances) byCause.set(cause, (byCause.get(cause) ?? 0n) + amount);
  assert.deepEqual(found.billed, month.billed, context());
  assert.deepEqual(found.bookedNanoUsd, month.booked, context());
  const sum = [...byCause.values()].reduce((sum, amount) => sum + amount, 0n);
  assert.deepEqual(sum, month.billed - month.booked * 1_000_000_000n, context());
  const unexplained = byCause.get("unexplained") ?? 0n;
  const expected = month.expected.get("unexplained") ?? 0n;
  if (month.provider.decimals === undefined || expected === 0n) {
    assert.deepEqual(unexplained, expected, context());
  }
  for (const cause of new Set([...byCause.keys(), ...month.expected.keys()])) {
    const difference = (byCause.get(cause) ?? 0n) - (month.expected.get(cause as never) ?? 0n);
    assert(sizeOf(difference) <= found.roundingBound, `${cause} is off by ${difference}: ${context()}`);
  }
  const matched = Object.values(found.matched).reduce((sum, amount) => sum + amount, 0n);
  assert(
    sizeOf(matched - month.matched) <= found.roundingBound,
    `matched ${matched} of ${month.matched}: ${context()}`,
  );
  assert.deepEqual(found.others.get("EUR")?.lines ?? 0, month.others);
}

Deno.test("each difference of a month has its true cause, and nothing is left unexplained", () => {
  for (let seed = 1; seed <= SEEDS; seed++) check(makeMonth(seed), seed);
});

Deno.test("what the provider has billed by mistake is unexplained, to the exact amount", () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    check(makeMonth(seed, seed % 2 ? 10n ** 15n * BigInt(seed) : -(10n ** 12n)), seed);
  }
});
