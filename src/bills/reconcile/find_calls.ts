import type { Cell, OurPart } from "./cells.ts";
import { sizeOf } from "./exact.ts";

/** The most sums that are tried. */
const MAX_SUMS = 2_000;
/** A sum that is less than so many times its rounding, for each sum that was tried, may fit by chance. */
const MIN_SHARE = 1_000n;

/**
 * Returns the fewest calls of some cells whose values add up to `sum`, each value to within `bound`; "none" if all sums were tried,
 * undefined if there are too many, or a call isn't known by itself. Calls whose values others have, too, are returned if `areAlike` is set.
 */
export function findCalls(
  cells: readonly Pick<Cell, "singles" | "calls">[],
  sum: readonly bigint[],
  valuesOf: (parts: ReadonlyMap<string, OurPart>) => readonly bigint[],
  { bound = 0n, areAlike = true } = {},
): readonly string[] | "none" | undefined {
  const calls = cells.flatMap(({ singles = new Map() }) => [...singles])
    .map(([id, parts]) => [id, valuesOf(parts)] as const);
  if (calls.length < cells.reduce((count, cell) => count + cell.calls, 0)) return undefined;
  let tries = 0;
  const find = (from: number, size: number, left: readonly bigint[]): string[] | undefined => {
    if (size === 0) {
      const isSure = bound * BigInt(tries) * MIN_SHARE <= sum[0]!;
      return isSure && left.every((one) => sizeOf(one) <= bound) ? [] : undefined;
    }
    for (let index = from; index <= calls.length - size && tries++ < MAX_SUMS; index++) {
      const [id, values] = calls[index]!;
      const rest = left.map((one, nth) => one - values[nth]!);
      const found = rest.some((one) => one < -bound) ? undefined : find(index + 1, size - 1, rest);
      if (found) return [id, ...found];
    }
    return undefined;
  };
  for (let size = 1; size <= calls.length; size++) {
    const found = find(0, size, sum);
    if (!found) continue;
    const [inside, outside] = [true, false].map((isFound) =>
      calls.filter(([id]) => found.includes(id) === isFound).map(([, values]) => values.join())
    );
    return areAlike || !inside!.some((values) => outside!.includes(values)) ? found : "none";
  }
  return tries < MAX_SUMS ? "none" : undefined;
}
