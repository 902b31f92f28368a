import assert from "node:assert/strict";
import { type Store, toObjects } from "../../src/store/mod.ts";

const ROLLUPS = ["spend_runs", "spend_sessions", "spend_totals", "spend_days", "spend_hours"];

/** What each rollup is a sum of. */
const PART_OF: Record<string, string> = {
  spend_runs: "WHERE run_id IS NOT NULL",
  spend_sessions: "WHERE session_id IS NOT NULL",
};

/** What must hold in any books, whatever was done to the processes that keep them. Gives the ledger's call ids. */
export async function checkBooks(store: Store): Promise<Set<string>> {
  const all = async <T>(sql: string) => toObjects<T>(await store.read({ sql }));
  for (const rollup of ROLLUPS) {
    const sums = (from: string) =>
      all(
        `SELECT coalesce(sum(cost_nano_usd), 0) AS cost, coalesce(sum(total_tokens), 0) AS tokens, ${
          from === rollup ? "coalesce(sum(model_calls), 0)" : "count(*)"
        } AS calls FROM ${from === rollup ? rollup : `calls ${PART_OF[rollup] ?? ""}`}`,
      );
    assert.deepEqual(await sums(rollup), await sums("calls"), `${rollup} adds up to the ledger`);
  }
  for (const kind of ["minute", "day"]) {
    const [sum] = await all<{ all_agents: bigint; each: bigint; ledger: bigint }>(
      `SELECT coalesce(sum(cost_nano_usd) FILTER (WHERE scope = ''), 0) AS all_agents,
        coalesce(sum(cost_nano_usd) FILTER (WHERE scope <> ''), 0) AS each,
        (SELECT coalesce(sum(cost_nano_usd), 0) FROM calls) AS ledger
      FROM spend_windows WHERE kind = '${kind}'`,
    );
    assert.deepEqual([sum!.all_agents, sum!.each], [sum!.ledger, sum!.ledger], `spend by ${kind}`);
  }
  const none = async (what: string, sql: string) => assert.deepEqual(await all(sql), [], what);
  await none(
    "the log tells of each call once, and of no other",
    `SELECT call_id FROM (SELECT call_id FROM calls UNION ALL SELECT call_id FROM events WHERE type = 'cost.recorded')
    GROUP BY call_id HAVING count(*) <> 2`,
  );
  await none(
    "every session's events are numbered without a gap, and counted",
    `SELECT s.session_id FROM sessions s LEFT JOIN events e ON e.session_id = s.session_id
    GROUP BY s.session_id HAVING count(e.seq) <> s.event_count OR coalesce(max(e.seq), 0) <> s.event_count`,
  );
  await none(
    "every session's messages are in order without a gap, and counted",
    `SELECT s.session_id FROM sessions s
    LEFT JOIN messages m ON m.session_id = s.session_id AND m.generation = s.generation
    GROUP BY s.session_id HAVING count(m.position) <> s.message_count OR coalesce(max(m.position), -1) <> s.message_count - 1`,
  );
  await none(
    "a session that is in progress is so with a run that is",
    `SELECT s.session_id FROM sessions s LEFT JOIN runs r ON r.run_id = s.active_run_id
    WHERE (s.active_run_id IS NULL) = (s.status = 'running') OR (s.active_run_id IS NOT NULL AND r.status <> 'running')`,
  );
  await none(
    "a session has one run in progress at most",
    "SELECT session_id FROM runs WHERE status = 'running' GROUP BY session_id HAVING count(*) > 1",
  );
  await none(
    "an alert goes to a channel once",
    "SELECT subject_id FROM deliveries GROUP BY subject_id, channel HAVING count(*) > 1",
  );
  return new Set((await all<{ call_id: string }>("SELECT call_id FROM calls")).map(({ call_id }) => call_id));
}

/** What must hold once every process that died was looked after: nothing is left in progress. */
export async function checkAllEnded(store: Store): Promise<void> {
  for (
    const [what, sql] of [
      ["runs in progress", "SELECT count(*) FROM runs WHERE status = 'running'"],
      ["sessions in progress", "SELECT count(*) FROM sessions WHERE active_run_id IS NOT NULL"],
      ["reservations", "SELECT count(*) FROM reservations"],
      ["pending deliveries", "SELECT count(*) FROM deliveries WHERE status = 'pending'"],
    ] as const
  ) {
    assert.equal(Number((await store.read({ sql })).rows[0]![0]), 0, what);
  }
}
