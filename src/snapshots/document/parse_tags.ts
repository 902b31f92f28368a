import { FORBIDDEN_KEY } from "../../kernel/json/canonical_json.ts";

/**
 * Tags from `key=value` texts; the last one of a key counts. The value may be empty and hold more `=`.
 *
 * @throws {Error} on a text that is no tag; its message completes "Cannot use --tag: "
 */
export function parseTags(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map((text) => {
    const split = text.indexOf("=");
    const key = text.slice(0, split);
    if (split < 1) throw new Error(`${JSON.stringify(text)} is not of the form key=value`);
    if (key === FORBIDDEN_KEY) throw new Error(`${FORBIDDEN_KEY} can't be the name of a tag`);
    if (!text.isWellFormed()) throw new Error("a tag has to be Unicode text");
    return [key, text.slice(split + 1)];
  }));
}
