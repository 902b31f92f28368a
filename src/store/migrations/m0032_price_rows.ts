/** The prices that people set, which all instances use. */
export const statements: readonly string[] = [
  // rates: JSON of the fields of a price row of the config but for the other columns. name is made of these columns.
  `CREATE TABLE price_rows (
  price_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  service_tier TEXT,
  from_day TEXT,
  rates TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
)`,
];
