import { toBase64 } from "../../../kernel/text.ts";
import { toPlainValue } from "../../../kernel/json/portable_json.ts";
import type { Log } from "../../../kernel/log.ts";
import type { ChannelLog } from "../channel.ts";

/** Replaces a secret wherever it is shown. */
export const HIDDEN = "***";

/** Removes the secrets from a text. */
export type Scrub = (text: string) => string;

/** A shorter secret is hidden only as a whole word: `key` must not match in `monkey`. */
const MIN_ANYWHERE_CHARS = 4;

/** A secret truncated at the end of a text is hidden from this length on. */
const MIN_CUT_CHARS = 8;

/**
 * Creates a function that replaces every secret by `***`: verbatim, URL-encoded and -decoded, escaped as in JSON, in
 * base64 (as in `Authorization: Basic` and SMTP's AUTH), and the parts of a URL's path and query.
 */
export function createScrub(secrets: readonly string[]): Scrub {
  const plain = [...new Set(secrets.flatMap((secret) => [secret, secret.trim(), ...partsOf(secret)]))]
    .filter((text) => text.trim() !== "");
  if (plain.length === 0) return (text) => text;
  const forms = [...new Set(plain.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  const cores = [...new Set(plain.flatMap(base64CoresOf))];
  const pattern = new RegExp(
    forms.map((form) =>
      form.length < MIN_ANYWHERE_CHARS
        ? `(?<![\\p{L}\\p{N}])${escapePattern(form)}(?![\\p{L}\\p{N}])`
        : escapePattern(form)
    ).join("|"),
    "giu",
  );
  return (text) => {
    const hidden = text.replace(pattern, (found) => found.startsWith("/") ? `/${HIDDEN}` : HIDDEN);
    return hideCutSecret(hideBase64(hidden, cores), forms);
  };
}

/** Hides the whole base64 word around a secret: its first and last letters encode parts of the secret, too. */
function hideBase64(text: string, cores: readonly string[]): string {
  const isLetter = (index: number) => /[\w+/=-]/.test(text.charAt(index));
  for (const core of cores) {
    for (let at = text.indexOf(core); at >= 0; at = text.indexOf(core, at)) {
      let [start, end] = [at, at + core.length];
      while (start > 0 && isLetter(start - 1)) start--;
      while (isLetter(end)) end++;
      text = text.slice(0, start) + HIDDEN + text.slice(end);
      at = start;
    }
  }
  return text;
}

/** Hides a secret at the end of a text that was truncated before. */
function hideCutSecret(text: string, forms: readonly string[]): string {
  const end = text.replace(/(?:…|\.{3})?\s*$/, "");
  for (const form of forms) {
    for (let length = Math.min(form.length - 1, end.length); length >= MIN_CUT_CHARS; length--) {
      if (end.endsWith(form.slice(0, length))) return end.slice(0, -length) + HIDDEN + text.slice(end.length);
    }
  }
  return text;
}

/** Returns the encodings in which a text may appear. */
function formsOf(text: string): string[] {
  return [
    text,
    attempt(() => encodeURIComponent(text)),
    attempt(() => encodeURI(text)),
    attempt(() => decodeURIComponent(text)),
    JSON.stringify(text).slice(1, -1),
  ].filter((form) => form !== undefined && form.trim() !== "") as string[];
}

/**
 * Returns the parts of a secret that are secret by themselves: its words (`Bearer …`), a token without its prefix
 * (`whsec_…`), the decoded credentials of `Basic …`, and the long segments and values of a path or query.
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

/** Returns the base64 of a text at each of the three alignments within a longer one. */
function base64CoresOf(text: string): string[] {
  if (text.length < MIN_CUT_CHARS) return [];
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

/** Escapes a text for a pattern; Node 22 lacks `RegExp.escape`. */
function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

function attempt(make: () => string): string | undefined {
  try {
    return make();
  } catch {
    return undefined; // a lone surrogate, or a % that encodes nothing
  }
}

/** Creates the log of a channel: each line has the channel's name and kind, and no secret. */
export function createScrubbedLog(
  log: Log,
  fields: { channel: string; kind: string },
  scrub: Scrub,
): ChannelLog {
  const write = (level: "info" | "warn") => (message: string, more: Record<string, unknown> = {}) =>
    log[level](scrub(String(message)), {
      ...fields,
      ...scrubDeeply(toPlainValue(more), scrub) as Record<string, unknown>,
    });
  return { info: write("info"), warn: write("warn") };
}

function scrubDeeply(value: unknown, scrub: Scrub): unknown {
  if (typeof value === "string") return scrub(value);
  if (Array.isArray(value)) return value.map((item) => scrubDeeply(item, scrub));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [scrub(key), scrubDeeply(part, scrub)]),
  );
}
