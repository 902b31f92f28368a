import type { Cell } from "./cells.ts";
import { sizeOf } from "./exact.ts";

/** The most sums that are tried. */
const MAX_SUMS = 2_000;
/** A sum of less than so many times its rounding, for each one that was tried, may fit by chance. */
const MIN_SHARE = 1_000n;

/**
 * Returns the fewest calls of some cells whose values add up to `sum`, each to within `bound`; "none" if no calls do, undefined if there
 * are too many sums, or a call isn't known by itself.
 */
export function findCalls(
  cells: readonly Cell[],
  sum: readonly bigint[],
  valuesOf: (parts: Cell["ours"]) => readonly bigint[],
  bound = 0n,
): readonly string[] | "none" | undefined {
  const calls = cells.flatMap(({ singles = [] }) => [...singles])
    .map(([id, parts]) => ({ id, values: valuesOf(parts) }));
  if (calls.length < cells.reduce((count, cell) => count + cell.calls, 0)) return undefined;
  let tries = 0;
  const find = (from: number, size: number, left: readonly bigint[]): string[] | undefined => {
    if (size === 0) {
      const isSure = bound * BigInt(tries) * MIN_SHARE <= sum[0]!;
      return isSure && left.every((one) => sizeOf(one) <= bound) ? [] : undefined;
    }
    for (let index = from; index <= calls.length - size && tries++ < MAX_SUMS; index++) {
      const { id, values } = calls[index]!;
      const rest = left.map((one, nth) => one - values[nth]!);
      const found = rest.some((one) => one < -bound) ? undefined : find(index + 1, size - 1, rest);
      if (found) return [id, ...found];
    }
    return undefined;
  };
  for (let size = 1; size <= calls.length && tries < MAX_SUMS; size++) {
    const found = find(0, size, sum);
    if (found) return found;
  }
  return tries < MAX_SUMS ? "none" : undefined;
}
