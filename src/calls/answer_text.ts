/** Estimates the tokens of a text that its provider has not counted: four bytes per token. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** Returns the text in an answer of any provider; of an answer without any, its JSON. */
export function contentOf(body: unknown): string {
  return textsOf(body) || (JSON.stringify(body) ?? "");
}

/** The names under which providers send what a model has written. */
const TEXTS = /^(text|content|thinking|reasoning|reasoning_content|refusal|arguments|partial_json|delta)$/;
const ARGUMENTS = /^(input|args)$/;

/** Fields with a number for each token, or with vectors. They have no text of the model, and may be most of an answer. */
const NUMBERS = /^(logprobs|logprobsResult|embeddings?)$/;

/** Returns the text in a part of an answer, such as an event of a stream; empty if it has none. */
export function textsOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object") text += textsOf(item);
    return text;
  }
  const fields = value as Record<string, unknown>;
  for (const key of Object.keys(fields)) {
    const field = fields[key];
    if (typeof field === "string") {
      if (TEXTS.test(key)) text += field;
    } else if (ARGUMENTS.test(key)) text += JSON.stringify(field) ?? "";
    else if (!NUMBERS.test(key)) text += textsOf(field);
  }
  return text;
}
