import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { allot } from "./allot.ts";

Deno.test("parts of an amount add up to it, and each is less than one unit away from its exact share", () => {
  const anyAmount = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
  const anyWeight = fc.oneof(fc.constantFrom(0n, 1n, -5n), fc.bigInt({ min: 0n, max: 10n ** 18n }));
  fc.assert(
    fc.property(anyAmount, fc.array(anyWeight, { minLength: 1, maxLength: 12 }), (amount, weights) => {
      const parts = allot(amount, weights);
      assert.equal(parts.reduce((sum, part) => sum + part, 0n), amount);
      const shares = weights.map((weight) => weight > 0n ? weight : 0n);
      const whole = shares.reduce((sum, share) => sum + share, 0n);
      for (const [index, part] of parts.entries()) {
        const [share, of] = whole === 0n ? [1n, BigInt(weights.length)] : [shares[index]!, whole];
        const apart = part * of - amount * share;
        assert.ok((apart < 0n ? -apart : apart) < of);
        if (share === 0n) assert.equal(part, 0n);
      }
    }),
  );
});

Deno.test("what a division leaves goes to the largest remainders, of equal ones to the first", () => {
  assert.deepEqual(allot(10n, [1n, 1n, 1n]), [4n, 3n, 3n]);
  assert.deepEqual(allot(-10n, [1n, 1n, 1n]), [-4n, -3n, -3n]);
  // 1.43, 2.14 and 1.43
  assert.deepEqual(allot(5n, [2n, 3n, 2n]), [2n, 2n, 1n]);
  assert.deepEqual(allot(7n, []), []);
});
