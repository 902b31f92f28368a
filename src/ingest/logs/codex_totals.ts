import type { Usage } from "../../pricing/mod.ts";
import { countOf, type Fields, usageFrom } from "./log_record.ts";

/**
 * The counts of Codex, in this order: `input_tokens`, `cached_input_tokens`, `cache_write_input_tokens`, `output_tokens`,
 * `reasoning_output_tokens`. Input includes the cache, output the reasoning. They are the usage of a call, or the sums of a
 * thread.
 */
export type Counts = readonly [number, number, number, number, number];

export const NOTHING: Counts = [0, 0, 0, 0, 0];

/** Throws for counts that are none. */
export function countsOf(fields: Fields): Counts {
  return [
    countOf(fields.input_tokens),
    countOf(fields.cached_input_tokens),
    countOf(fields.cache_write_input_tokens),
    countOf(fields.output_tokens),
    countOf(fields.reasoning_output_tokens),
  ];
}

export const sameCounts = (a: Counts, b: Counts) => a.every((count, index) => count === b[index]);

/** Returns whether no count of `part` is greater than that of `whole`. */
export const isWithin = (part: Counts, whole: Counts) => part.every((count, index) => count <= whole[index]!);

export const isNothing = (counts: Counts) => sameCounts(counts, NOTHING);

export function minus(whole: Counts, part: Counts): Counts {
  const [input, cached, written, output, reasoning] = whole.map((count, index) => count - part[index]!);
  return [input!, cached!, written!, output!, reasoning!];
}

/** Throws `invalid` for contradictory counts. */
export function usageOfCounts(
  [inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens]: Counts,
): Usage {
  return usageFrom({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens });
}

/** The sums of a thread, as one entry of the log after the other has them. */
export interface Totals {
  last: Counts;
  /** The number of times that the sums have begun anew. */
  epoch: number;
}

/**
 * Returns the usage since the last sums: nothing where they are the same, as in a repeated entry. Where one of them has fallen, or
 * at the `isStart` of a thread that has copied another's history, they continue sums that the log doesn't have: then the usage
 * of the last call is taken, if the entry has it.
 */
export function advance(
  totals: Totals,
  sums: Counts,
  lastCall: Counts,
  isStart: boolean,
): { totals: Totals; used: Counts } {
  if (isNothing(sums)) return { totals: { ...totals, last: NOTHING }, used: NOTHING };
  const hasFallen = !isWithin(totals.last, sums);
  const isCall = !isNothing(lastCall) && isWithin(lastCall, sums);
  const used = (hasFallen || isStart) && isCall ? lastCall : hasFallen ? sums : minus(sums, totals.last);
  return { totals: { last: sums, epoch: totals.epoch + (hasFallen ? 1 : 0) }, used };
}
