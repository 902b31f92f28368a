import { PurserError } from "../kernel/errors.ts";
import { formatUsd } from "../kernel/money.ts";
import { type Log, silentLog } from "../kernel/log.ts";
import { priceFieldOf } from "../contract/billed_parts.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import { type Catalog, createCatalog, MAX_DELAY_MS, nearestNames } from "./catalog.ts";
import { type Contracts, indexContracts, isContract } from "./contracts.ts";
import type { Price, PriceBook, PriceQuery, Served } from "./price_book.ts";
import { providerIdOf } from "./catalog/names/provider_names.ts";
import { regionOfAddress } from "./catalog/names/served_region.ts";
import { DEMO_RATES, type Rates } from "./rates.ts";
import { isApart, priceUsage } from "./price_usage.ts";
import { readUsedPrices, type UsedPrices } from "./updates/used_prices.ts";
import { type BilledProvider, createBills, type FindBill } from "./stated/bills.ts";
import { mayState, readStatedCost, type StatedCost } from "./stated/stated_cost.ts";
import { checkUsage, type Usage, USAGE_DETAILS } from "./usage/usage.ts";
import { worstCaseCost, worstCaseRates } from "./worst_case.ts";
import { type Dimension, DIMENSION_OF } from "./catalog/dimensions.ts";
import { tiersOf } from "./catalog/rate_card.ts";
import { withToolRates } from "./catalog/tool_prices.ts";

/** Each distinct warning is logged once, up to this many. */
const MAX_WARNINGS = 1_000;

const UNPRICED: Price = Object.freeze({ costNanoUsd: null, priceSource: "none", rates: null });

/** Options of a price book. */
export interface PriceBookOptions {
  overrides?: readonly PriceOverride[];
  /** The rows that people have set in the database: a model with one has none of the others. */
  stored?: readonly PriceOverride[];
  /** The providers that can be called, by name: an address may say who states a bill, and the region in which it serves. */
  providers?: Readonly<Record<string, BilledProvider>>;
  /** The folder of updated prices; without one, the prices are those of this release. */
  folder?: string | undefined;
  /** Replaces the catalog of the prices in use. */
  catalog?: Catalog;
  log?: Log;
}

/** The prices in use: a price book, and its parts. */
export interface PricesInUse {
  book: PriceBook;
  overrides: readonly PriceOverride[];
  stored: readonly PriceOverride[];
  catalog: Catalog;
  listed: UsedPrices;
}

/** Loads all prices. Throws `invalid`, naming the path, if `overrides` are wrong or contradict each other. */
export async function openPrices(options: PriceBookOptions = {}): Promise<PricesInUse> {
  const log = options.log ?? silentLog;
  const overrides = await readOverrides(options.overrides ?? []);
  const listed = await readUsedPrices(options.folder, log);
  const catalog = options.catalog ?? createCatalog(listed, log);
  const { providers = {} } = options;
  const [bills, regions] = [createBills(providers), regionsOf(providers)];
  const { stored = [] } = options;
  const isOf = (a: PriceOverride, b: PriceOverride) =>
    a.model === b.model && providerIdOf(a.provider) === providerIdOf(b.provider) &&
    isContract(a) === isContract(b);
  const all = [
    ...stored.map((row) => ({ ...row, source: "database" as const })),
    ...overrides.filter((row) => !stored.some((own) => isOf(own, row))),
  ];
  const rows = all.filter((row) => !isContract(row));
  const contracts = indexContracts(all.filter(isContract));
  const book = createPriceBookOver({ catalog, rows, contracts, bills, regions, log });
  return { book, overrides, stored, catalog, listed };
}

/** Returns the regions of the providers whose addresses name one. */
function regionsOf(providers: NonNullable<PriceBookOptions["providers"]>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(providers).flatMap(([name, { baseUrl }]) => {
      const region = baseUrl === undefined ? undefined : regionOfAddress(baseUrl);
      return region === undefined ? [] : [[name, region] as const];
    }),
  );
}

/** Loads a price book, as `openPrices()` does. */
export async function createPriceBook(options?: PriceBookOptions): Promise<PriceBook> {
  return (await openPrices(options)).book;
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

/** Creates a price book over a given catalog. */
function createPriceBookOver(
  { catalog, rows, contracts, bills, regions, log }: {
    catalog: Catalog;
    rows: readonly PriceRow[];
    contracts: Contracts;
    bills: FindBill;
    regions: ReadonlyMap<string, string>;
    log: Log;
  },
): PriceBook {
  const overrides = indexOverrides(rows);
  const warned = new Set<string>();

  function warnOnce(
    message: string,
    fields: Record<string, unknown>,
    more?: () => Record<string, unknown>,
  ): void {
    const key = JSON.stringify([message, fields]);
    if (warned.has(key) || warned.size >= MAX_WARNINGS) return;
    warned.add(key);
    log.warn(message, { ...fields, ...more?.() });
  }

  function listed(query: PriceQuery & Served): Rates | null {
    return query.provider === "demo" ? DEMO_RATES : catalog.rates(query);
  }

  /** Warns of a stated cost that isn't booked, unless a price row has decided so. */
  function warnOfStated(
    { provider, model }: PriceQuery,
    stated: StatedCost,
    costNanoUsd: bigint | null,
  ): void {
    if (stated.reason === "price_row" || !isApart(stated.nanoUsd, costNanoUsd)) return;
    warnOnce(
      "A provider states a cost that is not booked",
      { provider, model, reason: stated.reason },
      () => ({ stated_usd: formatUsd(stated.nanoUsd) }),
    );
  }

  /** Returns the rates of a call, with those of its tools and of the other models that it has used, by its contract. */
  function ratesOfCall(input: PriceQuery & Served & { usage: Usage }): Rates | null {
    const card = overrides.find(input.provider, input.model, input.at, input.serviceTier) ?? listed(input);
    if (card === null) return null;
    const { details, models } = input.usage;
    const rates = contracts.apply(details ? withToolRates(card, input, details) : card, input);
    if (models === undefined) return rates;
    const others: Record<string, Rates> = {};
    for (const { model, usage } of models) {
      // They are served in the region and as the batch that the call is; no other tier or speed is documented for them.
      const { provider, at, inferenceGeo } = input;
      const serviceTier = input.serviceTier === "batch" ? "batch" : undefined;
      const other = ratesOfCall({ provider, model, at, inferenceGeo, serviceTier, usage });
      if (other) others[model] = other;
    }
    return Object.keys(others).length === 0 ? rates : { ...rates, others };
  }

  const book: PriceBook = {
    located(query) {
      const region = query.inferenceGeo ?? regions.get(query.provider);
      return region === undefined ? query : { ...query, inferenceGeo: region };
    },
    rates(input, complete = (card) => card) {
      const row = overrides.find(input.provider, input.model, input.at, input.serviceTier);
      const card = row ?? listed(input);
      return card && contracts.apply(complete(card), input);
    },
    price(input) {
      checkUsage(input.usage);
      const { provider, model, usage, statement } = input;
      const row = overrides.find(provider, model, input.at, input.serviceTier);
      const rates = ratesOfCall(input);
      const cost = rates && priceUsage(rates, usage);
      const stated = statement && mayState(statement) && readStatedCost(statement, {
        bill: bills(provider, model),
        model,
        usage,
        hasPriceRow: row !== undefined,
      });
      if (stated && !stated.reason) {
        const listCostNanoUsd = cost?.unpricedParts ? null : cost?.costNanoUsd;
        return {
          costNanoUsd: stated.nanoUsd,
          priceSource: "provider",
          rates,
          ...(listCostNanoUsd != null && { listCostNanoUsd }),
        };
      }
      if (stated) warnOfStated(input, stated, cost?.costNanoUsd ?? null);
      const beside = stated && { statedNanoUsd: stated.nanoUsd, statedReason: stated.reason };
      if (rates === null || cost === null || cost.costNanoUsd === null) {
        const message =
          "No price is known for a model: its calls have no cost, unless their source states one";
        warnOnce(message, { provider, model }, () => {
          const nearest = catalog.nearest(provider, model);
          const see = `purser prices show ${provider}:${model}`;
          return nearest.length > 0 ? { nearest, see } : { see };
        });
        return beside ? { ...UNPRICED, ...beside } : UNPRICED;
      }
      if (cost.unpricedParts) {
        const parts = cost.unpricedParts;
        warnOnce("A part of a call has no known price: its cost is that of the others", {
          provider,
          model,
          parts,
        });
      }
      return { ...cost, priceSource: rates.source, rates, ...beside };
    },
    nearest({ provider, model }) {
      const own = rows.filter((row) => providerIdOf(row.provider) === providerIdOf(provider));
      const names = [...own.map((row) => row.model), ...catalog.nearest(provider, model)];
      const [nearest] = nearestNames(model, names, 1);
      return nearest === undefined ? undefined : `${provider}:${nearest}`;
    },
    worstCaseRates(input) {
      const { anyTier, byTier } = overrides.findAll(input.provider, input.model, input.at);
      const cards = anyTier ? [anyTier] : input.provider === "demo" ? [DEMO_RATES] : catalog.allRates(input);
      const times = [input.at, input.at + MAX_DELAY_MS];
      const all = [...cards, ...byTier].map((card) => contracts.bound(card, input, times));
      return all.length === 0 ? null : worstCaseRates(all, input.inputTokens);
    },
    worstCase(input) {
      const rates = book.worstCaseRates(input);
      return rates && worstCaseCost(rates, input);
    },
  };
  return book;
}

/** A row of the config, or of the database. */
type PriceRow = PriceOverride & { source?: "config" | "database" };

interface DatedRates {
  fromMs: number;
  serviceTier: string | undefined;
  rates: Rates;
}

/** The price overrides, by provider, model and time. */
export interface Overrides {
  /** Returns the row for calls of that tier, else the row for any tier, else undefined. */
  find(provider: string, model: string, at: number, serviceTier?: string): Rates | undefined;
  /** Returns all rows that can price a call at that time: one per service tier, and the one for any tier. */
  findAll(provider: string, model: string, at: number): { anyTier?: Rates; byTier: Rates[] };
}

/** Names of providers come from callers, so the memory of them is bounded. */
const MAX_PROVIDER_NAMES = 1_000;

/** Indexes checked rows by the provider that their name means, such as `bedrock` for `aws`. */
export function indexOverrides(rows: readonly PriceRow[]): Overrides {
  const index = new Map<string, Map<string, DatedRates[]>>();
  const ids = new Map<string, string>();
  const idOf = (provider: string) => {
    let id = ids.get(provider);
    if (id === undefined) {
      if (ids.size >= MAX_PROVIDER_NAMES) ids.clear();
      ids.set(provider, id = providerIdOf(provider));
    }
    return id;
  };
  const rowsOf = (provider: string, model: string) =>
    index.size === 0 ? undefined : index.get(idOf(provider))?.get(model);
  for (const row of rows) {
    const models = index.get(idOf(row.provider)) ?? new Map<string, DatedRates[]>();
    const dated = models.get(row.model) ?? [];
    const fromMs = row.from === undefined ? -Infinity : Date.parse(`${row.from}T00:00:00.000Z`);
    dated.push({ fromMs, serviceTier: row.service_tier, rates: ratesOfOverride(row) });
    dated.sort((a, b) => b.fromMs - a.fromMs || 0);
    index.set(idOf(row.provider), models.set(row.model, dated));
  }
  const latest = (rows: DatedRates[] | undefined, at: number, serviceTier: string | undefined) =>
    rows?.find((row) => row.fromMs <= at && row.serviceTier === serviceTier)?.rates;
  return {
    find(provider, model, at, serviceTier) {
      const rows = rowsOf(provider, model);
      if (rows === undefined) return undefined;
      const ofTier = serviceTier === undefined ? undefined : latest(rows, at, serviceTier);
      return ofTier ?? latest(rows, at, undefined);
    },
    findAll(provider, model, at) {
      const rows = rowsOf(provider, model);
      const tiers = new Set(rows?.flatMap((row) => row.serviceTier ?? []));
      return {
        anyTier: latest(rows, at, undefined),
        byTier: [...tiers].flatMap((tier) => latest(rows, at, tier) ?? []),
      };
    },
  };
}

/** The dimensions that the fields of a row price. */
const FIELDS: Partial<Record<keyof PriceOverride, Dimension>> = {
  input_usd_per_million: "input_mtok",
  output_usd_per_million: "output_mtok",
  reasoning_usd_per_million: "output_reasoning_mtok",
  cache_read_usd_per_million: "cache_read_mtok",
  cache_write_usd_per_million: "cache_write_mtok",
  cache_write_1h_usd_per_million: "cache_write_1h_mtok",
  requests_usd_per_thousand: "requests_kcount",
};
for (const part of USAGE_DETAILS) {
  const dimension = DIMENSION_OF[part];
  if (dimension !== null) FIELDS[priceFieldOf(part)] = dimension;
}

/** Converts the prices of one row to a rate card; rates that it leaves out default as in the catalog. */
export function ratesOfOverride(row: PriceRow): Rates {
  const prices: Record<string, number> = {};
  for (const [field, name] of Object.entries(FIELDS)) {
    const price = row[field as keyof PriceOverride];
    if (typeof price === "number") prices[name] = price;
  }
  // A row sets the cost of a cache of its model, also for Claude.
  return { source: row.source ?? "config", tiers: tiersOf(prices, { isClaude: false, isGoogle: false })! };
}
