import { toBase64, toHex } from "../../kernel/encoding.ts";

/** A shorter value is not searched for: it would be found in ordinary text. */
export const MIN_SECRET_CHARS = 8;

/**
 * Returns the encodings in which a text may appear: URL-encoded, once or twice; escaped as in JSON, also within JSON or in each
 * character; as in HTML; and in hexadecimal.
 */
export function formsOf(text: string): string[] {
  const forms = new Set([text]);
  if (!UNESCAPED.test(text)) {
    const decoded = attempt(() => decodeURIComponent(text));
    if (decoded !== undefined) forms.add(decoded);
    const urls = urlFormsOf(text);
    for (const url of urls) for (const form of [url, ...urlFormsOf(url)]) forms.add(form);
    for (const form of jsonFormsOf(text)) forms.add(form).add(JSON.stringify(form).slice(1, -1));
    forms.add(text.replace(/[&<>"']/g, (one) => ENTITIES[one]!));
  }
  // Those of a short text are numbers that other texts have.
  if (text.length >= MIN_SECRET_CHARS) {
    const hex = toHex(new TextEncoder().encode(text));
    forms.add(hex).add(hex.toUpperCase());
    forms.add(text.replace(/[^]/g, escapeUnit)).add(text.replace(/[^]/g, escapeUpper));
  }
  return [...forms].filter((form) => form.trim() !== "");
}

/** A text without any character that encoders of URLs, JSON or HTML escape. */
const UNESCAPED = /^[\w.-]*$/;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function urlFormsOf(text: string): Set<string> {
  const encoded = [
    attempt(() => encodeURIComponent(text)),
    attempt(() => encodeURI(text)),
    new URLSearchParams([["", text]]).toString().slice(1),
  ].filter((form) => form !== undefined);
  return new Set([
    ...encoded,
    ...encoded.map((form) => form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
  ]);
}

/** Some encoders of JSON escape `<`, `>` and `&` too, others all that is not ASCII, or slashes; .NET's more, in upper case. */
function jsonFormsOf(text: string): Set<string> {
  const json = JSON.stringify(text).slice(1, -1);
  const forms = new Set([json]);
  for (const units of [/[<>&]/g, /[\u0080-\uffff]/g]) {
    for (const form of [...forms]) forms.add(form.replace(units, escapeUnit));
  }
  for (const form of [...forms]) forms.add(form.replaceAll("/", "\\/"));
  const quoted = json.replaceAll('\\"', "\\u0022");
  return forms.add(quoted.replace(/[<>&'+`\u0080-\uffff]/g, escapeUpper));
}

const hexOf = (unit: string) => unit.charCodeAt(0).toString(16).padStart(4, "0");

/** Escapes a code unit, as `\u002b`. */
const escapeUnit = (unit: string) => `\\u${hexOf(unit)}`;

/** Escapes a code unit, as `\u002B`. */
const escapeUpper = (unit: string) => `\\u${hexOf(unit).toUpperCase()}`;

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
    // The letters that encode no bit of neighboring bytes.
    const core = toBase64(shifted).slice(Math.ceil(shift * 8 / 6), Math.floor(shifted.length * 8 / 6));
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
