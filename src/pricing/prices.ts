import { PurserError } from "../kernel/errors.ts";
import { type Log, silentLog } from "../kernel/log.ts";
import type { NanoUsd } from "../kernel/money.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import { type Catalog, openCatalog } from "./catalog.ts";
import { DEMO_RATES, priceUsage, type Rates } from "./rates.ts";
import { indexOverrides } from "./override_rates.ts";
import { checkUsage, type Usage } from "./usage/usage.ts";
import { worstCaseCost, type WorstCaseRates, worstCaseRates } from "./worst_case.ts";

/** A price to look up. `provider` and `model` are Purser's names: `openai` and `gpt-4o-mini`. */
export interface PriceQuery {
  provider: string;
  model: string;
  /** The time of the call, in milliseconds since the epoch; prices change by date and some by the hour. */
  at: number;
}

/** The cost of a call and the source of its price. */
export interface Price {
  /** Null, never 0, if no price is known. */
  costNanoUsd: NanoUsd | null;
  /** `config`, `genai-prices@<version>`, `demo` or `none`. */
  priceSource: string;
}

/**
 * All known prices, in this order: the overrides of the config, the `demo` provider, the catalog. Providers are matched by
 * exact name; all others are unpriced.
 *
 * Service tiers: the catalog has standard prices only. A call of another tier (`flex`, `priority`, `batch`, …) is priced by
 * the override with that `service_tier`, else at the standard price, with one warning.
 */
export interface PriceBook {
  /** Prices a call. Throws `invalid` for a contradictory usage. */
  price(input: PriceQuery & { usage: Usage; serviceTier?: string }): Price;
  /** Returns the prices of a model, or null if none is known. */
  rates(input: PriceQuery & { serviceTier?: string }): Rates | null;
  /** Returns the highest prices of the tokens of a call of at most `inputTokens`, over all known service tiers. */
  worstCaseRates(input: PriceQuery & { inputTokens: number }): WorstCaseRates | null;
  /** Returns an upper bound of the cost of a call, in nano-USD rounded up, or null if no price is known. */
  worstCase(input: PriceQuery & { inputTokens: number; outputTokens: number }): NanoUsd | null;
}

/** The providers' names of the tiers that are billed at the standard price. */
const STANDARD_TIERS = new Set(["default", "standard", "auto", "on_demand"]);

/** Each distinct warning is logged once, up to this many. */
const MAX_WARNINGS = 1_000;

const UNPRICED: Price = Object.freeze({ costNanoUsd: null, priceSource: "none" });

/**
 * Loads all prices. Throws `invalid`, naming the path, if `overrides` are wrong or contradict each other.
 */
export async function createPriceBook(
  options: { overrides?: readonly PriceOverride[]; log?: Log } = {},
): Promise<PriceBook> {
  const log = options.log ?? silentLog;
  const rows = await readOverrides(options.overrides ?? []);
  return createPriceBookOver(await openCatalog(log), rows, log);
}

/** Checks the overrides, and returns them as a copy. Without any, the schema is not loaded. */
async function readOverrides(overrides: readonly PriceOverride[]): Promise<readonly PriceOverride[]> {
  if (Array.isArray(overrides) && overrides.length === 0) return [];
  const { PriceOverrides } = await import("../contract/price_override.ts");
  const rows = PriceOverrides.safeParse(overrides);
  if (rows.success) return rows.data;
  const { path, message } = rows.error.issues[0]!;
  throw new PurserError("invalid", `Cannot read the prices: ${["prices", ...path].join(".")} ${message}`);
}

/** A price book that is loaded on first use. */
export interface LazyPriceBook extends PriceBook {
  /** Loads the prices; the other functions throw before that. Rejects like `createPriceBook()`. */
  ready(): Promise<void>;
}

/** Creates a price book that loads the catalog, which takes 30 ms, on first use: most commands price nothing. */
export function createLazyPriceBook(options: Parameters<typeof createPriceBook>[0]): LazyPriceBook {
  let loading: Promise<void> | undefined;
  let book: PriceBook | undefined;
  const loaded = (): PriceBook => {
    if (book) return book;
    throw new Error("Cannot price: the prices are not loaded yet");
  };
  return {
    ready: () => loading ??= createPriceBook(options).then((prices) => void (book = prices)),
    rates: (input) => loaded().rates(input),
    price: (input) => loaded().price(input),
    worstCaseRates: (input) => loaded().worstCaseRates(input),
    worstCase: (input) => loaded().worstCase(input),
  };
}

/** Creates a price book over a given catalog. */
function createPriceBookOver(catalog: Catalog, rows: readonly PriceOverride[], log: Log): PriceBook {
  const overrides = indexOverrides(rows);
  const warned = new Set<string>();

  function warnOnce(message: string, fields: Record<string, unknown>): void {
    const key = JSON.stringify([message, fields]);
    if (warned.has(key) || warned.size >= MAX_WARNINGS) return;
    warned.add(key);
    log.warn(message, fields);
  }

  function listed({ provider, model, at }: PriceQuery): Rates | null {
    return provider === "demo" ? DEMO_RATES : catalog.rates(provider, model, at);
  }

  const book: PriceBook = {
    rates(input) {
      return overrides.find(input.provider, input.model, input.at, input.serviceTier) ?? listed(input);
    },
    price(input) {
      checkUsage(input.usage);
      const rates = book.rates(input);
      const costNanoUsd = rates && priceUsage(rates, input.usage);
      const { provider, model, serviceTier } = input;
      if (rates === null || costNanoUsd === null) {
        warnOnce("No price is known for a model: its calls are booked without a cost", { provider, model });
        return UNPRICED;
      }
      if (
        serviceTier !== undefined && rates.source !== "config" &&
        !STANDARD_TIERS.has(serviceTier.toLowerCase())
      ) {
        warnOnce("No price is known for a service tier: its calls are booked at the standard price", {
          provider,
          model,
          serviceTier,
        });
      }
      return { costNanoUsd, priceSource: rates.source };
    },
    worstCaseRates(input) {
      const { anyTier, byTier } = overrides.findAll(input.provider, input.model, input.at);
      const standard = anyTier ?? listed(input);
      return standard && worstCaseRates([standard, ...byTier], input.inputTokens);
    },
    worstCase(input) {
      const rates = book.worstCaseRates(input);
      return rates && worstCaseCost(rates, input);
    },
  };
  return book;
}
