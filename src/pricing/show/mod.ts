/** Shows the prices in use: the rates of a model, the sources, and what is wrong with the prices of models in use. */
export { checkPrices, type PriceFindings } from "./check_prices.ts";
export { describePrice, type PriceLookup } from "./describe_price.ts";
export { describeSources } from "./describe_sources.ts";
