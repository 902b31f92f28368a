import { createHash } from "node:crypto";
import { toCanonicalText } from "../kernel/json/canonical_json.ts";
import type { Rates, RateTier } from "./rates.ts";

/** A rate card as the ledger keeps it, once for all calls that were priced by it. */
export interface PriceRecord {
  /** The first 52 bits of the hash, so that every process gives a card the same id without a look-up. */
  priceId: number;
  /** SHA-256 of the text, in hex. */
  hash: string;
  /** The card as canonical JSON; its rates are texts of pico-USD. */
  text: string;
}

const records = new WeakMap<Rates, PriceRecord>();

/** Returns the record of a rate card. */
export function priceRecordOf(rates: Rates): PriceRecord {
  let record = records.get(rates);
  if (!record) {
    const { source, model, unknown, tiers } = rates;
    const asText = (_: string, value: unknown) => typeof value === "bigint" ? String(value) : value;
    const text = toCanonicalText(JSON.parse(JSON.stringify({ source, model, unknown, tiers }, asText)));
    const hash = createHash("sha256").update(text).digest("hex");
    records.set(rates, record = { priceId: parseInt(hash.slice(0, 13), 16), hash, text });
  }
  return record;
}

/** Reads the rate card of a record. */
export function parsePriceRecord(text: string): Rates {
  const { tiers, ...card } = JSON.parse(text);
  return { ...card, tiers: tiers.map(toTier) };
}

function toTier({ aboveInputTokens, details, ...rates }: Record<string, unknown>): RateTier {
  return {
    aboveInputTokens,
    ...toBigInts(rates),
    ...(details !== undefined && { details: toBigInts(details as object) }),
  } as RateTier;
}

const toBigInts = (rates: object) =>
  Object.fromEntries(
    Object.entries(rates).map(([name, rate]) => [name, rate === null ? null : BigInt(rate)]),
  );
