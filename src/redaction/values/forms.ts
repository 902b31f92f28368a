import { toBase64, toHex } from "../../kernel/encoding.ts";

/** A shorter value is not searched for: it would be found in ordinary text. */
export const MIN_SECRET_CHARS = 8;

/** Characters that encoders of JSON escape, and `JSON.stringify` doesn't: Go and Rails; PHP and Jinja; .NET. */
const JSON_ESCAPED = [/(?!)/g, /[<>&]/g, /[<>&']/g, /[<>&'+`]/g];

/** The entities by which encoders of HTML and XML write quotation marks; the last ones are those of Mustache. */
const QUOTES: readonly Readonly<Record<string, string>>[] = [
  {},
  { '"': "&quot;" },
  { '"': "&quot;", "'": "&#39;" },
  { '"': "&quot;", "'": "&#039;" },
  { '"': "&quot;", "'": "&#x27;" },
  { '"': "&quot;", "'": "&apos;" },
  { '"': "&#34;", "'": "&#39;" },
  { '"': "&#34;", "'": "&#39;", "+": "&#43;" },
  { '"': "&quot;", "'": "&#39;", "/": "&#x2F;", "`": "&#x60;", "=": "&#x3D;" },
];

/**
 * Returns the encodings in which a text may appear: URL-encoded, once or twice; escaped as in JSON by several encoders,
 * also within JSON; as in HTML; and in hexadecimal.
 */
export function formsOf(text: string): string[] {
  const forms = new Set([text]);
  if (!UNESCAPED.test(text)) {
    const decoded = attempt(() => decodeURIComponent(text));
    if (decoded !== undefined) forms.add(decoded);
    const urls = urlFormsOf(text);
    for (const url of urls) for (const form of [url, ...urlFormsOf(url)]) forms.add(form);
    for (const form of jsonFormsOf(text)) forms.add(form).add(JSON.stringify(form).slice(1, -1));
    for (const entities of QUOTES) {
      forms.add(text.replace(/[&<>"'/`=+]/g, (one) => entities[one] ?? MARKUP[one] ?? one));
    }
  }
  // Those of a short text are numbers that other texts have.
  if (text.length >= MIN_SECRET_CHARS) {
    const hex = toHex(new TextEncoder().encode(text));
    const units = escapeUnits(text, /[^]/g);
    for (const form of [hex, hex.toUpperCase(), units, upperCodes(units, /\\u.{4}/g)]) forms.add(form);
  }
  return [...forms].filter((form) => form.trim() !== "");
}

/** A text without any character that encoders of URLs, JSON or HTML escape. */
const UNESCAPED = /^[\w.-]*$/;

const MARKUP: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

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

function jsonFormsOf(text: string): Set<string> {
  const escaped = JSON.stringify(text).slice(1, -1);
  const quoted = escaped.replaceAll('\\"', "\\u0022");
  const forms = new Set([
    ...JSON_ESCAPED.map((characters) => escapeUnits(escaped, characters)),
    ...JSON_ESCAPED.slice(2).map((characters) => escapeUnits(quoted, characters)),
  ]);
  for (const form of [...forms]) forms.add(escapeUnits(form, /[\u0080-\uffff]/g));
  for (const form of [...forms]) forms.add(form.replaceAll("/", "\\/"));
  for (const form of [...forms]) forms.add(upperCodes(form, /\\u[0-9a-f]{4}/g));
  return forms;
}

/** Escapes the code units that match, as `\u0026`. */
function escapeUnits(text: string, units: RegExp): string {
  return text.replace(units, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Returns a text with the digits of its escapes in upper case. */
function upperCodes(text: string, escapes: RegExp): string {
  return text.replace(escapes, (escape) => `\\u${escape.slice(2).toUpperCase()}`);
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
