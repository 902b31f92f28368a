/** Estimates the tokens of text without a count of the provider: four bytes per token. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** Returns the text of an answer of any provider, or all of a body that has none. */
export function contentOf(body: unknown): string {
  return textsOf(body) || (JSON.stringify(body) ?? "");
}

/** The names under which providers send what a model has written. */
const TEXTS = /^(text|content|thinking|reasoning|reasoning_content|refusal|arguments|partial_json|delta)$/;
const ARGUMENTS = /^(input|args)$/;

/** Returns the text in a part of an answer, such as an event of a stream; empty if it has none. */
export function textsOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  let text = "";
  for (const [key, field] of Object.entries(value)) {
    if (typeof field === "string") {
      if (TEXTS.test(key)) text += field;
    } else text += ARGUMENTS.test(key) ? JSON.stringify(field) ?? "" : textsOf(field);
  }
  return text;
}
