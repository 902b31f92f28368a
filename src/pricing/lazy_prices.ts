import { type Clock, MINUTE_MS } from "../kernel/clock.ts";
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
  /** Reads updated prices if their files, or the rows of the database, have changed. Resolves to whether they have. */
  refresh(): Promise<boolean>;
  /** Sets the function that reads the rows of the database; without one there are none. */
  readStored?: () => Promise<readonly PriceOverride[]>;
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
  { file, clock, ...options }: PriceBookOptions & {
    file?: OverridesFile | undefined;
    /** With it, `ready()` refreshes the prices every minute: at the edge, no process does. */
    clock?: Pick<Clock, "monotonic">;
  },
): LazyPriceBook {
  const { folder, log = silentLog } = options;
  let loading: Promise<PricesInUse> | undefined;
  let loaded: PricesInUse | undefined;
  /** Of the updated prices, of the file of the overrides, and of the rows of the database. */
  let stamps: readonly string[] = [];
  let readAt = -Infinity;

  async function readStamps(): Promise<string[]> {
    const { stampOfPrices } = await import("./updates/used_prices.ts");
    return [
      folder === undefined ? "" : await stampOfPrices(folder),
      file === undefined ? "" : JSON.stringify(await files.stampOf(file.path)),
      JSON.stringify(await book.readStored?.() ?? []),
    ];
  }

  async function load(): Promise<PricesInUse> {
    // Read before the files: of a file that is replaced meanwhile, the next refresh reads the new one.
    const read = await readStamps();
    const overrides = await file?.read().catch((error) => {
      log.warn("The prices of the config can't be read again; those before are used", {
        reason: messageOf(error),
      });
      return loaded?.overrides;
    });
    const { openPrices } = await import("./prices.ts");
    loaded = await openPrices({ ...options, stored: JSON.parse(read[2]!), ...(overrides && { overrides }) });
    stamps = read;
    readAt = clock?.monotonic() ?? 0;
    return loaded;
  }

  /** Loads the prices; after a failure, such as that of the database, the next caller tries again. */
  const loadOnce = () =>
    loading ??= load().catch((error) => {
      loading = undefined;
      throw error;
    });

  const current = (): PriceBook => {
    if (loaded) return loaded.book;
    throw new Error("Cannot price: the prices are not loaded yet");
  };
  const book: LazyPriceBook = {
    async ready() {
      await loadOnce();
      if (clock && clock.monotonic() - readAt >= MINUTE_MS) {
        readAt = clock.monotonic();
        await book.refresh();
      }
    },
    inUse: loadOnce,
    isLoaded: () => loaded !== undefined,
    current,
    located: (query) => current().located(query),
    async refresh() {
      if (loaded === undefined) return false;
      const [before, present] = [stamps, await readStamps()];
      if (before.every((stamp, index) => stamp === present[index])) return false;
      const overrides = JSON.stringify(loaded.overrides);
      const next = await load();
      loading = Promise.resolve(next);
      // Of the config file, another setting may have changed.
      const isSame = [0, 2].every((index) => stamps[index] === before[index]);
      if (isSame && JSON.stringify(next.overrides) === overrides) return false;
      const sources = next.catalog.sources.map(({ name, date }) => `${name}@${date}`);
      log.info("The prices have changed, and calls are billed by the new ones", {
        sources,
        overrides: next.overrides.length,
        set: next.stored.length,
      });
      return true;
    },
    rates: (input, complete) => current().rates(input, complete),
    price: (input) => current().price(input),
    nearest: (input) => current().nearest?.(input),
    worstCaseRates: (input) => current().worstCaseRates(input),
    worstCase: (input) => current().worstCase(input),
  };
  return book;
}
