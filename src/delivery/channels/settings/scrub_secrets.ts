import { toPlainValue } from "../../../kernel/json/portable_json.ts";
import type { Log } from "../../../kernel/log.ts";
import { base64CoresOf, formsOf, partsOf } from "../../../redaction/values/mod.ts";
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

/** Escapes a text for a pattern; Node 22 lacks `RegExp.escape`. */
function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
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
