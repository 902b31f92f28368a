/** Names that belong to another model of the same provider than the data says, from a date on, each with its source, as of 2026-11. */
const RENAMED: readonly { provider: string; name: string; model: string; from: string }[] = [
  // The data leaves the alias with the model of 2024; Mistral moved it to Mistral Large 3 (0.5 and 1.5 USD per million instead
  // of 2 and 6) with its release: https://github.com/mistralai/platform-docs-public/commit/4975b095 and, with Large 4 beside
  // it under names of its own, LiteLLM's map of 2026-11-12.
  { provider: "mistral", name: "mistral-large-latest", model: "mistral-large-2512", from: "2025-12-02" },
  // Moved to Ministral 3 3B (0.1 USD instead of 0.04) by the same commit.
  { provider: "mistral", name: "ministral-3b-latest", model: "ministral-3b-2512", from: "2025-12-02" },
  // The alias of Medium 3.5 (1.5 and 7.5 USD instead of 0.4 and 2), as mistral-medium-latest since
  // https://github.com/mistralai/platform-docs-public/commit/cc58c118; the data has moved that one only.
  { provider: "mistral", name: "mistral-medium", model: "mistral-medium-3-5", from: "2026-06-16" },
  // Magistral Medium 1.2 and Small 1.2 were retired on 2026-07-31, and their aliases moved to the replacements that
  // https://docs.mistral.ai/models/magistral-medium-1-2-25-09 and magistral-small-1-2-25-09 name: Medium 3.5 (1.5 and 7.5 USD
  // instead of 2 and 5) and Small 4 (0.15 and 0.6 instead of 0.5 and 1.5), as LiteLLM's map of 2026-11-12 has them.
  { provider: "mistral", name: "magistral-medium-latest", model: "mistral-medium-3-5", from: "2026-08-01" },
  { provider: "mistral", name: "magistral-small-latest", model: "mistral-small-2603", from: "2026-08-01" },
  // Retired on 2026-05-15 (https://docs.x.ai/developers/migration/may-15-retirement), and since then a name of Grok Build: 1 and
  // 2 USD instead of 0.2 and 1.5, by https://api.x.ai/v1/language-models as LiteLLM's map of 2026-11-12 has it.
  ...["grok-code-fast", "grok-code-fast-1", "grok-code-fast-1-0825"].map((name) => (
    { provider: "x-ai", name, model: "grok-build-0.1", from: "2026-05-16" }
  )),
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
