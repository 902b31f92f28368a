/** The scale of an axis from 0: its ticks, and the largest value. */
export interface Scale {
  max: number;
  ticks: readonly number[];
}

/** Amounts have no more decimals, also those that a float has only nearly. */
const DECIMALS = 9;

/** Returns a scale with round ticks that has room for the largest value. */
export function scaleTo(largest: number, ticks = 4): Scale {
  if (!(largest > 0)) return { max: 1, ticks: [0] };
  const rough = Math.max(largest / ticks, 10 ** -DECIMALS);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) =>
    step * ticks >= largest * 0.999
  )!;
  const count = Math.ceil(largest / step - 1e-9);
  const tick = (index: number) => Number((index * step).toFixed(DECIMALS));
  return { max: tick(count), ticks: Array.from({ length: count + 1 }, (_, index) => tick(index)) };
}

/** Returns the indexes of labels that fit side by side: the last one is always there. */
export function fittingLabels(count: number, width: number, labelWidth: number): Set<number> {
  const every = Math.max(1, Math.ceil(count * labelWidth / Math.max(1, width)));
  return new Set(
    Array.from({ length: count }, (_, index) => index).filter((index) => (count - 1 - index) % every === 0),
  );
}
