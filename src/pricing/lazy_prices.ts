import { messageOf } from "../kernel/errors.ts";
import { files } from "../kernel/files/files.ts";
import { silentLog } from "../kernel/log.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import type { PriceBook } from "./price_book.ts";
import type { PriceBookOptions, PricesInUse } from "./prices.ts";

/** A price book that is loaded on first use, and follows updates. */
export interface LazyPriceBook extends PriceBook {
  /** Loads the prices; the functions of `PriceBook` throw before that. Rejects like `openPrices()`. */
  ready(): Promise<void>;
  /** Returns the book in use, which no update changes: a call is bounded and billed by one book. */
  current(): PriceBook;
  /** Returns the prices in use, and loads them before. */
  inUse(): Promise<PricesInUse>;
  /** Returns whether they are loaded. */
  isLoaded(): boolean;
  /** Reads updated prices if their files have changed since they were loaded. Resolves to whether they have. */
  refresh(): Promise<boolean>;
}

/** The file that the overrides are written in. */
export interface OverridesFile {
  path: string;
  read(): Promise<readonly PriceOverride[]>;
}

/**
 * Creates a price book that loads the catalog, which takes 30 ms, on first use: most commands price nothing. The overrides
 * of a file follow its changes; while it can't be read, those before are used.
 */
export function createLazyPriceBook(
  { file, ...options }: PriceBookOptions & { file?: OverridesFile | undefined },
): LazyPriceBook {
  const { folder, log = silentLog } = options;
  let loading: Promise<PricesInUse> | undefined;
  let loaded: PricesInUse | undefined;
  /** Of the updated prices, and of the file of the overrides. */
  let stamps: readonly string[] = [];

  async function readStamps(): Promise<string[]> {
    const { stampOfPrices } = await import("./updates/used_prices.ts");
    return [
      folder === undefined ? "" : await stampOfPrices(folder),
      file === undefined ? "" : JSON.stringify(await files.stampOf(file.path)),
    ];
  }

  async function load(): Promise<PricesInUse> {
    // Read before the files: of a file that is replaced meanwhile, the next refresh reads the new one.
    stamps = await readStamps();
    const overrides = await file?.read().catch((error) => {
      log.warn("The prices of the config can't be read again; those before are used", {
        reason: messageOf(error),
      });
      return loaded?.overrides;
    });
    const { openPrices } = await import("./prices.ts");
    return loaded = await openPrices({ ...options, ...(overrides && { overrides }) });
  }

  const current = (): PriceBook => {
    if (loaded) return loaded.book;
    throw new Error("Cannot price: the prices are not loaded yet");
  };
  return {
    ready: async () => void await (loading ??= load()),
    inUse: () => loading ??= load(),
    isLoaded: () => loaded !== undefined,
    current,
    located: (query) => current().located(query),
    async refresh() {
      if ((folder === undefined && file === undefined) || loaded === undefined) return false;
      const [before, present] = [stamps, await readStamps()];
      if (before.every((stamp, index) => stamp === present[index])) return false;
      const overrides = JSON.stringify(loaded.overrides);
      const next = await load();
      loading = Promise.resolve(next);
      // Of the config file, another setting may have changed.
      if (stamps[0] === before[0] && JSON.stringify(next.overrides) === overrides) return false;
      const sources = next.catalog.sources.map(({ name, date }) => `${name}@${date}`);
      log.info("The prices have changed, and calls are billed by the new ones", {
        sources,
        overrides: next.overrides.length,
      });
      return true;
    },
    rates: (input) => current().rates(input),
    price: (input) => current().price(input),
    nearest: (input) => current().nearest?.(input),
    worstCaseRates: (input) => current().worstCaseRates(input),
    worstCase: (input) => current().worstCase(input),
  };
}
