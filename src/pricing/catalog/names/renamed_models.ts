/** Names that belong to another model of the same provider than the data says, from a date on, each with its source. */
const RENAMED: readonly { provider: string; name: string; model: string; from: string }[] = [
  // The data leaves the alias with the model of 2024; Mistral moved it to Mistral Large 3 (0.5 and 1.5 USD per million instead
  // of 2 and 6) with its release: https://github.com/mistralai/platform-docs-public/commit/4975b095 and, with Large 4 beside
  // it under names of its own, LiteLLM's map of 2026-11-12.
  { provider: "mistral", name: "mistral-large-latest", model: "mistral-large-2512", from: "2025-12-02" },
  // Moved to Ministral 3 3B (0.1 USD instead of 0.04) by the same commit.
  { provider: "mistral", name: "ministral-3b-latest", model: "ministral-3b-2512", from: "2025-12-02" },
  // "The legacy names … are still accepted": at the prices of Flash, also off-peak, which LiteLLM's map doesn't know.
  // https://api-docs.deepseek.com/quick_start/pricing (2026-11)
  { provider: "deepseek", name: "deepseek-v4-flash-vision-exp", model: "deepseek-flash", from: "2026-09-10" },
];

/** Returns the id of the model that a name means at a time, where the data is wrong. */
export function renamedModel(providerId: string, name: string, at: number): string | undefined {
  const lower = name.toLowerCase();
  return RENAMED.find((one) =>
    one.provider === providerId && one.name === lower && at >= Date.parse(`${one.from}T00:00:00.000Z`)
  )?.model;
}

/** Returns whether the meaning of a name changes with time. */
export function isRenamed(providerId: string, name: string): boolean {
  return RENAMED.some((one) => one.provider === providerId && one.name === name.toLowerCase());
}
