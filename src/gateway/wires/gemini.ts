import { textsOf } from "../../booking/mod.ts";
import { type Fields, isFields } from "../../pricing/mod.ts";
import { findReason, openTool, timesChoices, tokensAt } from "./requests.ts";
import type { Wire } from "./wire.ts";

/** `POST …/models/{model}:generateContent` and `:streamGenerateContent`, whose model is in the path. */
export function geminiWire(isStreamed: boolean): Wire {
  return {
    api: () => "google.generative-ai",
    read(body, model) {
      const config = [body.generationConfig, body.generation_config].find(isFields) ?? {};
      const limit = tokensAt(config, "maxOutputTokens") ?? tokensAt(config, "max_output_tokens");
      return {
        model: model!,
        isStreamed,
        maxOutputTokens: timesChoices(limit, config.candidateCount ?? config.candidate_count),
        outputField: "generationConfig.maxOutputTokens",
        unboundedBecause: findOpenPart(body, config),
      };
    },
    // Nothing marks the end: the last chunk has a reason to finish, but another may follow it.
    placeOf(event) {
      if (event && isFields(event.error)) return "last";
      const candidates = Array.isArray(event?.candidates) ? event.candidates : [];
      const hasFinished = candidates.some((each) => isFields(each) && each.finishReason != null);
      return hasFinished || isFields(event?.promptFeedback) ? "maybe_last" : "other";
    },
    textOf: ({ candidates }) => textsOf(candidates),
  };
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
  return openTool(
    body.tools,
    (tool) =>
      Object.keys(tool).every((name) => name === "functionDeclarations" || name === "function_declarations"),
  );
}
