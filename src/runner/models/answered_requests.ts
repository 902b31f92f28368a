import type { LanguageModelV4 } from "@ai-sdk/provider";

/** The number of requests of each model that were answered with success. */
const counters = new WeakMap<LanguageModelV4, () => number>();

/**
 * Creates a model over a `fetch` that counts its successful answers. A call that fails after one with an error that says
 * nothing, as by a defect of the SDK, was charged nevertheless.
 */
export async function countAnswers(
  fetch: typeof globalThis.fetch,
  create: (fetch: typeof globalThis.fetch) => Promise<LanguageModelV4>,
): Promise<LanguageModelV4> {
  let answered = 0;
  const model = await create(async (input, init) => {
    const response = await fetch(input, init);
    if (response.ok) answered++;
    return response;
  });
  counters.set(model, () => answered);
  return model;
}

/** Returns the number of requests of a model that were answered; always 0 for the model of a library user. */
export function answersOf(model: LanguageModelV4): number {
  return counters.get(model)?.() ?? 0;
}
