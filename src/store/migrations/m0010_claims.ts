/** Claims: of requests that clients may send again under an `Idempotency-Key`, for a day, and of deliveries. */
export const statements: readonly string[] = [
  // owner: the API key's id, '' without one. A request holds the claim until it ends or its lease does; result is the
  // answer, written in the commit of the effect. The answer of a run is the run itself: run_id is chosen with the claim,
  // and the run exists from its start on.
  `CREATE TABLE idempotency_keys (
  owner TEXT NOT NULL,
  operation TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  holder TEXT NOT NULL,
  instance_id TEXT NOT NULL,
  lease_until INTEGER NOT NULL,
  run_id TEXT,
  result TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (owner, operation, idempotency_key)
) WITHOUT ROWID`,
  `CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at)`,
  `CREATE INDEX idempotency_keys_by_lease ON idempotency_keys (lease_until, instance_id)`,
  // Claims whose process died, which are not among the attempts.
  `ALTER TABLE deliveries ADD COLUMN lost_claims INTEGER NOT NULL DEFAULT 0`,
];
