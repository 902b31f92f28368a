/** One reading of a name as that of a model with an addition. */
export interface ModelAlias {
  /** The name without its end. */
  base: string;
  /** `preview` holds only for names that the data matches by their beginning. */
  kind: "latest" | "dated" | "version" | "preview";
}

const YEAR = "20[2-3]\\d";
const MONTH = "(?:0[1-9]|1[0-2])";
const DAY = "(?:0[1-9]|[12]\\d|3[01])";

const LATEST = /^(.+?)[-@]latest$/;
/** `-20251001`, `@20251001`, `-2025-10-01`. */
const DATED = new RegExp(`^(.+?)[-@]${YEAR}(?:${MONTH}${DAY}|-${MONTH}-${DAY})$`);
/** Gemini's `-09-2025`, Mistral's `-2411`, the `-0613` of OpenAI, xAI and DeepSeek. */
const SHORT_DATED = new RegExp(`^(.+?)-(?:${MONTH}-${YEAR}|2[3-9]${MONTH}|${MONTH}${DAY})$`);
/** Gemini's `-001`. */
const GEMINI_VERSION = /^((?:.*\/)?(?:gemini|gemma|text-embedding|text-multilingual-embedding)-.+?)-00[1-9]$/;
/** Bedrock's `-v1:0`, also with a length of the context: `-v1:0:300k`. */
const BEDROCK_VERSION = /^(.+?)-v(\d+)(?::\d+)?(?::\d+k)?$/;
const PREVIEW = new RegExp(`^(.+?)-(?:preview|exp)(?:-${MONTH}-(?:${DAY}|${YEAR}))?$`);

/** Returns the names of the model of which a name, in lower case, may be a dated, versioned or `-latest` alias. */
export function aliasesOf(name: string, providerId: string): ModelAlias[] {
  const aliases: ModelAlias[] = [];
  const add = (kind: ModelAlias["kind"], pattern: RegExp) => {
    const base = pattern.exec(name)?.[1];
    if (base !== undefined) aliases.push({ base, kind });
  };
  add("latest", LATEST);
  add("dated", DATED);
  // The numbers at the end of Claude's names are versions: claude-sonnet-4 and claude-sonnet-4-5 differ.
  if (!name.includes("claude")) add("dated", SHORT_DATED);
  if (providerId === "google") add("version", GEMINI_VERSION);
  if (providerId === "aws") add("version", BEDROCK_VERSION);
  add("preview", PREVIEW);
  return aliases;
}

/** Returns the number of a Bedrock version, or undefined. */
export function bedrockVersionOf(name: string): string | undefined {
  return BEDROCK_VERSION.exec(name)?.[2];
}

const PATH = /^(?:models\/|(?:projects\/.+\/)?publishers\/[^/]+\/models\/|arn:aws[^/]*\/|bedrock\/)/;
const REGION = /^(?:us|us-gov|eu|apac|jp|au|in|ca|sa|global)\./;
const VENDOR = /^[a-z0-9]+\./;

/**
 * Returns a name without the path of a resource, and the names that remain without the region and the vendor of Bedrock; those
 * hold only for names that the data matches anywhere.
 */
export function headsOf(name: string, providerId: string): { name: string; inner: string[] } {
  const own = `${providerId}/`;
  const short = name.startsWith(own) ? name.slice(own.length) : name.replace(PATH, "");
  if (providerId !== "aws") return { name: short, inner: [] };
  const regionless = short.replace(REGION, "");
  return {
    name: short,
    inner: [...new Set([regionless, regionless.replace(VENDOR, "")])].filter((one) => one !== short),
  };
}

/** Returns the names of a model of Vertex' Model Garden: `meta/llama-4`, and `llama-4` alone. */
export function publishedNamesOf(name: string): string[] {
  const [, publisher, model] = /(?:^|publishers\/)([^/]+)\/(?:models\/)?([^/]+)$/.exec(name) ?? [];
  return model === undefined ? [] : [`${publisher}/${model}`, model];
}

/** Returns whether a name of Bedrock has a region in front: `eu.amazon.nova-lite-v1:0`. */
export function hasRegion(name: string): boolean {
  return REGION.test(name);
}

const VERTEX_LOCATION = /^projects\/[^/]+\/locations\/([a-z0-9-]+)\//;
const ARN_REGION = /^arn:aws[^:]*:bedrock:([a-z0-9-]+):/;

/**
 * Returns the region that a name shows: `us-east5` of a path of Vertex, `eu-west-3` of an ARN, and AWS GovCloud, whose profiles
 * are of both of its regions, at prices that are mostly the same.
 */
export function regionIn(name: string): string | undefined {
  if (name.startsWith("us-gov.")) return "us-gov-west-1";
  return (VERTEX_LOCATION.exec(name) ?? ARN_REGION.exec(name))?.[1];
}

/**
 * OpenAI's `ft:gpt-4o-2024-08-06:org:name:id`, and Azure's `gpt-4o-mini-2024-07-18.ft-id`, without the part that its owner has
 * chosen.
 */
export function fineTunedBaseOf(name: string): string | undefined {
  return /^ft:[^:]+/.exec(name)?.[0] ?? /^.+?\.ft-/.exec(name)?.[0];
}
