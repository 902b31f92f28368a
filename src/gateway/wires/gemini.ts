import { textsOf } from "../../calls/mod.ts";
import { askedIn, type Fields, isFields } from "../../pricing/usage/mod.ts";
import { cannotPass, findReason, limitIn, openTool, timesChoices } from "./requests.ts";
import { KNOWN_TO_GEMINI, unknownField } from "./known_fields.ts";
import type { Wire } from "./wire.ts";

/** `POST …/models/{model}:generateContent` and `:streamGenerateContent`, whose model is in the path. */
export function geminiWire(isStreamed: boolean): Wire {
  return {
    api: () => "google.generative-ai",
    known: KNOWN_TO_GEMINI,
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
      if (event && isFields(event.error)) return "error";
      const candidates = Array.isArray(event?.candidates) ? event.candidates : [];
      const hasFinished = candidates.some((each) => isFields(each) && each.finishReason != null);
      const feedback = event?.promptFeedback;
      // There may be feedback although nothing was blocked.
      return hasFinished || (isFields(feedback) && feedback.blockReason != null) ? "maybe_last" : "other";
    },
    textOf: ({ candidates }) => textsOf(candidates),
  };
}

/** Returns whether a field is set as both `maxOutputTokens` and `max_output_tokens`, of which only one counts. */
function hasTwoSpellings(fields: Fields): boolean {
  const names = Object.keys(fields).map((name) => name.replaceAll("_", "").toLowerCase());
  return new Set(names).size < names.length;
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
  const modalities = config.responseModalities ?? config.response_modalities;
  if (Array.isArray(modalities) && modalities.some((kind) => kind !== "TEXT")) {
    return "its answer may hold more than text";
  }
  const tool = openTool(
    body.tools,
    (tool) =>
      Object.entries(tool).every(([name, value]) =>
        value === null || name === "functionDeclarations" || name === "function_declarations"
      ),
  );
  return tool ?? unknownField(body, KNOWN_TO_GEMINI);
}
