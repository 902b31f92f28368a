import { type Clock, DAY_MS } from "../../kernel/clock.ts";
import { countOf } from "../../kernel/counts.ts";
import { type SqlValue, type Store, toObjects } from "../../store/mod.ts";
import type { ReadRecords, RecordOrigin } from "./read_records.ts";

/* The records of exports that are no calls to book, counted by who has sent them: how complete the calls of a source are. */

type FaultKind = "unmetered" | "rollup" | "rejected" | "duplicate";

/** The records of one kind that an instrumentation has written. */
export interface ExportFault {
  agentId: string;
  /** `''` where it isn't known. */
  machine: string;
  /** The name of the instrumentation. */
  exporter: string;
  kind: FaultKind;
  records: number;
  /** Of one of the last: the state, and what to switch on. */
  reason: string;
  /** The time of the last request that had one. */
  seenAt: number;
}

/** The time after its last record for which a count is kept, in days. */
const KEPT_DAYS = 30;

/** The most counts of a key; further ones are left out until older ones are removed. */
const MAX_PER_KEY = 1_000;

/** The most counts that a request adds. */
const MAX_PER_REQUEST = 100;

const MAX_NAME = 128;
const MAX_REASON = 300;

const REMOVE_OLD = "DELETE FROM otlp_faults WHERE key_id = ? AND seen_at < ?";

const COLUMNS = ["key_id", "agent_id", "machine", "exporter", "kind", "records", "reason", "seen_at"];
const OWN = COLUMNS.slice(0, 5).map((column) => `f.${column} = v.${column}`).join(" AND ");

const ADD = `INSERT INTO otlp_faults (${COLUMNS.join(", ")})
SELECT ${COLUMNS.map((column) => `v.${column}`).join(", ")} FROM each_row v
WHERE (SELECT count(*) FROM otlp_faults f WHERE f.key_id = v.key_id) < ${MAX_PER_KEY}
  OR EXISTS (SELECT 1 FROM otlp_faults f WHERE ${OWN})
ON CONFLICT (key_id, agent_id, machine, exporter, kind) DO UPDATE SET
  records = otlp_faults.records + excluded.records, reason = excluded.reason, seen_at = excluded.seen_at`;

/**
 * Counts what the records of a request say besides calls to book, after its calls were booked. Without such records it writes
 * nothing.
 *
 * @param only The agent of a key of one agent: whatever agent a record names, it is counted there.
 * @param duplicates The origin of each record that says nothing new of its call.
 */
export async function noteExports(
  { store, clock }: { store: Pick<Store, "write">; clock: Pick<Clock, "now"> },
  { keyId, only }: { keyId: string | null; only?: string | undefined },
  { unmetered, rollups, rejected }: Pick<ReadRecords, "unmetered" | "rollups" | "rejected">,
  duplicates: readonly RecordOrigin[],
): Promise<void> {
  const counts = new Map<string, { own: string[]; records: number; reason: string }>();
  const add = (kind: FaultKind, { agentId, machine = "", name }: RecordOrigin, reason: string) => {
    const own = [keyId ?? "", only ?? agentId, machine, name, kind].map((text) => clean(text, MAX_NAME));
    const key = JSON.stringify(own);
    const known = counts.get(key);
    if (known) [known.records, known.reason] = [known.records + 1, reason];
    else if (counts.size < MAX_PER_REQUEST) counts.set(key, { own, records: 1, reason });
  };
  for (const { origin, reason } of unmetered) add("unmetered", origin, reason);
  for (const { origin, reason } of rollups) add("rollup", origin, reason);
  for (const { origin, reason } of rejected) add("rejected", origin, reason);
  for (const origin of duplicates) add("duplicate", origin, "");
  if (counts.size === 0) return;
  const now = clock.now();
  const rows = [...counts.values()].map(({ own, records, reason }): SqlValue[] => [
    ...own,
    records,
    clean(reason, MAX_REASON),
    now,
  ]);
  await store.write([
    { sql: REMOVE_OLD, args: [keyId ?? "", now - KEPT_DAYS * DAY_MS] },
    { sql: ADD, each: { columns: COLUMNS, integers: ["records", "seen_at"], rows } },
  ]);
}

/** Returns a text that any database can store. */
const clean = (text: string, max: number) => text.slice(0, max).toWellFormed().replaceAll("\0", "\ufffd");

const LIST =
  `SELECT agent_id, machine, exporter, kind, sum(records) AS records, max(seen_at) AS seen_at, max(reason) AS reason
FROM otlp_faults WHERE CAST(?1 AS TEXT) IS NULL OR key_id = ?1 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`;

/** Lists what the exports of a key had besides calls to book; null for those of all keys. */
export async function listFaults(
  { store }: { store: Pick<Store, "readLong"> },
  keyId: string | null,
): Promise<ExportFault[]> {
  const rows = toObjects<Record<string, SqlValue>>(await store.readLong({ sql: LIST, args: [keyId] }));
  return rows.map((row) => ({
    agentId: row.agent_id as string,
    machine: row.machine as string,
    exporter: row.exporter as string,
    kind: row.kind as FaultKind,
    records: Number(row.records),
    reason: row.reason as string,
    seenAt: Number(row.seen_at),
  }));
}

/** Returns how much an export leaves out, such as `3 model calls without usage`; undefined for what leaves out nothing. */
export function describeFault({ kind, records }: ExportFault): string | undefined {
  switch (kind) {
    case "unmetered":
      return `${countOf(records, "model call")} without usage`;
    case "rollup":
      return `${countOf(records, "sum")} without a call beneath`;
    case "rejected":
      return `${countOf(records, "record")} that can't be read`;
    case "duplicate":
      return undefined;
  }
}
