import type { Cell, OurPart } from "./cells.ts";
import { sizeOf } from "./exact.ts";

/** The most sums that are tried: with more, one may fit by chance. */
const MAX_SUMS = 2_000;

/**
 * Returns the fewest calls of some cells whose values add up to `sum`; "none" if all sums were tried, undefined if there are too many, or
 * a call isn't known by itself.
 */
export function findCalls(
  cells: readonly Pick<Cell, "singles" | "calls">[],
  sum: readonly bigint[],
  valuesOf: (parts: ReadonlyMap<string, OurPart>) => readonly bigint[],
  bound = 0n,
): readonly string[] | "none" | undefined {
  const calls = cells.flatMap(({ singles = new Map() }) => [...singles])
    .map(([id, parts]) => [id, valuesOf(parts)] as const);
  if (calls.length < cells.reduce((count, cell) => count + cell.calls, 0)) return undefined;
  let tries = MAX_SUMS;
  const find = (from: number, size: number, left: readonly bigint[]): string[] | undefined => {
    if (size === 0) return left.every((one) => sizeOf(one) <= bound) ? [] : undefined;
    for (let index = from; index <= calls.length - size && tries-- > 0; index++) {
      const [id, values] = calls[index]!;
      const rest = left.map((one, nth) => one - values[nth]!);
      const found = rest.some((one) => one < -bound) ? undefined : find(index + 1, size - 1, rest);
      if (found) return [id, ...found];
    }
    return undefined;
  };
  for (let size = 1; size <= calls.length; size++) {
    const found = find(0, size, sum);
    if (found) return found;
  }
  return tries > 0 ? "none" : undefined;
}
