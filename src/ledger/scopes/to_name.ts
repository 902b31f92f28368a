import { createHash } from "node:crypto";
import { NAME_PATTERN } from "../../kernel/ids.ts";

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 16);

/** Returns a text without its colons, with a hash, so that different texts stay different. */
export const withoutColons = (text: string) => `${text.replaceAll(":", "-")}-${hashOf(text)}`;

/** Returns a text as an id: unchanged where it is one, else what is left of it with a hash, so that different texts stay different. */
export function toName(text: string): string {
  if (NAME_PATTERN.test(text)) return text;
  const hash = hashOf(text);
  const kept = text.replace(/[^A-Za-z0-9._:-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, 80);
  return kept === "" ? hash : `${kept}-${hash}`;
}
