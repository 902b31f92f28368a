import { toBase64 } from "../../kernel/encoding.ts";

/** A shorter value is not searched for: it would be found in ordinary text. */
export const MIN_SECRET_CHARS = 8;

/** Returns the encodings in which a text may appear: URL-encoded, and escaped as in JSON, also within JSON. */
export function formsOf(text: string): string[] {
  const encoded = [attempt(() => encodeURIComponent(text)), attempt(() => encodeURI(text))];
  const escaped = JSON.stringify(text).slice(1, -1);
  return [
    ...new Set([
      text,
      ...encoded,
      ...encoded.map((form) => form?.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
      attempt(() => new URLSearchParams([["", text]]).toString().slice(1)),
      attempt(() => decodeURIComponent(text)),
      escaped,
      JSON.stringify(escaped).slice(1, -1),
    ]),
  ].filter((form) => form !== undefined && form.trim() !== "") as string[];
}

/** In a value of more than three words, such as a key in PEM, shorter words are ordinary. */
const MIN_WORD_CHARS = 16;

/**
 * Returns the parts of a secret that are secret by themselves: its words (`Bearer …`), a token without its prefix
 * (`whsec_…`), the decoded credentials of `Basic …`, and the long segments and values of a path or query.
 */
export function partsOf(secret: string): string[] {
  const split = secret.split(/\s+/);
  const words = split.filter((word) => split.length <= 3 || word.length >= MIN_WORD_CHARS);
  const bare = words.flatMap((word) => /^[A-Za-z]{2,10}_(.+)$/.exec(word)?.[1] ?? []);
  const basic = /^Basic +(\S+)$/i.exec(secret)?.[1];
  const login = basic === undefined ? "" : attempt(() => atob(basic)) ?? "";
  const pieces = /^(?:[a-z]+:\/\/[^/]*)?[/?#]/i.test(secret) ? secret.split(/[/?#&=]/) : [];
  const path = pieces.length > 0 ? [secret.replace(/^[/?#]|\/$/g, "")] : [];
  return [...words, ...bare, ...pieces, ...path, login, login.slice(login.indexOf(":") + 1)]
    .filter((part) => part.length >= MIN_SECRET_CHARS);
}

/** Returns the base64 of a text at each of the three alignments within a longer one, in both alphabets. */
export function base64CoresOf(text: string): string[] {
  if (text.length < MIN_SECRET_CHARS) return [];
  const bytes = new TextEncoder().encode(text);
  return [0, 1, 2].flatMap((shift) => {
    const shifted = new Uint8Array(shift + bytes.length);
    shifted.set(bytes, shift);
    // Without the letters that encode neighboring bytes, too.
    const whole = Math.floor(shifted.length / 3) * 4;
    const core = toBase64(shifted).slice(shift === 0 ? 0 : 4, whole);
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

function attempt(make: () => string): string | undefined {
  try {
    return make();
  } catch {
    return undefined; // a lone surrogate, or a % that encodes nothing
  }
}
