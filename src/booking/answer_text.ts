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
  return Object.entries(value).map(([key, field]) => {
    if (typeof field === "string") return TEXTS.test(key) ? field : "";
    return ARGUMENTS.test(key) ? JSON.stringify(field) ?? "" : textsOf(field);
  }).join("");
}
