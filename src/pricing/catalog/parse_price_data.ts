import { PurserError } from "../../kernel/errors.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { PriceData, PriceDataHead } from "./price_data.ts";
import { parseGenaiPrices } from "./parse_genai_prices.ts";
import { parseLitellmPrices } from "./parse_litellm_prices.ts";

/** Both published files have under 4 MB. */
const MAX_CHARACTERS = 32_000_000;

/** An entry that was left out. */
export interface SkippedEntry {
  /** `provider:model`, or LiteLLM's key. */
  entry: string;
  reason: string;
}

/** Checked prices, and what they leave out. */
export interface ParsedPrices {
  data: PriceData;
  skipped: SkippedEntry[];
}

/**
 * Reads a file of prices: a published one of genai-prices (a list of providers) or LiteLLM (a map of models), or a copy with
 * its head, as bundled. Prose and other units are dropped; an entry with anything that can't be read is left out whole and
 * reported. `head` is the origin of a published file. Throws `invalid` for anything else.
 */
export function parsePriceData(text: string, head: Partial<PriceDataHead> = {}): ParsedPrices {
  if (text.length > MAX_CHARACTERS) {
    throw new PurserError("invalid", `Cannot read the prices: the file is over ${MAX_CHARACTERS / 1e6} MB`);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new PurserError("invalid", `Cannot read the prices: the file is no JSON: ${messageOf(error)}`);
  }
  if (Array.isArray(json)) return checked(parseGenaiPrices(json, headOf(head)));
  if (typeof json !== "object" || json === null) throw notPrices();
  const file = json as Record<string, unknown>;
  if (Array.isArray(file.providers)) {
    return checked(parseGenaiPrices(file.providers, headOf({ ...file, ...head })));
  }
  if (typeof file.models === "object" && file.models !== null && file.source === "litellm") {
    return checked(parseLitellmPrices(file.models as Record<string, unknown>, headOf({ ...file, ...head })));
  }
  return checked(parseLitellmPrices(file, headOf(head)));
}

function notPrices(): PurserError {
  return new PurserError(
    "invalid",
    "Cannot read the prices: the file has no prices; give a data file of genai-prices or LiteLLM's map",
  );
}

/** A file of which nothing can be read is another file. */
function checked(parsed: ParsedPrices): ParsedPrices {
  const { data } = parsed;
  const count = data.source === "litellm" ? Object.keys(data.models).length : data.providers.length;
  if (count === 0) throw notPrices();
  return parsed;
}

function headOf(fields: Partial<Record<keyof PriceDataHead, unknown>>): PriceDataHead {
  const { date, version, url, license, skipped } = fields;
  const day = typeof date === "string" && /^\d{4}-\d{2}-\d{2}$/.test(date) && !Number.isNaN(Date.parse(date));
  if (!day) {
    throw new PurserError(
      "invalid",
      `Cannot read the prices: their date is ${date}, not a day; give it as 2026-11-10`,
    );
  }
  return {
    date,
    ...(typeof version === "string" && { version }),
    ...(typeof url === "string" && { url }),
    ...(typeof license === "string" && { license }),
    ...(typeof skipped === "object" && skipped !== null && { skipped: skipped as Record<string, number> }),
  };
}

/** Counts what was left out by reason, without names and values. */
export function countSkipped(skipped: readonly SkippedEntry[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { reason } of skipped) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}
