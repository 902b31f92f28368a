import { textsOf } from "../../booking/mod.ts";
import { type Fields, isFields } from "../../pricing/mod.ts";
import {
  askedIn,
  cannotPass,
  findReason,
  limitIn,
  openTool,
  timesChoices,
  unknownField,
} from "./requests.ts";
import type { Wire } from "./wire.ts";

/** `POST …/models/{model}:generateContent` and `:streamGenerateContent`, whose model is in the path. */
export function geminiWire(isStreamed: boolean): Wire {
  return {
    api: () => "google.generative-ai",
    read(body, model) {
      const configs = [body.generationConfig, body.generation_config].filter(isFields);
      const config: Fields = Object.assign({}, ...configs);
      const limit = limitIn(config, "maxOutputTokens", "max_output_tokens");
      const named = body.model;
      if (named !== undefined && named !== model && named !== `models/${model}`) {
        throw cannotPass('its body has another "model" than its path');
      }
      return {
        model: model!,
        isStreamed,
        maxOutputTokens: timesChoices(limit, config.candidateCount ?? config.candidate_count),
        asks: askedIn(body),
        outputField: "generationConfig.maxOutputTokens",
        unboundedBecause: () =>
          configs.length > 1 || hasTwoSpellings(config)
            ? "it sets a field in two spellings"
            : findOpenPart(body, config),
      };
    },
    // Nothing marks the end: the last chunk has a reason to finish, but another may follow it.
    placeOf(event) {
      if (event && isFields(event.error)) return "last";
      const candidates = Array.isArray(event?.candidates) ? event.candidates : [];
      const hasFinished = candidates.some((each) => isFields(each) && each.finishReason != null);
      const feedback = event?.promptFeedback;
      // Feedback may be there that blocks nothing.
      return hasFinished || (isFields(feedback) && feedback.blockReason != null) ? "maybe_last" : "other";
    },
    textOf: ({ candidates }) => textsOf(candidates),
  };
}

/** Returns whether a field is there as `maxOutputTokens` and as `max_output_tokens`, of which one counts. */
function hasTwoSpellings(fields: Fields): boolean {
  const names = Object.keys(fields).map((name) => name.replaceAll("_", "").toLowerCase());
  return new Set(names).size < names.length;
}

/** The fields that add nothing to the cost of a call beyond its text and its limit, or are looked at. */
const KNOWN = bothSpellings([
  ...["model", "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig"],
  ...["labels", "serviceTier"],
]);
const KNOWN_SETTINGS = bothSpellings([
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

const KNOWN_IN_PARTS = bothSpellings([
  ...["text", "thought", "thoughtSignature", "functionCall", "functionResponse", "executableCode"],
  ...["codeExecutionResult", "partMetadata"],
]);

/** Returns the parts of all contents of a request. */
function partsOf({ contents, systemInstruction, system_instruction }: Fields): Fields[] {
  return [contents, systemInstruction, system_instruction].flat().filter(isFields)
    .flatMap(({ parts }) => parts).filter(isFields);
}

/** Returns names as Gemini takes them: in camelCase and in snake_case. */
function bothSpellings(names: readonly string[]): ReadonlySet<string> {
  return new Set(
    names.flatMap((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
  );
}

function findOpenPart(body: Fields, config: Fields): string | undefined {
  if (body.cachedContent != null || body.cached_content != null) {
    return "a part of its input is with the provider (cachedContent)";
  }
  const part = findReason([body.contents, body.systemInstruction, body.system_instruction], (fields) => {
    const media = ["inlineData", "inline_data", "fileData", "file_data"].find((name) => fields[name] != null);
    return media && `its contents hold ${media}`;
  });
  if (part) return part;
  const other = partsOf(body).map((fields) => unknownField(fields, KNOWN_IN_PARTS)).find(Boolean);
  if (other) return other;
  const modalities = config.responseModalities ?? config.response_modalities;
  if (Array.isArray(modalities) && modalities.some((kind) => kind !== "TEXT")) {
    return "its answer may hold more than text";
  }
  return unknownField(body, KNOWN) ?? unknownField(config, KNOWN_SETTINGS) ?? openTool(
    body.tools,
    (tool) =>
      Object.keys(tool).every((name) => name === "functionDeclarations" || name === "function_declarations"),
  );
}
