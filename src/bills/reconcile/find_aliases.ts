import { type Cell, REQUESTS } from "./cells.ts";
import { textOf } from "./dimensions.ts";
import { UNMATCHED } from "./compare_money.ts";
import type { AttoUsd, MicroUnits } from "./exact.ts";
import { addVariance, type Variance } from "./variance.ts";

/** The quantities of the models that only one side has. */
export class OneSided {
  readonly #billed = new Map<string, Map<string, MicroUnits>>();
  readonly #booked = new Map<string, Map<string, MicroUnits>>();

  add({ dimensions: { model }, bill, ours }: Cell): void {
    if (model === undefined) return;
    for (const [sums, parts] of [[this.#billed, bill], [this.#booked, ours]] as const) {
      for (const [part, { quantity }] of parts) {
        if (part === REQUESTS || !quantity) continue;
        let sum = sums.get(model);
        if (!sum) sums.set(model, sum = new Map());
        sum.set(part, (sum.get(part) ?? 0n) + quantity);
      }
    }
  }

  /** Returns the models of the bill by those of the ledger with the same quantities of the whole month. */
  pairs(): Map<string, string> {
    const text = (parts: ReadonlyMap<string, MicroUnits>) =>
      JSON.stringify([...parts].map(([part, q]) => [part, String(q)]).sort());
    const booked = new Map<string, string[]>();
    for (const [model, parts] of this.#booked) {
      if (!this.#billed.has(model)) booked.set(text(parts), [...booked.get(text(parts)) ?? [], model]);
    }
    const pairs = new Map<string, string>();
    for (const [model, parts] of this.#billed) {
      const same = this.#booked.has(model) ? undefined : booked.get(text(parts));
      if (same?.length === 1) pairs.set(model, same[0]!);
    }
    return pairs;
  }
}

/**
 * Explains the calls of a model that the bill names otherwise: it has the same quantities, and one side alone has each name. `matched`
 * is what was thought to have no calls.
 */
export function findAliases(
  variances: readonly Variance[],
  oneSided: OneSided,
): { variances: Variance[]; matched: AttoUsd } {
  const pairs = oneSided.pairs();
  let matched = 0n;
  if (pairs.size === 0) return { variances: [...variances], matched };
  const names = new Map([...pairs].flatMap(([billed, booked]) => {
    const evidence = `billed as ${billed}, booked as ${booked}`;
    return [[billed, evidence], [booked, evidence]] as const;
  }));
  const found = new Map<string, Variance>();
  for (const one of variances) {
    const evidence = names.get(one.dimensions.model ?? "");
    const isMoved = evidence !== undefined && one.cause !== "discount" && one.cause !== "late";
    if (isMoved && one.amount > 0n && UNMATCHED.has(one.cause)) matched += one.amount;
    const variance: Variance = isMoved ? { ...one, cause: "model_alias", evidence } : one;
    const key = [variance.cause, one.from, one.part, one.level, textOf(one.dimensions)].join("\0");
    const known = found.get(key);
    if (known) addVariance(known, one);
    else found.set(key, variance);
  }
  return { variances: [...found.values()], matched };
}
