import { LIMITS } from "./limits.ts";

/** What some hours of the past were like. Values are whole numbers, of nano-USD or of calls. */
export interface Usual {
  /** How many hours there are. */
  hours: number;
  /** How many calls were made in them. */
  calls: number;
  median: bigint;
  /** The median of the distances from the median (MAD), which a few wild hours don't move. */
  deviation: bigint;
  /** The value that nine hours of ten don't pass (nearest rank). */
  peak: bigint;
}

/** Sums up hours; undefined where there is none. */
export function describeUsual(values: readonly bigint[], calls: number): Usual | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort(compare);
  const median = medianOf(sorted);
  const distances = sorted.map((value) => (value > median ? value - median : median - value)).sort(compare);
  return {
    hours: values.length,
    calls,
    median,
    deviation: medianOf(distances),
    peak: sorted[Math.ceil(sorted.length * 0.9) - 1]!,
  };
}

/** From which value on something is far above what is usual. */
export function limitOf(usual: Usual, { floor, factor }: { floor: bigint; factor: bigint }): bigint {
  const { madFactor, peakFactor } = LIMITS.usual;
  const limits = [
    floor,
    factor * usual.median,
    usual.median + madFactor * usual.deviation,
    peakFactor * usual.peak,
  ];
  return limits.reduce((most, limit) => (limit > most ? limit : most));
}

/** The middle one, or the mean of the two in the middle, rounded down. */
function medianOf(sorted: readonly bigint[]): bigint {
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2n;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
