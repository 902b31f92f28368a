import { count, type Fields, isFields } from "./fields.ts";
import type { Usage, UsageDetails } from "./usage.ts";

/** The usage of Gemini's API, which counts thoughts beside the candidates, and the prompts of tools beside the prompt. */
export function readGoogle(raw: Fields): Partial<Usage> | undefined {
  const prompt = count(raw, "promptTokenCount");
  const candidates = count(raw, "candidatesTokenCount");
  const thoughts = count(raw, "thoughtsTokenCount");
  if (prompt === undefined && candidates === undefined && thoughts === undefined) return undefined;
  const inputTokens = (prompt ?? 0) + (count(raw, "toolUsePromptTokenCount") ?? 0);
  const cacheReadTokens = count(raw, "cachedContentTokenCount");
  return {
    inputTokens,
    outputTokens: (candidates ?? 0) + (thoughts ?? 0),
    cacheReadTokens,
    reasoningTokens: thoughts,
    details: readModalities(raw, inputTokens - (cacheReadTokens ?? 0)),
  };
}

const PROMPT = ["promptTokensDetails", "toolUsePromptTokensDetails"];
const CACHE = ["cacheTokensDetails"];
const ANSWER = ["candidatesTokensDetails"];

/**
 * Reads the counts of a Gemini answer beside text. Where it doesn't say how much of a modality was cached, what exceeds the
 * uncached input was: audio, then images, then video. The video of a usage is the uncached one; cached video is billed as text.
 */
export function readModalities(raw: Fields, uncachedTokens: number): UsageDetails {
  const audio = ofModality(raw, "AUDIO", PROMPT);
  const image = ofModality(raw, "IMAGE", PROMPT);
  let cachedAudio = ofModality(raw, "AUDIO", CACHE);
  let cachedImage = ofModality(raw, "IMAGE", CACHE);
  let video = Math.max(0, ofModality(raw, "VIDEO", PROMPT) - ofModality(raw, "VIDEO", CACHE));
  let excess = Math.max(0, audio - cachedAudio + image - cachedImage + video - uncachedTokens);
  const take = (tokens: number) => {
    const taken = Math.min(excess, Math.max(0, tokens));
    excess -= taken;
    return taken;
  };
  cachedAudio += take(audio - cachedAudio);
  cachedImage += take(image - cachedImage);
  video -= take(video);
  return {
    input_audio_tokens: audio,
    cache_read_audio_tokens: cachedAudio,
    input_image_tokens: image,
    cache_read_image_tokens: cachedImage,
    input_video_tokens: video,
    output_audio_tokens: ofModality(raw, "AUDIO", ANSWER),
    output_image_tokens: ofModality(raw, "IMAGE", ANSWER),
    output_video_tokens: ofModality(raw, "VIDEO", ANSWER),
  };
}

/** Returns the tokens of one modality, over lists such as `[{modality: "TEXT", tokenCount: 5}]`. */
function ofModality(raw: Fields, modality: string, lists: readonly string[]): number {
  let tokens = 0;
  for (const list of lists) {
    for (const entry of Array.isArray(raw[list]) ? raw[list] : []) {
      if (isFields(entry) && entry.modality === modality) tokens += count(entry, "tokenCount") ?? 0;
    }
  }
  return tokens;
}
