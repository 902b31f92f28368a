/**
 * Indexes of lists that would search whole tables: refused calls, and runs that didn't complete. They are partial, so that
 * an ordinary run or call writes to none of them.
 */
export const statements: readonly string[] = [
  `CREATE INDEX refusals_latest ON events (type) WHERE type = 'budget.refused'`,
  `CREATE INDEX refusals_of_agent ON events (agent_id) WHERE type = 'budget.refused'`,
  `CREATE INDEX runs_by_failure ON runs (status, started_at)
    WHERE status IN ('failed', 'budget_exceeded', 'cancelled', 'interrupted')`,
];
