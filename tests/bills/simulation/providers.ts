/** The rules by which the simulated providers make their bills. */

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The rules of a provider. */
export interface Provider {
  name: string;
  /** The width of the buckets of usage; 0 for lines of one call; undefined without a series of usage. */
  usageMs?: number;
  costMs: number;
  /** The lines of costs have quantities. */
  hasQuantities: boolean;
  /** The lines of costs have one amount for all parts. */
  isWhole?: true;
  hasKeyInCosts: boolean;
  decimals?: number;
}

export const PROVIDERS: readonly Provider[] = [
  {
    name: "usage by the minute, costs by the day",
    usageMs: MINUTE,
    costMs: DAY,
    hasQuantities: false,
    hasKeyInCosts: false,
    decimals: 11,
  },
  {
    name: "usage by the hour, costs with quantities by day and key",
    usageMs: HOUR,
    costMs: DAY,
    hasQuantities: true,
    hasKeyInCosts: true,
  },
  {
    name: "one line for each call",
    usageMs: 0,
    costMs: 0,
    hasQuantities: false,
    isWhole: true,
    hasKeyInCosts: true,
    decimals: 10,
  },
  {
    name: "costs with quantities by the hour",
    costMs: HOUR,
    hasQuantities: true,
    hasKeyInCosts: true,
    decimals: 8,
  },
  { name: "one amount an hour", costMs: HOUR, hasQuantities: false, isWhole: true, hasKeyInCosts: true },
];
