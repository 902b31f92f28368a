import { HIDDEN } from "./secret_settings.ts";

/** Takes the secrets out of a text. */
export type Scrub = (text: string) => string;

/** Below this a secret is hidden only where it stands as a word of its own: `key` must not eat `monkey`. */
const MIN_ANYWHERE_CHARS = 4;

/** A secret cut off at the end of a text is hidden as well from this length on. */
const MIN_CUT_CHARS = 8;

/**
 * Makes a function that replaces every secret by `***`: as it is, URL-encoded and -decoded, escaped as in JSON,
 * in base64 (as in `Authorization: Basic` and SMTP's AUTH), and the parts of a URL's path and query.
 */
export function createScrub(secrets: readonly string[]): Scrub {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  if (forms.length === 0) return (text) => text;
  const pattern = new RegExp(
    forms.map((form) =>
      form.length < MIN_ANYWHERE_CHARS
        ? `(?<![\\p{L}\\p{N}])${RegExp.escape(form)}(?![\\p{L}\\p{N}])`
        : RegExp.escape(form)
    ).join("|"),
    "giu",
  );
  return (text) =>
    hideCutSecret(
      text.replace(pattern, (found) => found.startsWith("/") ? `/${HIDDEN}` : HIDDEN),
      forms,
    );
}

/** Somebody may have cut the text in the middle of a secret before it came here. */
function hideCutSecret(text: string, forms: readonly string[]): string {
  const end = text.replace(/(?:…|\.{3})?\s*$/, "");
  for (const form of forms) {
    for (let length = Math.min(form.length - 1, end.length); length >= MIN_CUT_CHARS; length--) {
      if (end.endsWith(form.slice(0, length))) return end.slice(0, -length) + HIDDEN + text.slice(end.length);
    }
  }
  return text;
}

function formsOf(secret: string): string[] {
  const plain = [secret, secret.trim(), ...partsOf(secret)].filter((text) => text !== "");
  return plain.flatMap((text) => [
    text,
    attempt(() => encodeURIComponent(text)),
    attempt(() => encodeURI(text)),
    attempt(() => decodeURIComponent(text)),
    JSON.stringify(text).slice(1, -1),
    ...base64CoresOf(text),
  ]).filter((form) => form !== undefined && form.trim() !== "") as string[];
}

/**
 * What of a secret is secret on its own: its words (`Bearer …`), a token without its prefix (`whsec_…`), what
 * `Basic …` encodes, and the long segments and values of a path or query.
 */
function partsOf(secret: string): string[] {
  const words = secret.split(/\s+/);
  const bare = words.flatMap((word) => /^[A-Za-z]{2,10}_(.+)$/.exec(word)?.[1] ?? []);
  const basic = /^Basic +(\S+)$/i.exec(secret)?.[1];
  const login = basic === undefined ? "" : attempt(() => atob(basic)) ?? "";
  const pieces = /^(?:[a-z]+:\/\/[^/]*)?[/?#]/i.test(secret) ? secret.split(/[/?#&=]/) : [];
  const path = pieces.length > 0 ? [secret.replace(/^[/?#]|\/$/g, "")] : [];
  return [...words, ...bare, ...pieces, ...path, login, login.slice(login.indexOf(":") + 1)]
    .filter((part) => part.length >= MIN_CUT_CHARS);
}

/** What a text looks like inside of base64, wherever in a longer text it stands. */
function base64CoresOf(text: string): string[] {
  if (text.length < MIN_CUT_CHARS) return [];
  const bytes = new TextEncoder().encode(text);
  return [0, 1, 2].flatMap((shift) => {
    const shifted = new Uint8Array(shift + bytes.length);
    shifted.set(bytes, shift);
    // The first and the last letters are made of neighbours, too.
    const whole = Math.floor(shifted.length / 3) * 4;
    const core = shifted.toBase64().slice(shift === 0 ? 0 : 4, whole);
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
