import type { PriceRate } from "../../contract/prices.ts";
import type { RateTier } from "../rates.ts";

const MILLION = 1_000_000;
const THOUSAND = 1_000;

/** Lists the rates of a tier, each in USD per million tokens or per thousand counts. */
export function rateLines(tier: RateTier): PriceRate[] {
  const { details = {}, request } = tier;
  const tokens: [part: string, rate: bigint | null][] = [
    ["input_tokens", tier.input],
    ["output_tokens", tier.output],
    ["reasoning_tokens", tier.reasoning],
    ["cache_read_tokens", tier.cacheRead],
    ["cache_write_tokens", tier.cacheWrite],
    ["cache_write_1h_tokens", tier.cacheWrite1h],
    ...Object.entries(details).filter(([part]) => isTokens(part)),
  ];
  const counts: [part: string, rate: bigint | undefined][] = [
    ...Object.entries(details).filter(([part]) => !isTokens(part)),
    ["requests", request],
  ];
  return [
    ...tokens.flatMap(([part, rate]) => rate === null ? [] : [rateOf(part, rate, MILLION)]),
    ...counts.flatMap(([part, rate]) => rate === undefined ? [] : [rateOf(part, rate, THOUSAND)]),
  ];
}

const isTokens = (part: string) => part.endsWith("_tokens");

function rateOf(part: string, picoUsd: bigint, per: number): PriceRate {
  // Exact: a rate in USD has at most nine decimals, and fewer than 16 digits.
  return { part, usd: Number(picoUsd * BigInt(per)) / 1e12, per };
}
