const ADD = (key: string) =>
  `INSERT INTO tallies (what, name, outcome, count) VALUES (${key}, 1)
  ON CONFLICT (what, name, outcome) DO UPDATE SET count = count + 1`;

/**
 * Counts that only grow: of runs that have ended, alerts that have fired and deliveries that are settled. The rows they
 * count are too many to be counted again and again, or are gone after a while.
 */
export const statements: readonly string[] = [
  // run: name is its status. alert: its severity. delivery: its channel, and outcome is delivered or failed.
  `CREATE TABLE tallies (
  what TEXT NOT NULL,
  name TEXT NOT NULL,
  outcome TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (what, name, outcome)
) WITHOUT ROWID`,
  `INSERT INTO tallies SELECT 'run', status, '', count(*) FROM runs WHERE status <> 'running' GROUP BY status`,
  `INSERT INTO tallies SELECT 'alert', severity, '', count(*) FROM alerts WHERE is_test = 0 GROUP BY severity`,
  `INSERT INTO tallies SELECT 'delivery', channel, status, count(*) FROM deliveries
WHERE status <> 'pending' AND subject_id NOT IN (SELECT alert_id FROM alerts WHERE is_test = 1)
GROUP BY channel, status`,

  `CREATE TRIGGER runs_tally AFTER UPDATE OF status ON runs
WHEN NEW.status <> OLD.status AND NEW.status <> 'running'
BEGIN
  ${ADD("'run', NEW.status, ''")};
END`,
  `CREATE TRIGGER alerts_tally AFTER INSERT ON alerts WHEN NEW.is_test = 0
BEGIN
  ${ADD("'alert', NEW.severity, ''")};
END`,
  // A test's deliveries are not counted: whoever made it has seen what came of it.
  `CREATE TRIGGER deliveries_tally AFTER UPDATE OF status ON deliveries
WHEN OLD.status = 'pending' AND NEW.status <> 'pending'
  AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.alert_id = NEW.subject_id AND a.is_test = 1)
BEGIN
  ${ADD("'delivery', NEW.channel, NEW.status")};
END`,
];
