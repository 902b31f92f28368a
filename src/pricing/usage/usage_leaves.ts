import type { Usage, UsageDetail } from "./usage.ts";

/** The tokens of one kind that are billed at one rate. */
export interface UsageLeaves {
  input: number;
  inputAudio: number;
  inputImage: number;
  inputVideo: number;
  cacheRead: number;
  cacheReadAudio: number;
  cacheReadImage: number;
  cacheWrite: number;
  cacheWrite1h: number;
  cacheWrite12h: number;
  output: number;
  outputAudio: number;
  outputImage: number;
  outputVideo: number;
  reasoning: number;
}

/** Splits the tokens of a usage into leaves: each total minus its parts. A negative leaf is a contradiction. */
export function leavesOf(usage: Usage): UsageLeaves {
  const of = (name: UsageDetail) => usage.details?.[name] ?? 0;
  const cacheReadAudio = of("cache_read_audio_tokens");
  const cacheReadImage = of("cache_read_image_tokens");
  const inputAudio = of("input_audio_tokens") - cacheReadAudio;
  const inputImage = of("input_image_tokens") - cacheReadImage;
  const inputVideo = of("input_video_tokens");
  const cacheWrite12h = of("cache_write_12h_tokens");
  const [outputAudio, outputImage] = [of("output_audio_tokens"), of("output_image_tokens")];
  const outputVideo = of("output_video_tokens");
  return {
    input: usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens - inputAudio - inputImage -
      inputVideo,
    inputAudio,
    inputImage,
    inputVideo,
    cacheRead: usage.cacheReadTokens - cacheReadAudio - cacheReadImage,
    cacheReadAudio,
    cacheReadImage,
    cacheWrite: usage.cacheWriteTokens - usage.cacheWrite1hTokens - cacheWrite12h,
    cacheWrite1h: usage.cacheWrite1hTokens,
    cacheWrite12h,
    output: usage.outputTokens - usage.reasoningTokens - outputAudio - outputImage - outputVideo,
    outputAudio,
    outputImage,
    outputVideo,
    reasoning: usage.reasoningTokens,
  };
}
