import { type Clock, DAY_MS } from "../../kernel/clock.ts";
import { countOf } from "../../kernel/counts.ts";
import type { Sender } from "../../calls/mod.ts";
import { type SqlValue, type Store, toObjects } from "../../store/mod.ts";
import { dialectOf, DIALECTS } from "./dialects/registry.ts";
import type { RecordFault } from "./read_records.ts";

/* The records of exports that are no calls to book, counted by who has sent them: how complete the calls of a source are. */

type FaultKind = "unmetered" | "rollup" | "rejected" | "duplicate";

/** The records of one kind that an instrumentation has written. */
export interface ExportFault {
  agentId: string;
  /** `''` where it isn't known. */
  machine: string;
  /** The instrumentation. */
  scope: string;
  kind: FaultKind;
  records: number;
  /** That of one of the last. */
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

const COLUMNS = ["key_id", "agent_id", "machine", "scope", "kind", "records", "reason", "seen_at"];
const OWN = COLUMNS.slice(0, 5).map((column) => `f.${column} = v.${column}`).join(" AND ");

const ADD = `INSERT INTO otlp_faults (${COLUMNS.join(", ")})
SELECT ${COLUMNS.map((column) => `v.${column}`).join(", ")} FROM each_row v
WHERE (SELECT count(*) FROM otlp_faults f WHERE f.key_id = v.key_id) < ${MAX_PER_KEY}
  OR EXISTS (SELECT 1 FROM otlp_faults f WHERE ${OWN})
ON CONFLICT (key_id, agent_id, machine, scope, kind) DO UPDATE SET
  records = otlp_faults.records + excluded.records, reason = excluded.reason, seen_at = excluded.seen_at`;

/** Counts the records of a request that are no calls to book. */
export class FaultCounts {
  readonly #counts = new Map<string, { own: string[]; records: number; reason: string }>();

  /** Whatever agent a record of a key of one agent names, it is counted there. */
  constructor(private readonly sender: Sender) {}

  add(kind: FaultKind, { origin, scope, reason }: Pick<RecordFault, "origin" | "scope" | "reason">): void {
    const own = [this.sender.agentId ?? origin.agentId, origin.machine ?? "", scope, kind].map((text) =>
      clean(text, MAX_NAME)
    );
    const key = JSON.stringify(own);
    const known = this.#counts.get(key);
    if (known) [known.records, known.reason] = [known.records + 1, reason];
    else if (this.#counts.size < MAX_PER_REQUEST) this.#counts.set(key, { own, records: 1, reason });
  }

  /** Adds them to those of earlier requests. Without any it writes nothing. */
  async save({ store, clock }: { store: Pick<Store, "write">; clock: Pick<Clock, "now"> }): Promise<void> {
    if (this.#counts.size === 0) return;
    const keyId = this.sender.keyId ?? "";
    const now = clock.now();
    const rows = [...this.#counts.values()].map(({ own, records, reason }): SqlValue[] => [
      keyId,
      ...own,
      records,
      clean(reason, MAX_REASON),
      now,
    ]);
    await store.write([
      { sql: REMOVE_OLD, args: [keyId, now - KEPT_DAYS * DAY_MS] },
      { sql: ADD, each: { columns: COLUMNS, integers: ["records", "seen_at"], rows } },
    ]);
  }
}

/** Returns a text that any database can store. */
const clean = (text: string, max: number) => text.slice(0, max).toWellFormed().replaceAll("\0", "\ufffd");

const LIST =
  `SELECT agent_id, machine, scope, kind, sum(records) AS records, max(seen_at) AS seen_at, max(reason) AS reason
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
    scope: row.scope as string,
    kind: row.kind as FaultKind,
    records: Number(row.records),
    reason: row.reason as string,
    seenAt: Number(row.seen_at),
  }));
}

/** Returns what the telemetry of a coding agent is known to leave out; nothing for other agents. */
export function holesOfExports(agentId: SqlValue | undefined): readonly string[] {
  return DIALECTS.find(({ agent }) => agent !== undefined && agent === agentId)?.holes ?? [];
}

/** Returns how much an export leaves out, such as `3 model calls without usage`; undefined for what leaves out nothing. */
export function describeFault({ kind, records }: Pick<ExportFault, "kind" | "records">): string | undefined {
  switch (kind) {
    case "unmetered":
      return `${countOf(records, "model call")} without usage`;
    case "rollup":
      return `${countOf(records, "sum")} without a call beneath`;
    case "rejected":
      return `${countOf(records, "record")} that can't be booked`;
    case "duplicate":
      return undefined;
  }
}

/** Returns what to switch on, so that an export leaves out less, in sentences. */
export function adviceOn({ kind, reason, scope }: Pick<ExportFault, "kind" | "reason" | "scope">): string {
  switch (kind) {
    case "unmetered":
      return [
        ...dialectOf({ name: scope, version: "" })?.holes ?? [],
        "Ask for usage: streams of OpenAI's chat completions have it with stream_options.include_usage.",
      ].join(" ");
    case "rollup":
      return "Switch on the instrumentation of the SDK that makes the model calls.";
    default:
      return `The last one: ${reason}.`;
  }
}
