/** The scale of an axis from 0: its ticks, and the largest value. */
export interface Scale {
  max: number;
  ticks: readonly number[];
}

/** Returns a scale with round ticks that has room for the largest value. */
export function scaleTo(largest: number, ticks = 4): Scale {
  if (!(largest > 0)) return { max: 1, ticks: [0] };
  const rough = largest / ticks;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) =>
    step * ticks >= largest * 0.999
  )!;
  const count = Math.ceil(largest / step - 1e-9);
  return { max: step * count, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) };
}

/** Returns the indexes of labels that fit side by side: the last one is always there. */
export function fittingLabels(count: number, width: number, labelWidth: number): Set<number> {
  const every = Math.max(1, Math.ceil(count * labelWidth / Math.max(1, width)));
  return new Set(
    Array.from({ length: count }, (_, index) => index).filter((index) => (count - 1 - index) % every === 0),
  );
}
