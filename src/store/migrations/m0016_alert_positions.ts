/** Alerts name the newest entry of the ledger that their value holds; those of earlier versions don't. */
export const statements: readonly string[] = [
  "ALTER TABLE alerts ADD COLUMN call_position INTEGER",
];
