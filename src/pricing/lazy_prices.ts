import { silentLog } from "../kernel/log.ts";
import { openPrices, type PriceBook, type PriceBookOptions, type PricesInUse } from "./prices.ts";
import { stampOfPrices } from "./updates/used_prices.ts";

/** A price book that is loaded on first use, and follows updates. */
export interface LazyPriceBook extends PriceBook {
  /** Loads the prices; the functions of `PriceBook` throw before that. Rejects like `openPrices()`. */
  ready(): Promise<void>;
  /** Returns the book in use, which no update changes: a call is bounded and billed by one book. */
  current(): PriceBook;
  /** Returns the prices in use, and loads them before. */
  inUse(): Promise<PricesInUse>;
  /** Reads updated prices if their files have changed since they were loaded. Resolves to whether they have. */
  refresh(): Promise<boolean>;
}

/** Creates a price book that loads the catalog, which takes 30 ms, on first use: most commands price nothing. */
export function createLazyPriceBook(options: PriceBookOptions): LazyPriceBook {
  const { folder, log = silentLog } = options;
  let loading: Promise<PricesInUse> | undefined;
  let loaded: PricesInUse | undefined;
  let stamp = "";

  async function load(): Promise<PricesInUse> {
    // Read before the files: of a file that is replaced meanwhile, the next refresh reads the new one.
    if (folder !== undefined) stamp = await stampOfPrices(folder);
    return loaded = await openPrices(options);
  }

  const current = (): PriceBook => {
    if (loaded) return loaded.book;
    throw new Error("Cannot price: the prices are not loaded yet");
  };
  return {
    ready: async () => void await (loading ??= load()),
    inUse: () => loading ??= load(),
    current,
    async refresh() {
      if (folder === undefined || loaded === undefined || await stampOfPrices(folder) === stamp) return false;
      loading = load();
      const { catalog } = await loading;
      const sources = catalog.sources.map(({ name, date }) => `${name}@${date}`);
      log.info("The prices have changed, and calls are billed by the new ones", { sources });
      return true;
    },
    rates: (input) => current().rates(input),
    price: (input) => current().price(input),
    worstCaseRates: (input) => current().worstCaseRates(input),
    worstCase: (input) => current().worstCase(input),
  };
}
