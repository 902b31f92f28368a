/**
 * Divides an amount by weights into whole units whose sum is the amount: what the division leaves goes by one unit each to the largest
 * remainders, of equal ones to the first. Negative weights count as 0; where all are 0, every part is equal.
 */
export function allot(amount: bigint, weights: readonly bigint[]): bigint[] {
  if (weights.length === 0) return [];
  const shares = weights.map((weight) => weight > 0n ? weight : 0n);
  const whole = shares.reduce((sum, share) => sum + share, 0n);
  if (whole === 0n) return allot(amount, weights.map(() => 1n));
  const sign = amount < 0n ? -1n : 1n;
  const size = amount * sign;
  const parts = shares.map((share) => size * share / whole);
  let left = size - parts.reduce((sum, part) => sum + part, 0n);
  const remainders = shares.map((share, index) => ({ index, rest: size * share % whole }))
    .sort((a, b) => a.rest === b.rest ? a.index - b.index : a.rest > b.rest ? -1 : 1);
  for (const { index } of remainders) {
    if (left-- <= 0n) break;
    parts[index]! += 1n;
  }
  return parts.map((part) => part * sign);
}
