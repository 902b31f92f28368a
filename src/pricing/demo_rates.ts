import { parseUsdPerMillion } from "../kernel/money.ts";
import type { Rates } from "./rates.ts";

/** The made-up prices of the built-in `demo` models: 1 USD per million input tokens, 4 per million output. */
export const DEMO_RATES: Rates = {
  source: "demo",
  tiers: [{
    aboveInputTokens: -1,
    input: parseUsdPerMillion(1),
    output: parseUsdPerMillion(4),
    reasoning: parseUsdPerMillion(4),
    cacheRead: parseUsdPerMillion(0.1),
    cacheWrite: parseUsdPerMillion(1.25),
    cacheWrite1h: parseUsdPerMillion(1.25),
  }],
};
