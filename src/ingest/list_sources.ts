import { QUIET_DAYS, type SourceOfCalls } from "../contract/costs/sources.ts";
import { type Clock, DAY_MS, toIso } from "../kernel/clock.ts";
import { NANO_PER_USD } from "../kernel/money.ts";
import { costUsd, IS_LOWER_BOUND, MACHINE, planUsd, type Viewer } from "../ledger/mod.ts";
import { ORDERED_JOIN, type SqlValue, type Store, toObjects } from "../store/mod.ts";
import { IMPORTERS } from "./logs/registry.ts";

/* Every source of calls, with what the ledger, the witnesses of calls and the imports of logs say of it. */

type Row = Record<string, SqlValue>;

const SOURCE = "coalesce(source, '')";
/** Only of logs and spans the agent is a source of its own. */
const AGENT = `CASE WHEN ${IS_LOWER_BOUND} THEN agent_id ELSE '' END`;
const OWN = "(CAST(?1 AS TEXT) IS NULL OR agent_id = ?1)";

const TOTALS = `SELECT source, ${AGENT} AS agent_id, machine, sum(model_calls) AS calls,
  sum(unpriced_calls) AS unpriced, sum(whole_usd) AS whole_usd, sum(rest_nano_usd) AS rest_nano_usd,
  sum(plan_whole_usd) AS plan_whole_usd, sum(plan_rest_nano_usd) AS plan_rest_nano_usd,
  min(first_at) AS first_at, max(last_at) AS last_at
FROM source_usage WHERE ${OWN} GROUP BY 1, 2, 3`;

/**
 * SQL for the statements about calls that are booked from another source: those of witnesses of which no call was booked, and of
 * calls that were taken back. Counts are negative in the entry that takes a call back.
 */
const SEEN = `WITH seen AS MATERIALIZED (
  SELECT substr(witness, 1, instr(witness, ':') - 1) AS seen_source, best ->> 'agent' AS seen_agent,
    coalesce(best ->> 'tags' ->> 'machine', '') AS seen_machine, call_id AS seen_call,
    CAST(best ->> 'at' AS BIGINT) AS seen_at, coalesce(best ->> 'quality', '') AS quality,
    CAST(best ->> 'counts' ->> 0 AS BIGINT) AS seen_input, CAST(best ->> 'counts' ->> 1 AS BIGINT) AS seen_output,
    CAST(best ->> 'counts' ->> 2 AS BIGINT) AS seen_cache_read
  FROM (SELECT witness, call_id, said ->> 0 AS best FROM sightings WHERE is_apart = 1) apart
  UNION ALL SELECT ${SOURCE}, agent_id, ${MACHINE}, stands, at, CASE WHEN is_estimated <> 0 THEN 'provisional' ELSE '' END,
    -input_tokens, -output_tokens, -cache_read_tokens
  FROM calls WHERE stands IS NOT NULL AND stands <> adjusts)`;
const OF_OTHERS = `FROM seen ${ORDERED_JOIN} calls ON calls.call_id = seen.seen_call
WHERE NOT (seen_source = ${SOURCE} AND seen_agent = agent_id AND seen_machine = ${MACHINE})`;

const present = (column: string) =>
  `(calls.${column} + coalesce((SELECT sum(a.${column}) FROM calls a WHERE a.adjusts = calls.call_id AND a.stands = a.adjusts), 0))`;
const IS_CONFLICT = `quality <> 'cost_only' AND NOT (seen_input = ${present("input_tokens")}
  AND seen_cache_read = ${present("cache_read_tokens")} AND (seen_output = ${present("output_tokens")}
    OR (quality = 'provisional' AND seen_output <= ${present("output_tokens")})))`;
const WITH_OTHERS =
  `${SEEN} SELECT seen_source AS source, CASE WHEN seen_source IN ('log', 'otlp') THEN seen_agent ELSE '' END AS agent_id,
  CASE WHEN seen_source IN ('log', 'otlp') THEN seen_machine ELSE '' END AS machine, count(*) AS others,
  min(seen_at) AS first_at, max(seen_at) AS last_at, sum(CASE WHEN ${IS_CONFLICT} THEN 1 ELSE 0 END) AS conflicts
${OF_OTHERS} AND (CAST(?1 AS TEXT) IS NULL OR seen_agent = ?1) GROUP BY 1, 2, 3`;

/** The calls that stand, and that another source has seen, too. */
const SEEN_BY_OTHERS =
  `${SEEN} SELECT ${SOURCE} AS source, ${AGENT} AS agent_id, ${MACHINE} AS machine, count(*) AS shared
FROM calls WHERE call_id IN (SELECT seen_call ${OF_OTHERS}) AND ${OWN}
  AND NOT EXISTS (SELECT 1 FROM calls w WHERE w.adjusts = calls.call_id AND w.stands <> w.adjusts) GROUP BY 1, 2, 3`;

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
  { store, clock }: { store: Pick<Store, "readAll">; clock: Pick<Clock, "now"> },
  { agentId, keyId, seesAll }: Pick<Viewer, "agentId" | "keyId" | "seesAll">,
): Promise<SourceOfCalls[]> {
  const results = await store.readAll([
    ...[TOTALS, WITH_OTHERS, SEEN_BY_OTHERS, AMENDED].map((sql) => ({ sql, args: [agentId ?? null] })),
    { sql: FILES, args: [seesAll ? null : keyId ?? ""] },
  ]);
  const rows = new Map<string, Row>();
  for (const row of results.flatMap((result) => toObjects<Row>(result))) {
    const key = JSON.stringify([row.source, row.agent_id, row.machine]);
    const known = rows.get(key);
    if (!known) rows.set(key, row);
    else rows.set(key, { ...known, ...row, ...spanOf(known, row) });
  }
  const holes = await readHoles([...rows.values()]);
  const now = clock.now();
  const order = (
    one: SourceOfCalls,
  ) => [one.last_at ?? "", one.source ?? "", one.agent_id ?? "", one.machine ?? ""];
  return [...rows.values()].map((row) => toSource(row, holes.get(row.agent_id as string) ?? [], now))
    .sort((a, b) => (order(a) < order(b) ? 1 : -1));
}

/** Returns the span of two rows about one source. */
function spanOf(a: Row, b: Row): Row {
  const times = (name: string) => [a[name], b[name]].filter((time) => time != null).map(Number);
  const [first, last] = [times("first_at"), times("last_at")];
  return first.length === 0 ? {} : { first_at: Math.min(...first), last_at: Math.max(...last) };
}

/** Reads the known holes of the built-in importers of some sources. */
async function readHoles(rows: readonly Row[]): Promise<Map<string, readonly string[]>> {
  const names = new Set(rows.map(({ source, agent_id }) => source === "log" ? agent_id as string : ""));
  const known = [...names].filter((name) => Object.hasOwn(IMPORTERS, name));
  return new Map(
    await Promise.all(known.map(async (name) => [name, (await IMPORTERS[name]!()).default.holes] as const)),
  );
}

function toSource(row: Row, holes: readonly string[], now: number): SourceOfCalls {
  const number = (name: string) => Number(row[name] ?? 0);
  const part = (name: string) => BigInt(row[name] as bigint | null ?? 0n);
  const amount = (of: "" | "plan_") => part(`${of}whole_usd`) * NANO_PER_USD + part(`${of}rest_nano_usd`);
  const time = (name: string) => row[name] == null ? null : toIso(Number(row[name]));
  const calls = number("calls");
  const shared = number("shared");
  const isQuiet = row.last_at == null || number("last_at") < now - QUIET_DAYS * DAY_MS;
  return {
    source: row.source as string || null,
    agent_id: row.agent_id as string || null,
    machine: row.machine as string || null,
    state: number("unreadable") > 0 ? "unreadable" : isQuiet ? "quiet" : "active",
    model_calls: calls,
    unpriced_calls: number("unpriced"),
    cost_usd: costUsd({
      modelCalls: calls,
      unpricedCalls: number("unpriced"),
      costNanoUsd: amount(""),
    }),
    ...planUsd(amount("plan_")),
    seen_alone: calls - shared,
    seen_with_others: shared + number("others"),
    conflicts: number("conflicts"),
    amended_calls: number("amended"),
    first_at: time("first_at"),
    last_at: time("last_at"),
    lower_bound: row.source === "log" || row.source === "otlp",
    holes: [...holes],
    files: number("files"),
    imported_at: time("imported_at"),
    unmetered: number("unmetered"),
    malformed: number("malformed"),
    unreadable_files: number("unreadable"),
    fault: row.fault as string | null ?? null,
  };
}
