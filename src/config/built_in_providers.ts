/** Providers that Purser knows by itself; a provider of the config has to have another name. */
export const BUILT_IN_PROVIDERS = ["openai", "anthropic", "google", "demo"] as const;
