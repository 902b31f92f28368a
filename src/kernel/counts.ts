/** Formats a count: `1,234,567`. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Formats a count with its noun: `1 call`, `2 calls`. */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Names the calls that a cost leaves out: `1 call without a known price, 2 calls partly priced`; empty without any. */
export function nameUncounted(
  { unpriced, partlyPriced }: { unpriced: number; partlyPriced: number },
): string {
  return [
    unpriced > 0 ? `${countOf(unpriced, "call")} without a known price` : "",
    partlyPriced > 0 ? `${countOf(partlyPriced, "call")} partly priced` : "",
  ].filter(Boolean).join(", ");
}
