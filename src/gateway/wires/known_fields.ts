import { toSnakeCase } from "../../kernel/text.ts";
import type { Fields } from "../../pricing/usage/mod.ts";

/*
 * The fields of requests, at every depth, whose cost is bounded by their text and the output limit, or that a wire's reader
 * looks at. Others have no bound: they may add input that the provider has, or a fee, or name another model. As
 * of 2026-11-26, from the types of openai 6.49.0, @anthropic-ai/sdk 1.14.0 and @google/genai 2.32.0, and the documents of
 * compatible servers.
 */

/** The known fields of an object. A field that holds no object counts as its text. */
export interface Shape {
  readonly [name: string]: Shape | typeof ANY | typeof LABELS;
}

/** JSON of any form, such as the arguments of a tool or a schema: it is text for a model. */
const ANY = "any JSON";

/** Names of the client's own, each with a text: proxies read lists and objects there as settings of theirs. */
export const LABELS = "texts by name";

/** Returns fields with values that hold no further objects. */
function plain(names: string): Shape {
  return Object.fromEntries(names.split(" ").map((name) => [name, {}]));
}

const BREAKPOINT = { prompt_cache_breakpoint: plain("mode ttl") };

/** The definition of a tool that the client runs. */
const FUNCTION = { ...plain("name description strict"), parameters: ANY } as const;

export const KNOWN_TO_CHAT: Shape = {
  ...plain("model stream n max_tokens max_completion_tokens min_tokens parallel_tool_calls stop temperature"),
  ...plain("top_p top_k min_p top_a typical_p seed random_seed frequency_penalty presence_penalty"),
  ...plain("repetition_penalty repeat_penalty logprobs top_logprobs reasoning_effort reasoning_format"),
  ...plain("include_reasoning enable_thinking thinking_budget verbosity modalities service_tier user store"),
  ...plain("safety_identifier prompt_cache_key prompt_cache_retention guided_regex guided_choice"),
  ...plain("guided_grammar ignore_eos skip_special_tokens stop_token_ids priority session_id"),
  messages: {
    ...plain("role name refusal tool_call_id reasoning reasoning_content phase prefix partial weight"),
    ...BREAKPOINT,
    content: { ...plain("type text refusal"), ...BREAKPOINT },
    function_call: { ...plain("name"), arguments: ANY },
    tool_calls: {
      ...plain("id type index"),
      function: { ...plain("name"), arguments: ANY },
      custom: { ...plain("name"), input: ANY },
      extra_content: { google: plain("thought_signature") },
    },
  },
  stream_options: plain("include_usage include_obfuscation continuous_usage_stats"),
  tools: {
    ...plain("type"),
    function: FUNCTION,
    custom: { ...plain("name description"), format: ANY },
  },
  tool_choice: {
    ...plain("type"),
    function: plain("name"),
    custom: plain("name"),
    // They are among the tools.
    allowed_tools: ANY,
  },
  functions: FUNCTION,
  function_call: plain("name"),
  reasoning: plain("effort max_tokens exclude enabled summary"),
  thinking: plain("type budget_tokens"),
  usage: plain("include"),
  response_format: ANY,
  guided_json: ANY,
  logit_bias: LABELS,
  chat_template_kwargs: ANY,
  metadata: LABELS,
};

export const KNOWN_TO_EMBEDDINGS: Shape = plain(
  "model input dimensions encoding_format user input_type truncate task output_dimension output_dtype",
);

const RESPONSE_PART = { ...plain("type text refusal annotations"), ...BREAKPOINT, logprobs: ANY } as const;

export const KNOWN_TO_RESPONSES: Shape = {
  ...plain("model instructions max_output_tokens stream parallel_tool_calls max_tool_calls temperature"),
  ...plain("top_p top_logprobs verbosity truncation include store background service_tier user"),
  ...plain("safety_identifier prompt_cache_key prompt_cache_retention"),
  input: {
    ...plain("type role id status phase name namespace call_id"),
    ...RESPONSE_PART,
    content: RESPONSE_PART,
    output: RESPONSE_PART,
    summary: plain("type text"),
    arguments: ANY,
    input: ANY,
    metadata: LABELS,
  },
  stream_options: plain("include_obfuscation include_usage"),
  tools: { ...FUNCTION, ...plain("type defer_loading"), format: ANY },
  tool_choice: { ...plain("type name mode"), tools: ANY },
  reasoning: plain("effort summary generate_summary"),
  text: {
    ...plain("verbosity"),
    format: { ...plain("type name description strict"), schema: ANY },
  },
  metadata: LABELS,
  client_metadata: LABELS,
};

const CACHE = { cache_control: plain("type ttl scope") };

const BLOCK: Record<string, Shape[string]> = {
  ...plain("type text id name tool_use_id is_error thinking signature data"),
  ...CACHE,
  citations: plain("enabled"),
  input: ANY,
};
BLOCK.content = BLOCK;

const SCHEMA = { ...plain("type"), schema: ANY } as const;

export const KNOWN_TO_MESSAGES: Shape = {
  ...plain("model max_tokens stream stop_sequences temperature top_k top_p service_tier speed inference_geo"),
  ...CACHE,
  system: BLOCK,
  messages: { ...plain("role"), content: BLOCK },
  tools: {
    ...plain("type name description strict defer_loading eager_input_streaming"),
    ...CACHE,
    input_schema: ANY,
    input_examples: ANY,
  },
  tool_choice: plain("type name disable_parallel_tool_use"),
  thinking: plain("type budget_tokens display"),
  metadata: plain("user_id"),
  output_config: { ...plain("effort"), format: SCHEMA, task_budget: plain("type total remaining") },
  output_format: SCHEMA,
  diagnostics: plain("previous_message_id"),
};

const PART: Record<string, Shape[string]> = {
  ...plain("text thought thoughtSignature"),
  functionCall: { ...plain("id name"), args: ANY },
  executableCode: plain("id language code"),
  codeExecutionResult: plain("id outcome output"),
  partMetadata: ANY,
};
const CONTENT = {
  ...plain("role"),
  parts: {
    ...PART,
    functionResponse: { ...plain("id name willContinue scheduling"), response: ANY, parts: PART },
  },
} as const;

export const KNOWN_TO_GEMINI: Shape = bothSpellings({
  ...plain("model serviceTier store"),
  contents: CONTENT,
  systemInstruction: CONTENT,
  tools: {
    functionDeclarations: {
      ...plain("name description behavior"),
      parameters: ANY,
      parametersJsonSchema: ANY,
      response: ANY,
      responseJsonSchema: ANY,
    },
  },
  toolConfig: {
    functionCallingConfig: plain("mode allowedFunctionNames streamFunctionCallArguments"),
    retrievalConfig: { ...plain("languageCode"), latLng: plain("latitude longitude") },
  },
  safetySettings: plain("category threshold method"),
  labels: LABELS,
  generationConfig: {
    ...plain("maxOutputTokens candidateCount temperature topP topK stopSequences seed logprobs"),
    ...plain("responseMimeType responseModalities responseLogprobs presencePenalty frequencyPenalty"),
    ...plain("enableEnhancedCivicAnswers mediaResolution"),
    responseSchema: ANY,
    responseJsonSchema: ANY,
    thinkingConfig: plain("includeThoughts thinkingBudget thinkingLevel"),
  },
});

/** Returns fields with their names as Gemini takes them: in camelCase and in snake_case. */
function bothSpellings(shape: Shape): Shape {
  return Object.fromEntries(
    Object.entries(shape).flatMap(([name, inner]) => {
      const value = typeof inner === "string" ? inner : bothSpellings(inner);
      return [[name, value], [toSnakeCase(name), value]];
    }),
  );
}

/** The deepest nesting of the fields of a request. */
const MAX_DEPTH = 24;

/**
 * Returns the reason that a request with an unknown field has no bound: the field may add input that the provider has, or a fee,
 * or name another model.
 */
export function unknownField(body: Fields, known: Shape): string | undefined {
  const found = findUnknown(body, known, 0);
  if (found === undefined) return undefined;
  const { path, name } = found;
  if (name === undefined) return "it is nested too deeply to be bounded";
  const holder = path === "" ? "it" : `its ${path.slice(1)}`;
  return `${holder} has the field "${name.slice(0, 80)}", whose cost is not known`;
}

/** An unknown field, and the path to its object: `.messages[0]`. Without a name, the object is nested too deeply. */
interface Unknown {
  path: string;
  name?: string;
}

function findUnknown(value: object, known: Shape, depth: number): Unknown | undefined {
  if (depth > MAX_DEPTH) return { path: "" };
  // The path is written only where something is found: a large body has hundreds of thousands of values.
  const within = (part: string, found: Unknown): Unknown => ({ ...found, path: part + found.path });
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const item = value[index];
      const found = isObject(item) ? findUnknown(item, known, depth + 1) : undefined;
      if (found) return within(`[${index}]`, found);
    }
    return undefined;
  }
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined || inner === null) continue;
    const shape = Object.hasOwn(known, name) ? known[name] : undefined;
    if (shape === undefined) return { path: "", name };
    if (shape === ANY || !isObject(inner)) continue;
    const found = shape === LABELS ? findObject(inner) : findUnknown(inner, shape, depth + 1);
    if (found) return within(`.${name}`, found);
  }
  return undefined;
}

/** Finds a label that isn't a text. */
function findObject(labels: object): Unknown | undefined {
  const label = Object.entries(labels).find(([, value]) => isObject(value));
  return label && { path: "", name: label[0] };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
