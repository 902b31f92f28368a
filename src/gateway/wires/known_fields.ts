import type { Fields } from "../../pricing/mod.ts";

/*
 * The fields of requests that add nothing to the cost of a call beyond its text and its output limit, or that a wire's reader
 * looks at. Others have no bound: they may add input that the provider has, or a fee, or name another model.
 */

export const KNOWN_TO_CHAT = new Set([
  ...[
    "model",
    "messages",
    "stream",
    "stream_options",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
  ],
  ...["tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format", "stop"],
  ...["temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "random_seed", "logit_bias"],
  ...[
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "repeat_penalty",
    "logprobs",
    "top_logprobs",
  ],
  ...[
    "reasoning_effort",
    "reasoning",
    "reasoning_format",
    "include_reasoning",
    "thinking",
    "enable_thinking",
  ],
  ...[
    "thinking_budget",
    "chat_template_kwargs",
    "verbosity",
    "modalities",
    "service_tier",
    "user",
    "metadata",
  ],
  ...["store", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "usage"],
  ...["guided_json", "guided_regex", "guided_choice", "guided_grammar", "ignore_eos", "skip_special_tokens"],
  ...["stop_token_ids", "top_a", "priority", "session_id"],
]);

export const KNOWN_TO_EMBEDDINGS = new Set([
  ...["model", "input", "dimensions", "encoding_format", "user", "input_type", "truncate", "task"],
  ...["output_dimension", "output_dtype"],
]);

export const KNOWN_TO_RESPONSES = new Set([
  ...[
    "model",
    "input",
    "instructions",
    "max_output_tokens",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
  ],
  ...["parallel_tool_calls", "max_tool_calls", "temperature", "top_p", "top_logprobs", "reasoning", "text"],
  ...["verbosity", "truncation", "include", "store", "background", "service_tier", "user", "metadata"],
  ...["client_metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"],
]);

export const KNOWN_TO_MESSAGES = new Set([
  ...[
    "model",
    "messages",
    "max_tokens",
    "system",
    "stream",
    "stop_sequences",
    "temperature",
    "top_k",
    "top_p",
  ],
  ...[
    "tools",
    "tool_choice",
    "thinking",
    "metadata",
    "service_tier",
    "speed",
    "inference_geo",
    "cache_control",
  ],
  ...["output_config", "output_format", "diagnostics"],
]);

export const KNOWN_TO_GEMINI = bothSpellings([
  ...["model", "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig"],
  ...["labels", "serviceTier", "store"],
]);

export const KNOWN_TO_GEMINI_CONFIG = bothSpellings([
  ...[
    "maxOutputTokens",
    "candidateCount",
    "temperature",
    "topP",
    "topK",
    "stopSequences",
    "seed",
    "logprobs",
  ],
  ...["responseMimeType", "responseSchema", "responseJsonSchema", "responseModalities", "responseLogprobs"],
  ...[
    "presencePenalty",
    "frequencyPenalty",
    "thinkingConfig",
    "enableEnhancedCivicAnswers",
    "mediaResolution",
  ],
]);

export const KNOWN_TO_GEMINI_PARTS = bothSpellings([
  ...["text", "thought", "thoughtSignature", "functionCall", "functionResponse", "executableCode"],
  ...["codeExecutionResult", "partMetadata"],
]);

/** Returns names as Gemini takes them: in camelCase and in snake_case. */
function bothSpellings(names: readonly string[]): ReadonlySet<string> {
  return new Set(
    names.flatMap((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
  );
}

/**
 * Returns the reason that a field of a request has no bound that is not known here: it may add input that the provider has, or a
 * fee, or name another model.
 */
export function unknownField(fields: Fields, known: ReadonlySet<string>): string | undefined {
  const unknown = Object.keys(fields).find((name) => !known.has(name) && fields[name] != null);
  return unknown === undefined
    ? undefined
    : `it has the field "${unknown.slice(0, 80)}", whose cost is not known`;
}
