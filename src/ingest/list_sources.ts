import { QUIET_DAYS, type SourceOfCalls } from "../contract/costs/sources.ts";
import { type Clock, DAY_MS, toIso } from "../kernel/clock.ts";
import { NANO_PER_USD } from "../kernel/money.ts";
import { costUsd, IS_LOWER_BOUND, MACHINE, planUsd, type Viewer } from "../ledger/mod.ts";
import { ORDERED_JOIN, type SqlValue, type Store, toObjects } from "../store/mod.ts";
import { HOLES } from "./logs/holes.ts";
import {
  adviceOn,
  describeFault,
  type ExportFault,
  holesOfExports,
  listFaults,
} from "./otlp/export_faults.ts";

/* Every source of calls, with what the ledger, the witnesses of calls and the imports of logs say of it. */

type Row = Record<string, SqlValue>;
/** A row of `SEEN`. */
type Pair =
  & Row
  & Record<`seen_${"source" | "agent" | "machine"}` | "source" | "agent_id" | "machine" | "shared", SqlValue>;

const SOURCE = "coalesce(source, '')";
/** Only of logs and spans the agent is a source of its own. */
const AGENT = `CASE WHEN ${IS_LOWER_BOUND} THEN agent_id ELSE '' END`;
const OWN = "(CAST(?1 AS TEXT) IS NULL OR agent_id = ?1)";

const TOTALS = `SELECT source, ${AGENT} AS agent_id, machine, sum(model_calls) AS calls,
  sum(unpriced_calls) AS unpriced, sum(whole_usd) AS whole_usd, sum(rest_nano_usd) AS rest_nano_usd,
  sum(plan_whole_usd) AS plan_whole_usd, sum(plan_rest_nano_usd) AS plan_rest_nano_usd, min(first_at) AS first_at,
  max(last_at) AS last_at
FROM source_usage WHERE ${OWN} GROUP BY 1, 2, 3`;

const present = (column: string) =>
  `(c.${column} + coalesce((SELECT sum(a.${column}) FROM calls a WHERE a.adjusts = c.call_id AND a.stands = a.adjusts), 0))`;
const [INPUT, OUTPUT, CACHE_READ] = ["input_tokens", "output_tokens", "cache_read_tokens"].map(present);
const counted = (index: number) => `CAST(counts ->> ${index} AS BIGINT)`;

/** Fields of a statement are quoted in its JSON, and quotes in its texts escaped. */
const IS_EXACT = `instr(best, '"quality":') = 0`;

/**
 * The statements about calls that are booked from another source, by the two sources: those of witnesses of which no call was
 * booked, and of calls that were taken back. Counts are negative in the entry that takes a call back. `shared` is the number of the
 * calls: several sources may have seen one.
 */
const SEEN =
  `WITH apart AS MATERIALIZED (SELECT witness, call_id, said ->> 0 AS best FROM sightings WHERE is_apart = 1),
seen AS MATERIALIZED (
  SELECT substr(witness, 1, instr(witness, ':') - 1) AS seen_source, best ->> 'agent' AS seen_agent,
    coalesce(best ->> 'tags' ->> 'machine', '') AS seen_machine, call_id AS seen_call,
    CAST(best ->> 'at' AS BIGINT) AS seen_at, best ->> 'counts' AS counts,
    CASE WHEN ${IS_EXACT} THEN '' ELSE best ->> 'quality' END AS quality
  FROM apart
  UNION ALL SELECT ${SOURCE}, agent_id, ${MACHINE}, stands, at,
    '[' || -input_tokens || ',' || -output_tokens || ',' || -cache_read_tokens || ',0]',
    CASE WHEN is_estimated <> 0 THEN 'provisional' ELSE '' END
  FROM calls WHERE stands IS NOT NULL AND stands <> adjusts),
pairs AS (
  SELECT s.*, ${SOURCE} AS source, agent_id, ${MACHINE} AS machine, c.call_id, c.input_tokens, c.output_tokens,
    c.cache_read_tokens, row_number() OVER (PARTITION BY seen_call) AS n
  FROM seen s ${ORDERED_JOIN} calls c ON c.call_id = s.seen_call
  WHERE NOT (seen_source = ${SOURCE} AND seen_agent = agent_id AND seen_machine = ${MACHINE}))
SELECT seen_source, seen_agent, seen_machine, source, agent_id, machine, count(*) AS others,
  sum(CASE WHEN n = 1 AND NOT EXISTS (SELECT 1 FROM calls w WHERE w.adjusts = c.call_id AND w.stands <> w.adjusts)
    THEN 1 ELSE 0 END) AS shared,
  min(seen_at) AS first_at, max(seen_at) AS last_at,
  sum(CASE
    WHEN quality = 'cost_only' OR instr(counts, '[' || ${INPUT} || ',' || ${OUTPUT} || ',' || ${CACHE_READ} || ',') = 1 THEN 0
    WHEN quality = 'provisional' AND ${counted(0)} = ${INPUT} AND ${counted(1)} <= ${OUTPUT} AND ${
    counted(2)
  } = ${CACHE_READ}
    THEN 0 ELSE 1 END) AS conflicts
FROM pairs c GROUP BY 1, 2, 3, 4, 5, 6`;

const AMENDED =
  `SELECT ${SOURCE} AS source, ${AGENT} AS agent_id, ${MACHINE} AS machine, count(DISTINCT adjusts) AS amended
FROM calls WHERE stands IS NOT NULL AND stands = adjusts AND ${OWN} GROUP BY 1, 2, 3`;

/** A key of one agent has imported files of its own; one that sees all agents sees those of all keys. */
const FILES =
  `SELECT 'log' AS source, agent AS agent_id, machine, count(*) AS files, max(imported_at) AS imported_at,
  sum(unmetered) AS unmetered, sum(malformed) AS malformed, count(fault) AS unreadable,
  max(CASE WHEN fault IS NULL THEN NULL ELSE path || ': ' || fault END) AS fault
FROM import_files WHERE CAST(?1 AS TEXT) IS NULL OR key_id = ?1 GROUP BY 1, 2, 3`;

/** Lists the sources of calls that a viewer may see, the one with the newest call first. */
export async function listSources(
  { store, clock }: { store: Pick<Store, "readLong">; clock: Pick<Clock, "now"> },
  { agentId, keyId, seesAll }: Pick<Viewer, "agentId" | "keyId" | "seesAll">,
): Promise<SourceOfCalls[]> {
  const ofKey = seesAll ? null : keyId ?? "";
  const faults = await listFaults({ store }, ofKey);
  const [totals, seen, amended, files] = await Promise.all(
    [
      { sql: TOTALS, args: [agentId ?? null] },
      { sql: SEEN },
      { sql: AMENDED, args: [agentId ?? null] },
      { sql: FILES, args: [ofKey] },
    ].map(async (statement) => toObjects<Row>(await store.readLong(statement))),
  );
  const rows = new Map<string, Row>();
  const add = (row: Row) => {
    const key = keyOf(row);
    rows.set(key, mergeRows(rows.get(key) ?? {}, row));
  };
  for (const row of [...totals!, ...amended!, ...files!]) add(row);
  for (const { seen_source, seen_agent, seen_machine, shared, ...row } of seen as Pair[]) {
    const { source, agent_id, machine, ...others } = row;
    if (seesAll || seen_agent === agentId) {
      add({ ...sourceOf(seen_source, seen_agent, seen_machine), ...others });
    }
    if (seesAll || agent_id === agentId) add({ ...sourceOf(source, agent_id, machine), shared });
  }
  const faultsOf = Map.groupBy(faults, ({ agentId, machine }) => {
    const row = { source: "otlp", agent_id: agentId, machine };
    add(row);
    return keyOf(row);
  });
  const now = clock.now();
  return [...rows.values()].sort(newestFirst).map((row) =>
    toSource(row, faultsOf.get(keyOf(row)) ?? [], now)
  );
}

const keyOf = ({ source, agent_id, machine }: Row) => JSON.stringify([source, agent_id, machine]);

/** Returns the columns that identify a source: only of logs and spans the agent and the machine. */
function sourceOf(source: SqlValue, agentId: SqlValue, machine: SqlValue): Row {
  const isLog = source === "log" || source === "otlp";
  return { source, agent_id: isLog ? agentId : "", machine: isLog ? machine : "" };
}

const COUNTS = ["others", "shared", "conflicts"];

/** Adds what a row says of a source to what others have said. */
function mergeRows(known: Row, row: Row): Row {
  const merged = { ...known, ...row };
  for (const name of COUNTS) merged[name] = Number(known[name] ?? 0) + Number(row[name] ?? 0);
  for (const [name, of] of [["first_at", Math.min], ["last_at", Math.max]] as const) {
    const times = [known[name], row[name]].flatMap((time) => time == null ? [] : Number(time));
    merged[name] = times.length === 0 ? null : of(...times);
  }
  return merged;
}

function newestFirst(a: Row, b: Row): number {
  const nameOf = ({ source, agent_id, machine }: Row) => `${source}\0${agent_id}\0${machine}`;
  return Number(b.last_at ?? -1) - Number(a.last_at ?? -1) || (nameOf(a) < nameOf(b) ? -1 : 1);
}

const isKnown = (name: SqlValue | undefined): name is keyof typeof HOLES =>
  typeof name === "string" && Object.hasOwn(HOLES, name);

/** Returns what the logs or the telemetry of a coding agent are known to leave out. */
function holesOf({ source, agent_id }: Row): readonly string[] {
  if (source === "otlp") return holesOfExports(agent_id);
  return source === "log" && isKnown(agent_id) ? HOLES[agent_id] : [];
}

function toSource(row: Row, faults: readonly ExportFault[], now: number): SourceOfCalls {
  const recordsOf = (kind: ExportFault["kind"]) =>
    faults.reduce((sum, fault) => sum + (fault.kind === kind ? fault.records : 0), 0);
  const gaps = faults.filter((fault) => describeFault(fault) !== undefined);
  const isIncomplete = gaps.some(({ seenAt }) => seenAt >= now - QUIET_DAYS * DAY_MS);
  const number = (name: string) => Number(row[name] ?? 0);
  const time = (name: string) => row[name] == null ? null : toIso(Number(row[name]));
  const nanoOf = (prefix: string) =>
    BigInt(number(`${prefix}whole_usd`)) * NANO_PER_USD + BigInt(number(`${prefix}rest_nano_usd`));
  const calls = number("calls");
  const shared = number("shared");
  const isQuiet = row.last_at == null || number("last_at") < now - QUIET_DAYS * DAY_MS;
  return {
    source: row.source as string || null,
    agent_id: row.agent_id as string || null,
    machine: row.machine as string || null,
    state: number("unreadable") > 0
      ? "unreadable"
      : isIncomplete
      ? "incomplete"
      : isQuiet
      ? "quiet"
      : "active",
    model_calls: calls,
    unpriced_calls: number("unpriced"),
    cost_usd: costUsd({
      modelCalls: calls,
      unpricedCalls: number("unpriced"),
      costNanoUsd: nanoOf(""),
    }),
    ...planUsd(nanoOf("plan_")),
    // The parts are read one after the other, while calls are booked.
    seen_alone: Math.max(0, calls - shared),
    seen_with_others: shared + number("others"),
    conflicts: number("conflicts"),
    amended_calls: number("amended"),
    first_at: time("first_at"),
    last_at: time("last_at"),
    lower_bound: row.source === "log" || row.source === "otlp",
    holes: [
      ...holesOf(row),
      ...gaps.map((fault) => `${fault.scope}: ${describeFault(fault)}. ${adviceOn(fault)}`),
    ],
    files: number("files"),
    imported_at: time("imported_at"),
    unmetered: number("unmetered") + recordsOf("unmetered"),
    rollups: recordsOf("rollup"),
    malformed: number("malformed") + recordsOf("rejected"),
    duplicates: recordsOf("duplicate"),
    unreadable_files: number("unreadable"),
    fault: row.fault as string | null ?? null,
  };
}
