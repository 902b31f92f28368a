const WHOLE = new Intl.NumberFormat("en");
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Formats a count: `12,480`. */
export function count(value: number): string {
  return WHOLE.format(value);
}

/** Formats a count of many digits: `12.5K`. Show the whole one in `title`. */
export function compact(value: number): string {
  return COMPACT.format(value);
}

/** Formats a share of 1: `62%`; what is not all and not nothing is neither 0% nor 100%. */
export function percent(share: number): string {
  const rounded = Math.round(share * 100);
  if (rounded === 0 && share > 0) return "<1%";
  if (rounded === 100 && share < 1) return ">99%";
  return `${rounded}%`;
}

/** Returns a count with its noun: `1 call`, `2 calls`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
