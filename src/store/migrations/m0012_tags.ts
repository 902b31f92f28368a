/** Tags of agents, runs and calls, by which costs are attributed to customers, teams, features, … */
export const statements: readonly string[] = [
  `ALTER TABLE agents ADD COLUMN tags TEXT NOT NULL DEFAULT '{}'`,
  // JSON with sorted keys; null without any, as for most calls.
  `ALTER TABLE runs ADD COLUMN tags TEXT`,
  `ALTER TABLE calls ADD COLUMN tags TEXT`,
  `CREATE INDEX calls_by_tags ON calls (at) WHERE tags IS NOT NULL`,
];
