import type { Served } from "../price_book.ts";
import { type Fields, isFields } from "./fields.ts";

/** The options of a request by which its answer is billed, and which the answer may leave out. */
export interface Asked {
  /**
   * The lifetime of the caches that it writes: `default` is the shortest of the API, `unknown` stands for several; undefined
   * without a cache.
   */
  cacheLifetime: "default" | "1h" | "12h" | "unknown" | undefined;
  /** The size of the search context. */
  searchContext: string | undefined;
  /** Perplexity's `pro`, `fast` or `auto`. */
  searchType: string | undefined;
  /** True if it searches by OpenAI's preview tool. */
  hasSearchPreview: boolean;
  /** The model of OpenAI's tool for images. */
  imageModel: string | undefined;
  /** True if it searches by Google's Web Grounding for Enterprise. */
  hasEnterpriseSearch: boolean;
}

/** The members that say for how long a part of a prompt is cached, as the APIs and the AI SDK name them. */
const CACHE_MARKS = new Set([
  "cache_control",
  "cacheControl",
  "cachePoint",
  "cache_point",
  "prompt_cache_breakpoint",
  "prompt_cache_options",
  "promptCacheBreakpoint",
  "promptCacheOptions",
]);

/** Members of any form, which select no option. The `input` of a tool is an object, that of a request is a list. */
const OPAQUE = new Set([
  "args",
  "arguments",
  "response",
  "parameters",
  "input_schema",
  "inputSchema",
  "schema",
  "output",
  "result",
  "metadata",
  "text",
  "data",
]);

/** Objects and lists of a request that are looked at; more would take long. */
const MAX_VALUES = 200_000;

/** Reads requests of one call: as sent, and as the AI SDK has them. */
export function readAsked(requests: readonly unknown[]): Asked {
  const bodies = requests.map(parse).filter(isFields);
  const tools = bodies.flatMap(({ tools }) => Array.isArray(tools) ? tools.filter(isFields) : []);
  const optionsOf = (body: Fields) => [
    body,
    ...Object.values(isFields(body.providerOptions) ? body.providerOptions : {}),
  ];
  const searches = bodies.flatMap(optionsOf).filter(isFields)
    .flatMap(({ web_search_options, webSearchOptions }) => [web_search_options, webSearchOptions])
    .filter(isFields);
  const image = tools.find((tool) => /(?:^|\.)image_generation$/.test(nameOf(tool)));
  return {
    cacheLifetime: lifetimeOf(bodies),
    searchContext: textIn(searches, "search_context_size", "searchContextSize"),
    searchType: textIn(searches, "search_type", "searchType"),
    hasSearchPreview: tools.some((tool) => /web_search_preview/.test(nameOf(tool))),
    imageModel: image && textIn([image, image.args].filter(isFields), "model"),
    hasEnterpriseSearch: tools.some((tool) =>
      tool.enterpriseWebSearch != null || tool.enterprise_web_search != null ||
      /enterprise_web_search$/.test(nameOf(tool))
    ),
  };
}

/** The values of services at the standard rates, at rates that a provider chooses, and of no service. */
const USUAL = /^(auto|default|standard|standard_only|global|)$/i;

/** Returns the service that a request asks for, where that is not the standard one. */
export function askedIn(body: Fields): Served | undefined {
  const name = (value: unknown) => typeof value === "string" && !USUAL.test(value) ? value : undefined;
  const serviceTier = name(body.service_tier ?? body.serviceTier);
  const speed = name(body.speed);
  const inferenceGeo = name(body.inference_geo);
  return serviceTier ?? speed ?? inferenceGeo ? { serviceTier, speed, inferenceGeo } : undefined;
}

/** Returns the type of a tool, or the id of one that the AI SDK knows, such as `openai.web_search_preview`. */
function nameOf({ type, id }: Fields): string {
  return type === "provider" || type === "provider-defined" ? String(id) : String(type);
}

function parse(request: unknown): unknown {
  if (typeof request !== "string") return request;
  try {
    return JSON.parse(request);
  } catch {
    return undefined;
  }
}

function textIn(objects: readonly Fields[], ...names: string[]): string | undefined {
  return objects.flatMap((one) => names.map((name) => one[name]))
    .find((value): value is string => typeof value === "string");
}

function lifetimeOf(bodies: readonly Fields[]): Asked["cacheLifetime"] {
  const found = new Set<NonNullable<Asked["cacheLifetime"]>>();
  const open: object[] = [...bodies];
  const add = (value: unknown) => {
    if (typeof value === "object" && value !== null) open.push(value);
  };
  for (let seen = 0; open.length > 0; seen++) {
    if (seen > MAX_VALUES) return "unknown";
    const value = open.pop()!;
    // The entries of a list would be a text and a pair for each of its numbers, of which a prompt may have 400,000.
    if (Array.isArray(value)) {
      for (const item of value) add(item);
      continue;
    }
    for (const [name, member] of Object.entries(value)) {
      if (CACHE_MARKS.has(name) && isFields(member)) found.add(lifetimeIn(member));
      else if (!OPAQUE.has(name) && !(name === "input" && isFields(member))) add(member);
    }
  }
  return found.size > 1 ? "unknown" : [...found][0];
}

function lifetimeIn({ ttl }: Fields): NonNullable<Asked["cacheLifetime"]> {
  if (ttl === undefined || ttl === null || ttl === "5m" || ttl === "30m") return "default";
  return ttl === "1h" || ttl === "12h" ? ttl : "unknown";
}
