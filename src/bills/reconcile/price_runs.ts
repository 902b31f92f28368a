/** A share of a price: millionths of millionths. */
export const ONE = 1_000_000_000_000n;

/** The prices that one bucket may have, as shares of the ledger's price: more than one, since its amount is rounded. */
interface Interval {
  low: bigint;
  high: bigint;
}

/** A price of a SKU over some buckets. */
interface Run extends Interval {
  cells: number;
  /** Tells whether the differences of the run are those of a price. */
  settle: ((isPrice: boolean) => void)[];
  isAgreed: boolean;
}

interface Sku {
  cells: number;
  /** The last price that is sure. */
  before?: Run;
  /** A bucket with another price than those around it: a price that changed within it, or none. */
  single?: Run;
  current?: Run;
}

/**
 * Decides which differences are those of a price: a price repeats. The amount of a single bucket that fits to none around it is not one,
 * unless the SKU has no other bucket, or the price changed within this one.
 */
export class PriceRuns {
  readonly #skus = new Map<string, Sku>();

  /** Adds the next bucket of a SKU, with the prices that it may have. `settle` is called once, with whether it is a price. */
  add(name: string, { low, high }: Interval, settle?: (isPrice: boolean) => void): void {
    let sku = this.#skus.get(name);
    if (!sku) this.#skus.set(name, sku = { cells: 0 });
    sku.cells++;
    const isAgreed = settle === undefined;
    const { current } = sku;
    const isSame = current && current.isAgreed === isAgreed && low <= current.high && high >= current.low;
    if (!isSame) {
      this.#end(sku);
      sku.current = { low, high, cells: 1, settle: settle ? [settle] : [], isAgreed };
      if (isAgreed) this.#confirm(sku);
      return;
    }
    current.low = low > current.low ? low : current.low;
    current.high = high < current.high ? high : current.high;
    current.cells++;
    if (settle) current.settle.push(settle);
    this.#confirm(sku);
  }

  /** Decides on what is left. */
  end(): void {
    for (const sku of this.#skus.values()) {
      const isOnly = sku.cells === 1;
      for (const run of [sku.single, sku.current]) settleAll(run, isOnly);
    }
    this.#skus.clear();
  }

  /** The price of the current run is sure. */
  #confirm(sku: Sku): void {
    const current = sku.current!;
    settleAll(current, true);
    const { single, before } = sku;
    if (!single) return;
    settleAll(single, before !== undefined && isBetween(single, before, current));
    delete sku.single;
  }

  #end(sku: Sku): void {
    const { current } = sku;
    if (!current) return;
    if (current.cells > 1 || current.isAgreed) sku.before = current;
    else {
      settleAll(sku.single, false);
      sku.single = current;
    }
  }
}

function settleAll(run: Run | undefined, isPrice: boolean): void {
  for (const settle of run?.settle ?? []) settle(isPrice);
  if (run) run.settle = [];
}

function isBetween({ low, high }: Interval, one: Interval, other: Interval): boolean {
  const [least, most] = one.low < other.low ? [one.low, other.high] : [other.low, one.high];
  return low >= least && high <= most;
}
