/** The models that an API key may call through the gateway: a JSON array of names and patterns; null for all. */
export const statements: readonly string[] = ["ALTER TABLE api_keys ADD COLUMN models TEXT"];
