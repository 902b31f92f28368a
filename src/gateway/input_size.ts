import type { Fields } from "../pricing/usage/mod.ts";
import { OF_TOOLS } from "./wires/requests.ts";

/** Requests below this size are small in any case; the values of larger ones are looked at. */
const SMALL_BYTES = 64 * 1024;

/** Shorter strings count as the text that they are. */
const SHORT_MEDIUM = 20_000;

/** The size that an image has at most as an input: at four bytes a token, the 5,000 that the largest have. */
const MAX_IMAGE_BYTES = 20_000;

/** The bytes of audio and video, in base64, that are one byte of input: at four bytes a token, 400 are a token. */
const BYTES_OF_SOUND = 100;

/** The depth below which no provider expects media. */
const MAX_DEPTH = 12;

/**
 * Returns the size of a request as an input, for estimates: its bytes, but images, audio and video in base64 count as what they
 * are, not as text. Other files do count as text, of which they may consist.
 */
export function estimateInputBytes(body: Fields, bytes: number): number {
  return bytes < SMALL_BYTES ? bytes : Math.max(0, bytes - excessOf(body, 0));
}

/** Returns the bytes of the media in a value beyond their size as an input. */
function excessOf(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return 0;
  let excess = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object") excess += excessOf(item, depth + 1);
    return excess;
  }
  const fields = value as Fields;
  for (const name of Object.keys(fields)) {
    const field = fields[name];
    if (typeof field === "string") {
      if (field.length > SHORT_MEDIUM) excess += field.length - sizeOf(name, field, fields);
    } else if (typeof field === "object" && (depth === 0 || !OF_TOOLS.has(name))) {
      excess += excessOf(field, depth + 1);
    }
  }
  return excess;
}

/** The beginning of what can be base64, after that of a data URL with its media type. */
const BASE64 = /^(?:data:([\w.+-]+\/)[^,]{0,200},)?[\w+/=\r\n-]{1000}/;

/** Returns the size of a string as an input, by its media type: that of a data URL, or of the members beside it. */
function sizeOf(name: string, text: string, { media_type, mimeType, mime_type, format }: Fields): number {
  const match = BASE64.exec(text);
  if (!match) return text.length;
  const named = media_type ?? mimeType ?? mime_type ?? (format === undefined ? "" : "audio/");
  const type = match[1] ?? (name === "data" ? String(named) : "");
  if (type.startsWith("image/")) return Math.min(text.length, MAX_IMAGE_BYTES);
  return /^(?:audio|video)\//.test(type) ? Math.ceil(text.length / BYTES_OF_SOUND) : text.length;
}
