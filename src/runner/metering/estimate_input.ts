import { Buffer } from "node:buffer";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";

/** The size that an image has at most as an input, as in the gateway: at four bytes a token, 5,000 tokens. */
const MAX_IMAGE_BYTES = 20_000;

/** The bytes of audio and video that are one byte of input: at four bytes a token, 400 are a token. */
const BYTES_OF_SOUND = 100;

/** The depth below which values are not looked at. */
const MAX_DEPTH = 32;

type Input = Pick<
  LanguageModelV4CallOptions,
  "prompt" | "tools" | "responseFormat" | "providerOptions"
>;

/**
 * Estimates the bytes of a call that become input, from the texts in it. Media count as what providers count them at most.
 */
export function estimateInput({ prompt, tools, responseFormat, providerOptions }: Input): number {
  return sizeOf([prompt.map(({ content }) => content), tools, responseFormat, providerOptions], 0);
}

function sizeOf(value: unknown, depth: number): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value !== "object" || value === null) return value === undefined ? 0 : 4;
  if (value instanceof Uint8Array) return value.length;
  if (depth > MAX_DEPTH) return 0;
  let bytes = 0;
  if (Array.isArray(value)) {
    for (const item of value) bytes += sizeOf(item, depth + 1);
    return bytes;
  }
  let mediaType: string | undefined;
  for (const name of Object.keys(value)) {
    const field = (value as Record<string, unknown>)[name];
    if (field === undefined) continue;
    if (name === "mediaType" && typeof field === "string") mediaType = field;
    bytes += name.length + sizeOf(field, depth + 1);
  }
  return mediaType === undefined ? bytes : sizeOfMedium(mediaType, bytes);
}

function sizeOfMedium(mediaType: string, bytes: number): number {
  if (mediaType.startsWith("image")) return Math.min(bytes, MAX_IMAGE_BYTES);
  return /^(?:audio|video)/.test(mediaType) ? Math.ceil(bytes / BYTES_OF_SOUND) : bytes;
}
