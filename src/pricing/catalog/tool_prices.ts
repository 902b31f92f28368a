import type { PriceQuery } from "../price_book.ts";
import { isOwn, type Rates } from "../rates.ts";
import { USAGE_DETAILS, type UsageDetail, type UsageDetails } from "../usage/usage.ts";
import { type Dimension, DIMENSION_OF, toPicoUsd } from "./dimensions.ts";
import { providerIdOf } from "./names/provider_names.ts";

/*
 * The prices of tools and requests that neither source of prices has, or that differ from it. In USD per thousand; citation
 * tokens per million. As of 2026-11-26, by the page that each row names.
 */

/** The prices of some models of a provider. */
interface ToolPrices {
  provider: string;
  /** Matches the name by which the model was called, or its id in the prices. */
  models: RegExp;
  usd: Readonly<Partial<Record<Dimension, number>>>;
}

const AZURE_OPENAI = /^(?:gpt|chatgpt|o\d|codex|computer-use|model-router)/;

/** Prices that replace those of the sources; the first row that matches applies. */
const FEES: readonly ToolPrices[] = [
  // "Web search preview (non-reasoning models): $25.00 / 1k calls", the search content being free; it is the only tool of these
  // chat models. https://developers.openai.com/api/docs/pricing, and LiteLLM's map of 2026-11-12. Others cost $10.
  { provider: "openai", models: /-search-preview\b/, usd: { web_searches_kcount: 25 } },
  { provider: "openai", models: /^gpt-.*-search-api\b/, usd: { web_searches_kcount: 10 } },
  // Grounding with Bing, by which Azure's models search: "$14 per 1,000 transactions".
  // https://www.microsoft.com/en-us/bing/apis/grounding-pricing, and LiteLLM's map. Claude searches by Anthropic's tool.
  { provider: "azure", models: AZURE_OPENAI, usd: { web_searches_kcount: 14 } },
  // The fee of a request by its search context: low (the default), medium, high; a Pro Search (`search_type: "pro"`) $14, $18 and
  // $22. Neither citation tokens nor search queries are billed. https://docs.perplexity.ai/docs/getting-started/pricing
  { provider: "perplexity", models: /^sonar(?:-reasoning)?$/, usd: contextFees(5, 8, 12) },
  { provider: "perplexity", models: /^sonar(?:-reasoning)?-pro$/, usd: contextFees(6, 10, 14) },
  // Billed by tokens and queries, whatever the context.
  {
    provider: "perplexity",
    models: /^sonar-deep-research$/,
    usd: {
      output_citation_mtok: 2,
      low_context_requests_kcount: 0,
      medium_context_requests_kcount: 0,
      high_context_requests_kcount: 0,
    },
  },
];

function contextFees(low: number, medium: number, high: number): ToolPrices["usd"] {
  return {
    requests_kcount: low,
    low_context_requests_kcount: 0,
    medium_context_requests_kcount: medium - low,
    high_context_requests_kcount: high - low,
    pro_searches_kcount: 8,
    output_citation_mtok: 0,
    web_searches_kcount: 0,
  };
}

/** Prices of parts that few calls have, used where the sources have none; the first row that matches applies. */
const TOOLS: readonly ToolPrices[] = [
  // As above; GPT-5 and the o-series reason.
  {
    provider: "openai",
    models: /^(?:ft:)?(?:gpt-(?:3|4)|chatgpt-4|gpt-5[\d.]*-chat)/,
    usd: { search_previews_kcount: 25 },
  },
  { provider: "openai", models: /./, usd: { search_previews_kcount: 10 } },
  { provider: "azure", models: AZURE_OPENAI, usd: { search_previews_kcount: 14 } },
  // Google Maps: up to Gemini 2.5 "$25 / 1,000 grounded prompts", later "$14 / 1,000 search queries"; one's own data "$2.50 /
  // 1,000 requests". https://ai.google.dev/gemini-api/docs/pricing, https://cloud.google.com/vertex-ai/generative-ai/pricing,
  // and LiteLLM's map (`google_maps_grounding_cost_per_query`).
  {
    provider: "google",
    models: /gemini-[12]\b/,
    usd: { map_groundings_kcount: 25, data_groundings_kcount: 2.5 },
  },
  { provider: "google", models: /gemini/, usd: { map_groundings_kcount: 14, data_groundings_kcount: 2.5 } },
  // https://docs.x.ai/developers/pricing: "Cost / 1k Calls". X Search is billed by fetched post and profile since 2026-09-21.
  {
    provider: "x-ai",
    models: /./,
    usd: {
      web_searches_kcount: 5,
      social_searches_kcount: 5,
      social_posts_kcount: 5,
      social_profiles_kcount: 10,
      code_executions_kcount: 5,
      attachment_searches_kcount: 10,
      storage_searches_kcount: 2.5,
    },
  },
];

/** Dimensions that several providers bill. */
const GENERAL: ReadonlySet<Dimension> = new Set([
  "web_searches_kcount",
  "storage_searches_kcount",
  "code_executions_kcount",
]);

function find(
  rows: readonly ToolPrices[],
  providerId: string,
  names: readonly string[],
): ToolPrices["usd"] | undefined {
  return rows.find(({ provider, models }) =>
    provider === providerId && names.some((name) => models.test(name))
  )?.usd;
}

/** Returns the documented fees of a model, which replace those of the sources. */
export function feesOf(
  { provider, model, id }: { provider: string; model: string; id: string },
): ToolPrices["usd"] | undefined {
  // The name of the call counts first: that of a dated alias may be in the data without a part of it.
  const providerId = providerIdOf(provider);
  return find(FEES, providerId, [model.toLowerCase()]) ?? find(FEES, providerId, [id]);
}

/** The parts that calls of one provider alone have. */
const OWN_PARTS = new Set(
  USAGE_DETAILS.filter((part) =>
    [...FEES, ...TOOLS].some(({ usd }) => {
      const dimension = DIMENSION_OF[part];
      return dimension !== null && !GENERAL.has(dimension) && usd[dimension] !== undefined;
    })
  ),
);

/** Returns whether a part is missing in most rate cards because no call of their provider has it. */
export function isOwnPart(part: UsageDetail): boolean {
  return OWN_PARTS.has(part);
}

/** Returns a rate card with the rates of all tools of its model. */
export function withAllToolRates(rates: Rates, query: PriceQuery): Rates {
  const usd = toolsOf(rates, query);
  const parts = USAGE_DETAILS.filter((part) => {
    const dimension = DIMENSION_OF[part];
    return dimension !== null && usd[dimension] !== undefined;
  });
  return withToolRates(rates, query, Object.fromEntries(parts.map((part) => [part, 1])));
}

/** The cards that were completed, by the parts. */
const completed = new WeakMap<Rates, Map<string, Rates>>();

/** Returns a rate card with the rates of the parts of a call that it lacks and that are documented. */
export function withToolRates(rates: Rates, query: PriceQuery, details: UsageDetails): Rates {
  const lacking = Object.keys(details).filter((part) =>
    rates.tiers.some((tier) => tier.details?.[part as keyof UsageDetails] === undefined)
  ) as (keyof UsageDetails)[];
  if (lacking.length === 0) return rates;
  const known = completed.get(rates) ?? new Map<string, Rates>();
  const key = lacking.join();
  const card = known.get(key) ?? complete(rates, query, lacking);
  completed.set(rates, known.set(key, card));
  return card;
}

/** A row of the config says what its model costs; nothing is added to it. */
function toolsOf(rates: Rates, { provider, model }: PriceQuery): ToolPrices["usd"] {
  if (isOwn(rates)) return {};
  return find(TOOLS, providerIdOf(provider), [model.toLowerCase(), rates.model?.toLowerCase() ?? ""]) ?? {};
}

function complete(
  rates: Rates,
  query: PriceQuery,
  parts: readonly (keyof UsageDetails)[],
): Rates {
  const usd = toolsOf(rates, query);
  const added: Partial<Record<keyof UsageDetails, bigint>> = {};
  for (const part of parts) {
    const dimension = DIMENSION_OF[part];
    const price = dimension === null ? undefined : usd[dimension];
    if (price !== undefined) added[part] = toPicoUsd(dimension!, price);
  }
  const tiers = rates.tiers.map((tier) => {
    // A preview without a price of its own is a search.
    const search = parts.includes("search_previews") ? tier.details?.web_searches : undefined;
    const preview = search === undefined ? {} : { search_previews: search };
    return { ...tier, details: { ...preview, ...added, ...tier.details } };
  });
  const isAny = tiers.some(({ details }, i) =>
    Object.keys(details).length > Object.keys(rates.tiers[i]!.details ?? {}).length
  );
  return isAny ? { ...rates, tiers } : rates;
}
