/**
 * The billed parts of a call beyond its text, by their names on the wire and in the ledger: those in tokens end in `_tokens`.
 * A part that is added here is a field of cost events and of reports, and has a price in the config.
 */
export const BILLED_PARTS = {
  cache_write_12h_tokens: "Those of `cache_write_tokens` that are cached for twelve hours",
  input_audio_tokens: "Of `input_tokens`",
  cache_read_audio_tokens: "Of `cache_read_tokens` and `input_audio_tokens`",
  input_image_tokens: "Of `input_tokens`",
  cache_read_image_tokens: "Of `cache_read_tokens` and `input_image_tokens`",
  input_video_tokens: "Of `input_tokens`",
  output_audio_tokens: "Of `output_tokens`",
  output_image_tokens: "Of `output_tokens`",
  output_video_tokens: "Of `output_tokens`",
  web_searches: "Web searches that the provider bills",
  file_searches: "Searches in files and collections that the provider bills",
  code_executions: "Code executions that the provider bills",
  advisor_calls:
    "Calls of Anthropic's advisor tool that don't name their model, so that their cost is not known",
  search_previews: "Web searches by OpenAI's preview tool",
  map_groundings: "Google Maps: grounded prompts up to Gemini 2.5, later queries",
  data_groundings: "Prompts that Google has grounded with data of one's own",
  citation_tokens: "Perplexity's citation tokens, which no other count includes",
  low_context_requests: "Perplexity: 1 for a low search context, which costs the fee of a request",
  medium_context_requests: "Perplexity: 1 for a medium search context, by its price above a low one",
  high_context_requests: "Perplexity: 1 for a high search context, by its price above a low one",
  pro_searches: "Perplexity: 1 for a Pro Search, by its price above another request",
  social_searches: "Searches of X by xAI, where they are billed by call",
  social_posts: "Posts of X that xAI has fetched, where they are billed",
  social_profiles: "Profiles of X that xAI has fetched, where they are billed",
  attachment_searches: "Searches in attached files by xAI",
} as const;
export type BilledPart = keyof typeof BILLED_PARTS;

/** The names of the billed parts, in the order of {@link BILLED_PARTS}. */
export const BILLED_PART_NAMES = Object.keys(BILLED_PARTS) as readonly BilledPart[];

/** Returns whether a part is counted in tokens. */
export function isTokenPart(part: string): boolean {
  return part.endsWith("_tokens");
}

type KindOf<Part> = Part extends `${infer Kind}_tokens` ? Kind : never;

/** A field of a row of `prices` in the config: the price of a billed part. */
export type PartPriceField =
  | `${KindOf<BilledPart>}_usd_per_million`
  | `${Exclude<BilledPart, `${string}_tokens`>}_usd_per_thousand`;

/** Returns the field with the price of a billed part. */
export function priceFieldOf(part: BilledPart): PartPriceField {
  return (isTokenPart(part)
    ? part.replace(/_tokens$/, "_usd_per_million")
    : `${part}_usd_per_thousand`) as PartPriceField;
}
