import { createHash } from "node:crypto";
import { toCanonicalText } from "../../kernel/json/canonical_json.ts";

/** Names a tool call by what it asks for: the same for inputs that differ only in the order of their keys. */
export function hashCall(toolName: string, input: unknown): string {
  return createHash("sha256").update(JSON.stringify(toolName)).update(textOf(input)).digest("hex").slice(
    0,
    32,
  );
}

function textOf(input: unknown): string {
  try {
    return toCanonicalText(input ?? null); // an event of JSON has no undefined
  } catch {
    return JSON.stringify(input); // what is not portable has only the text it came as
  }
}
