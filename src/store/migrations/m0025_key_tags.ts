/** The tags of API keys. */
export const statements: readonly string[] = [
  // JSON of the tags that the calls of a key get, keys sorted; NULL for none.
  `ALTER TABLE api_keys ADD COLUMN tags TEXT`,
];
