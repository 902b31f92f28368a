import { Buffer } from "node:buffer";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";

/** The size that an image has at most as an input, as in the gateway: at four bytes a token, 5,000 tokens. */
const MAX_IMAGE_BYTES = 20_000;

/** The bytes of audio and video that are one byte of input: at four bytes a token, 400 are a token. */
const BYTES_OF_SOUND = 100;

/** Texts so short, such as those of types and ids, are taken for ASCII: to encode one takes longer than the rest of the walk. */
const SHORT = 16;

/** The depth below which values are not looked at. */
const MAX_DEPTH = 32;

type Input = Pick<
  LanguageModelV4CallOptions,
  "prompt" | "tools" | "responseFormat" | "providerOptions"
>;

/**
 * Estimates the bytes of the calls of one loop that become input, from the texts in them: to encode a long prompt takes time.
 * Each prompt continues the previous one, of which the messages before the last one are not looked at again; one with another
 * message at the beginning or at that end is. Its tools stay the same, too, as long as they are as many. Media count as what
 * providers count them at most.
 */
export class InputEstimate {
  /** The size of the first `#length` messages, and of the first and the last of them. */
  #bytes = 0;
  #length = 0;
  #edges = 0;
  #tools = { count: 0, bytes: 0 };

  of({ prompt, tools = [], responseFormat, providerOptions }: Input): number {
    if (this.#length >= prompt.length || edgesOf(prompt, this.#length) !== this.#edges) {
      [this.#bytes, this.#length] = [0, 0];
    }
    const settled = Math.max(prompt.length - 1, 0);
    if (this.#length < settled) {
      while (this.#length < settled) this.#bytes += sizeOf(prompt[this.#length++]!.content, 0);
      this.#edges = edgesOf(prompt, settled);
    }
    if (this.#tools.count !== tools.length) this.#tools = { count: tools.length, bytes: sizeOf(tools, 0) };
    return this.#bytes + sizeOf(prompt[settled]?.content, 0) + this.#tools.bytes + sizeOf(responseFormat, 0) +
      sizeOf(providerOptions, 0);
  }
}

function edgesOf(prompt: Input["prompt"], length: number): number {
  return length === 0 ? 0 : sizeOf(prompt[0]!.content, 0) + sizeOf(prompt[length - 1]!.content, 0);
}

function sizeOf(value: unknown, depth: number): number {
  if (typeof value === "string") return value.length <= SHORT ? value.length : Buffer.byteLength(value);
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
