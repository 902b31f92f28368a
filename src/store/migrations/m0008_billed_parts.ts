/** What a call keeps to be priced again: every billed part of its usage beyond text tokens, and how it was served. */
export const statements: readonly string[] = [
  // JSON by the wire's names: counts such as web_searches, speed, inference_geo, list_cost_nano_usd. Null for most calls.
  `ALTER TABLE calls ADD COLUMN details TEXT`,
];
