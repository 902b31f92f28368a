import { type Asked } from "./asked.ts";
import { count, type Fields, isFields } from "./fields.ts";
import { readResponses } from "./openai_usage.ts";
import { faultOfUsage, type ModelUsage, type UsageDetails, usageOf } from "./usage.ts";
import { nameOfCount, unknownCounts } from "./known_fields.ts";
import { MODEL_NAME } from "./anthropic_usage.ts";

/** The parts of a call that an answer names beside its usage. */
export interface ToolParts {
  details?: UsageDetails;
  others?: Readonly<Record<string, number>>;
  models?: readonly ModelUsage[];
}

/** The tools that one answer has used, whole or as the chunks of a stream. */
export interface AnswerTools {
  /** Takes a response of OpenAI's Responses API. */
  takeResponse(response: Fields): void;
  /** Takes an event of its stream. */
  takeEvent(event: Fields): void;
  /** Takes a chunk of Gemini's API. */
  takeGemini(chunk: Fields): void;
  /** Takes content of an Anthropic answer. */
  takeBlocks(blocks: unknown): void;
  /** Takes a chunk of a chat API. */
  takeChat(chunk: Fields): void;
  /** Returns the parts so far. `raw` is the usage beside them. */
  parts(raw: Fields | undefined, asked: () => Asked): ToolParts | undefined;
}

/** Creates the reader of an answer's tools. */
export function trackTools(): AnswerTools {
  let response: Fields | undefined;
  /** The items of a stream by their ids: its last event may leave them out. */
  let items: Map<unknown, Fields> | undefined;
  let grounding: Grounding | undefined;
  let isPerPrompt = false;
  let blocks: Map<string, number> | undefined;
  let chat: UsageDetails | undefined;
  let chatModel: unknown;
  let executed: Map<string, string> | undefined;

  return {
    takeResponse(fields) {
      response = { ...response, ...fields };
    },
    takeEvent({ type, item }) {
      if (type === "response.output_item.done" && isFields(item)) {
        (items ??= new Map()).set(item.id ?? item, item);
      }
    },
    takeGemini({ candidates, modelVersion }) {
      if (typeof modelVersion === "string") isPerPrompt = /gemini-[12]\b/.test(modelVersion);
      for (const candidate of Array.isArray(candidates) ? candidates : []) {
        const metadata = isFields(candidate) && candidate.groundingMetadata;
        if (isFields(metadata)) takeGrounding(grounding ??= newGrounding(), metadata);
      }
    },
    takeBlocks(content) {
      for (const block of Array.isArray(content) ? content.filter(isFields) : []) {
        if (block.type !== "server_tool_use" || typeof block.name !== "string") continue;
        blocks ??= new Map();
        blocks.set(block.name, (blocks.get(block.name) ?? 0) + 1);
      }
    },
    takeChat({ model, choices }) {
      if (model !== chatModel) {
        chatModel = model;
        if (SEARCHES_ALWAYS.test(String(model))) chat = { web_searches: 1 };
      }
      for (const choice of Array.isArray(choices) ? choices : []) {
        const message = isFields(choice) ? choice.delta ?? choice.message : undefined;
        const tools = isFields(message) ? message.executed_tools : undefined;
        for (const tool of Array.isArray(tools) ? tools.filter(isFields) : []) {
          if (typeof tool.type !== "string") continue;
          (executed ??= new Map()).set(`${choice.index}:${tool.index}`, tool.type);
        }
      }
    },
    parts(raw, asked) {
      if (response || items) return ofResponse(response ?? {}, [...items?.values() ?? []], raw, asked);
      if (grounding) return ofGrounding(grounding, isPerPrompt, asked);
      if (blocks) return ofBlocks(blocks, raw);
      if (executed) return ofExecuted([...executed.values()]);
      return chat && { details: chat };
    },
  };
}

/** The queries and results that Gemini's grounding has reported. */
interface Grounding {
  web: Set<string>;
  maps: Set<string>;
  hasWeb: boolean;
  hasMaps: boolean;
  hasData: boolean;
}

function newGrounding(): Grounding {
  return { web: new Set(), maps: new Set(), hasWeb: false, hasMaps: false, hasData: false };
}

/** Counts each distinct query once; they are those of Maps where nothing comes from the web. */
function takeGrounding(grounding: Grounding, metadata: Fields): void {
  const chunks = Array.isArray(metadata.groundingChunks) ? metadata.groundingChunks.filter(isFields) : [];
  const hasMaps = chunks.some(({ maps }) => maps != null) || !!metadata.googleMapsWidgetContextToken;
  const queries = hasMaps && !chunks.some(({ web }) => web != null) ? grounding.maps : grounding.web;
  for (const query of textsOf(metadata.webSearchQueries)) queries.add(query);
  for (const query of textsOf(metadata.imageSearchQueries)) grounding.web.add(`image: ${query}`);
  grounding.hasWeb ||= chunks.some(({ web }) => web != null);
  grounding.hasMaps ||= hasMaps;
  // A search in a file store of Gemini's API costs nothing but its tokens.
  grounding.hasData ||= textsOf(metadata.retrievalQueries).length > 0 ||
    chunks.some(({ retrievedContext }) =>
      isFields(retrievedContext) && retrievedContext.fileSearchStore == null
    );
}

/** Up to Gemini 2.5, a grounded prompt is billed once, later each query: at least one where there are results. */
function ofGrounding(
  { web, maps, hasWeb, hasMaps, hasData }: Grounding,
  isPerPrompt: boolean,
  asked: () => Asked,
): ToolParts {
  const queries = Math.max(web.size, hasWeb ? 1 : 0);
  const searches = isPerPrompt ? Math.min(queries, 1) : queries;
  const isEnterprise = searches > 0 && asked().hasEnterpriseSearch;
  return {
    details: {
      web_searches: isEnterprise ? 0 : searches,
      map_groundings: hasMaps ? isPerPrompt ? 1 : Math.max(maps.size, 1) : 0,
      data_groundings: hasData ? 1 : 0,
    },
    ...(isEnterprise && { others: { enterprise_web_searches: searches } }),
  };
}

function textsOf(list: unknown): string[] {
  return Array.isArray(list)
    ? list.filter((text): text is string => typeof text === "string" && text.trim() !== "")
    : [];
}

/**
 * OpenAI's chat models that search the web before each answer, which their usage doesn't count.
 * https://developers.openai.com/api/docs/guides/tools-web-search
 */
const SEARCHES_ALWAYS = /^gpt-[\w.-]+-search-(?:preview|api)(?:-\d{4}-\d{2}-\d{2})?$/;

/** The model by which OpenAI's tool makes images unless the request names another. https://developers.openai.com/api/reference */
const DEFAULT_IMAGE_MODEL = "gpt-image-1";

/** Counts the searches, containers and images of a response of OpenAI's Responses API. */
function ofResponse(
  response: Fields,
  done: readonly Fields[],
  raw: Fields | undefined,
  asked: () => Asked,
): ToolParts | undefined {
  const output = Array.isArray(response.output) ? response.output.filter(isFields) : [];
  const items = output.length > 0 ? output : done;
  const toolUsage = response.tool_usage ?? raw?.tool_usage;
  const usage: Fields = isFields(toolUsage) ? toolUsage : {};
  const ofType = (type: string) => items.filter((item) => item.type === type);
  const models = imagesOf(usage.image_gen, response, asked);
  const uncounted = isFields(usage.image_gen) ? 0 : ofType("image_generation_call").filter(isMade).length;
  const unknown = unknownCounts("openai-responses", { tool_usage: usage });
  const others = uncounted > 0 ? { ...unknown, image_generation_calls: uncounted } : unknown;
  // xAI counts the calls that succeeded, which it bills.
  if (isFields(raw?.server_side_tool_usage_details)) return { others, models };
  const searches = count(usage, "web_search", "num_requests") ??
    ofType("web_search_call").filter(({ action }) =>
      !isFields(action) || action.type === undefined || action.type === "search"
    ).length;
  const isPreview = searches > 0 && (hasPreview(response.tools) ?? asked().hasSearchPreview);
  const details = {
    [isPreview ? "search_previews" : "web_searches"]: searches,
    file_searches: ofType("file_search_call").length,
    code_executions: new Set(
      [...ofType("code_interpreter_call"), ...ofType("shell_call").flatMap(containerOf)]
        .map(({ container_id }) => container_id),
    ).size,
  };
  const hasDetails = Object.values(details).some((number) => number > 0);
  return hasDetails || others || models.length > 0 ? { details, others, models } : undefined;
}

/** Returns true for a call of the tool for images that has made one. Without a count, no price of it is known. */
function isMade({ status, result }: Fields): boolean {
  return status === "completed" || (typeof result === "string" && result !== "");
}

/** Returns the container of OpenAI in which a shell has run; undefined for a container of the caller's own. */
function containerOf({ environment }: Fields): Fields[] {
  return isFields(environment) && environment.type === "container_reference" ? [environment] : [];
}

/** Returns whether a response names the preview tool; undefined where it doesn't name its tools. */
function hasPreview(tools: unknown): boolean | undefined {
  if (!Array.isArray(tools) || tools.length === 0) return undefined;
  return tools.some((tool) => isFields(tool) && /^web_search_preview/.test(String(tool.type)));
}

/**
 * Reads the tokens of generated images. Without details, the output is images: "the number of image tokens in the output
 * image".
 */
function imagesOf(tokens: unknown, { tools }: Fields, asked: () => Asked): ModelUsage[] {
  if (!isFields(tokens)) return [];
  const counts = readResponses(tokens);
  if (!counts || !(counts.inputTokens || counts.outputTokens)) return [];
  const image = isFields(tokens.output_tokens_details)
    ? count(tokens.output_tokens_details, "image_tokens") ?? 0
    : counts.outputTokens;
  const usage = usageOf({ ...counts, details: { ...counts.details, output_image_tokens: image } });
  const tool = Array.isArray(tools) && tools.find((one) => isFields(one) && one.type === "image_generation");
  const named = (isFields(tool) && tool.model) || asked().imageModel;
  const model = typeof named === "string" && MODEL_NAME.test(named) ? named : DEFAULT_IMAGE_MODEL;
  return faultOfUsage(usage) ? [] : [{ model, usage }];
}

/** The names of Anthropic's tools that run code. */
const CODE = ["code_execution", "bash_code_execution", "text_editor_code_execution"];

/** Counts the calls of Anthropic's tools, where the usage doesn't. Code is free beside a search or a fetch. */
function ofBlocks(blocks: ReadonlyMap<string, number>, raw: Fields = {}): ToolParts | undefined {
  const counted = isFields(raw.server_tool_use) ? raw.server_tool_use : {};
  const searches = count(counted, "web_search_requests") ?? blocks.get("web_search") ?? 0;
  const fetches = count(counted, "web_fetch_requests") ?? blocks.get("web_fetch") ?? 0;
  const code = count(counted, "code_execution_requests") ??
    CODE.reduce((sum, name) => sum + (blocks.get(name) ?? 0), 0);
  return { details: { web_searches: searches, code_executions: searches + fetches > 0 ? 0 : code } };
}

/** Counts the tools that Groq has run. https://console.groq.com/docs/compound/built-in-tools */
function ofExecuted(types: readonly string[]): ToolParts {
  const others: Record<string, number> = {};
  for (const type of types) {
    if (type === "browser_search") continue;
    const name = nameOfCount(`executed_tools.${type}`);
    others[name] = (others[name] ?? 0) + 1;
  }
  return { details: { web_searches: types.filter((type) => type === "browser_search").length }, others };
}
