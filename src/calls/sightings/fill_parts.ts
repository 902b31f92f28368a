import { usageOf } from "../../pricing/mod.ts";
import { CACHE_WRITE_LIFETIME, faultOfUsage } from "../../pricing/usage/mod.ts";
import { usageOfSaid } from "./call_of_witness.ts";
import { moreOf, type Said } from "./said.ts";

/**
 * Returns what the best witness of a call says, with the parts that only its other witnesses know, where their totals agree: the
 * writes that a cache keeps for an hour, and of a call that its witness hasn't made itself, reasoning, tools and the parts of other
 * models. A key adds nothing to what another key has reported. Returns the same statement if there is nothing to add.
 */
export function fillParts(best: Said, all: readonly Said[], isOfCaller: boolean): Said {
  let filled = best;
  for (const other of all) {
    if (other === best || (other.key !== undefined && other.key !== best.key)) continue;
    // A call that goes on may end with other parts.
    if (other.quality === "provisional" || !haveSameTotals(filled, other)) continue;
    const next = fillFrom(filled, other, isOfCaller);
    if (next !== filled && faultOfUsage(usageOfSaid(next)) === undefined) filled = next;
  }
  return filled;
}

const haveSameTotals = ({ counts: a }: Said, { counts: b }: Said) =>
  a[0] === b[0] && a[1] === b[1] && a[2] === b[2] && a[3] === b[3];

function fillFrom(said: Said, other: Said, isOfCaller: boolean): Said {
  const [input, output, cacheRead, cacheWrite, own1h, ownReasoning] = said.counts;
  const [, , , , other1h, otherReasoning] = other.counts;
  const { details, others, models } = said.more ?? {};
  const isLifetimeOpen = own1h === 0 && (!isOfCaller || others?.[CACHE_WRITE_LIFETIME] !== undefined);
  const more = isOfCaller ? {} : other.more ?? {};
  const hasMore = (!models && more.models) ||
    Object.keys(more.details ?? {}).some((name) => !(name in (details ?? {})));
  const has1h = isLifetimeOpen && other1h > 0;
  const reasoning = isOfCaller ? ownReasoning : ownReasoning || otherReasoning;
  if (!has1h && !hasMore && reasoning === ownReasoning) return said;
  const { [CACHE_WRITE_LIFETIME]: _, ...rest } = others ?? {};
  const usage = usageOf({
    details: { ...more.details, ...details },
    others: has1h ? rest : others,
    models: models ?? more.models,
  });
  return {
    ...said,
    counts: [input, output, cacheRead, cacheWrite, has1h ? other1h : own1h, reasoning],
    more: moreOf(usage),
  };
}
