import { and, asc, inArray, ne, type SQL, sql } from "drizzle-orm";
import { DAY_MS } from "../../kernel/clock.ts";
import type { Tags } from "../../contract/tags/tags.ts";
import { ENTRY, type ModelCall, toModelCall, withEntries } from "../../ledger/mod.ts";
import { witnessesInRows, witnessOfCall } from "../../ledger/explain/mod.ts";
import {
  NOT_INDEXED,
  ORDERED_JOIN,
  requireThat,
  type SqlValue,
  type Statement,
  tables,
} from "../../store/mod.ts";
import type { CallContext } from "../context.ts";
import { callsByCounts, idsByCounts } from "./calls_by_counts.ts";
import { rankOfSource, type Said, type Witnessed } from "./said.ts";

const { calls, sightings, callTags } = tables;

/** A witness as it is kept. */
export interface Witness {
  witness: string;
  callId: string;
  isApart: boolean;
  requestId: string | null;
  fingerprint: string | null;
  /** Best first. */
  said: Said[];
}

/** The knowledge of one call: its witnesses, and the entries of the ledger that they have led to. */
export class Known {
  /** The calls of the ledger that stand, as adjusted: one, or several if no witness has shown yet that they are the same. */
  readonly standing: ModelCall[] = [];
  /** The key of the first of all these calls that isn't of the gateway, a run or a meter: it may correct the call. */
  first?: { position: number; keyId: string | null; agentId: string; source: string };
  /** The sightings of this set. */
  readonly fresh: Witnessed[] = [];
  // Most calls are new, and have none of these.
  #callIds?: Set<string>;
  #witnesses?: Map<string, Witness>;
  #tags?: Map<string, Tags>;

  /** The ids of the calls that stand, and of those that were taken back. */
  get callIds(): Set<string> {
    return this.#callIds ??= new Set();
  }

  get witnesses(): Map<string, Witness> {
    return this.#witnesses ??= new Map();
  }

  /** The tags that witnesses have added, by call. */
  get tags(): Map<string, Tags> {
    return this.#tags ??= new Map();
  }
}

/** The rows of the database about the calls of some sightings, and the state that it was read at. */
export interface Found {
  /** The kept witnesses of the same refs. */
  byWitness: Map<string, Witness>;
  /** The ids of calls, by what a sighting may share with them. */
  byResponse: Map<string, Set<string>>;
  byRequest: Map<string, Set<string>>;
  byFingerprint: Map<string, Set<string>>;
  /** For a sighting that others may know by its counts only: calls with the same ones, near its time, by its index. */
  byCounts: Map<number, string[]>;
  /** The statement that refuses a unit unless all of this is still so. */
  guard: Statement;
}

/** SQL for the day of a call `c`, as the index of their answers has it. */
export const DAY_OF_CALL = "(c.at / 86400000)";

/** SQL for whether a call `c` has an id of an answer: the index has the ends of ids only, as pages of it are written for each call. */
export const hasAnswerId = (id: string): string =>
  `${endOf("c.response_id")} = ${endOf(id)} AND c.response_id = ${id}`;
const endOf = (id: string) => `substr(${id}, length(${id}) - 11)`;

/** SQL for the days that the clocks of two witnesses may be apart. */
export const DAYS_APART = "(SELECT -1 AS days UNION ALL SELECT 0 UNION ALL SELECT 1) near";

/**
 * SQL of a join with `near.days`, by which a call may be off the day of another witness: their clocks may be a day apart. PostgreSQL
 * uses an index for an equality, not for a list of three days.
 */
export const NEAR_DAYS = `${ORDERED_JOIN} ${DAYS_APART} ON true ${ORDERED_JOIN}`;
const dayOf = (at: number) => Math.floor(at / DAY_MS);

const WITNESS = "s.witness, s.call_id, s.is_apart, s.request_id, s.fingerprint, s.said";
const findBy = (column: string) =>
  `SELECT ${WITNESS}, s.response_id FROM json_each(?1) j ${ORDERED_JOIN} sightings s ON s.${column} = j.value`;

/** SQL that looks `wanted` ids up by day. Each is read from the JSON once, not for each of its three days. */
const lookUp = (columns: string, source: string, day: string, condition: string, part = endOf("key")) =>
  `WITH wanted AS MATERIALIZED (SELECT key AS id, ${part} AS id_part, CAST(value AS BIGINT) AS day FROM json_each(?1))
SELECT ${columns} FROM ${DAYS_APART} ${ORDERED_JOIN} wanted ON true ${ORDERED_JOIN} ${source} ON ${day} = wanted.day + near.days AND ${condition}`;
const isWanted = (id: string) => `${endOf(id)} = wanted.id_part AND ${id} = wanted.id`;
const lookUpCalls = (columns: string, condition: string, part?: string) =>
  lookUp(columns, "calls c", DAY_OF_CALL, condition, part);
// Entries that correct a call have no id of an answer. A condition on them would make PostgreSQL read all calls.
const BY_RESPONSE = lookUpCalls("c.response_id, c.call_id, c.source", isWanted("c.response_id"));
const BY_REQUEST = lookUp("s.request_id, s.call_id", "sightings s", "s.day", "s.request_id = wanted.id");
const REQUEST_IN_ROW = lookUpCalls(
  "c.request_id, c.call_id",
  `${isWanted("c.request_id")} AND (c.source IN ('log', 'otlp'))`,
);
// A log's record that is named after the id of the answer is found by that.
const WITNESS_IN_ROW = lookUpCalls(
  "NULL, c.call_id, c.source",
  `(substr(c.call_id, (length(c.call_id) - 28), 4) || substr(c.call_id, (length(c.call_id) - 15), 8)) = wanted.id_part
WHERE (c.source IN ('log', 'otlp')) AND (c.response_id IS NULL OR (c.source = 'otlp') OR (replace(c.response_id, ':', '') <> c.response_id)
  OR (substr(c.call_id, ((length(c.call_id) - 8) - length(c.response_id)), (length(c.response_id) + 1)) <> (':' || c.response_id)))
  AND c.adjusts IS NULL`,
  "substr(key, length(key) - 20, 4) || substr(key, length(key) - 7)",
);

/**
 * Returns whether the row of a call may hold the only statement of its witness, which then has no row of its own: so nearly all calls
 * that logs and exporters tell have one row. Such a witness is found by parts of its name, within a day of the call.
 */
export const mayBeInRow = (witness: string, { more }: Said): boolean =>
  more === undefined && !witness.startsWith("report:") && witness.length - witness.indexOf(":") > 21;

/**
 * The sightings of a long set. Its calls are rolled up in its commit, as a bulk of them goes on: so no commit takes longer than the
 * others.
 */
export const LONG_SET = 64;

/** SQL for the number of units that have written sightings: one that was planned by an older state is refused. */
export const SIGHTED_UNITS =
  "coalesce((SELECT count FROM tallies WHERE what = 'sightings' AND name = '' AND outcome = ''), 0)";

/** Says that there are witnesses of calls, so that bookings look for them. */
export const NOTE_SIGHTINGS: Statement = {
  sql:
    "INSERT INTO tallies (what, name, outcome, count) VALUES ('sightings', '', '', 1) ON CONFLICT DO NOTHING",
};

const STATE = `SELECT ${SIGHTED_UNITS},
  (SELECT coalesce(max(position), 0) FROM calls)`;

const IS_UNCHANGED = `${SIGHTED_UNITS} = ?1
AND NOT EXISTS (SELECT 1 FROM calls c ${NOT_INDEXED} WHERE c.position > ?2 AND (c.adjusts IS NOT NULL
  OR c.response_id IN (SELECT value FROM json_each(?3))
  OR c.source IN ('gateway', 'run', 'meter') AND c.input_tokens IN (SELECT CAST(value AS BIGINT) FROM json_each(?4))))`;

/** Finds the witnesses and calls that some sightings may be of. */
export async function findKnown({ store, query }: CallContext, set: readonly Witnessed[]): Promise<Found> {
  const list = (values: (string | null | undefined)[]) =>
    JSON.stringify([...new Set(values)].filter((value) => value != null));
  const responses = list(set.map(({ said }) => said.response));
  const byCounts = set.filter(({ isFoundByCounts }) => isFoundByCounts);
  const requestIds = listByDay(set, ({ requestId }) => requestId);
  const [state, same, apart, requests, inRows, fingerprints, named, responded, counted] = await store.readAll(
    [
      { sql: STATE },
      { sql: findBy("witness"), args: [list(set.map(({ witness }) => witness))] },
      { sql: findBy("response_id"), args: [responses] },
      { sql: BY_REQUEST, args: [requestIds] },
      { sql: REQUEST_IN_ROW, args: [requestIds] },
      { sql: findBy("fingerprint"), args: [list(set.map(({ fingerprint }) => fingerprint))] },
      { sql: WITNESS_IN_ROW, args: [listByDay(set, ({ witness }) => witness)] },
      { sql: BY_RESPONSE, args: [listByDay(set, ({ said }) => said.response ?? null, idInName)] },
      ...callsByCounts(byCounts),
    ],
    { isLong: set.length >= LONG_SET },
  );
  const found: Found = {
    byWitness: new Map(same!.rows.map((row) => [row[0] as string, toWitness(row)])),
    byResponse: new Map(),
    byRequest: new Map(),
    byFingerprint: new Map(),
    byCounts: idsByCounts(byCounts, counted?.rows),
    guard: requireThat({
      sql: IS_UNCHANGED,
      args: [
        ...state!.rows[0]!,
        responses,
        JSON.stringify(byCounts.map(({ said: { counts } }) => counts[0])),
      ],
    }),
  };
  for (const row of apart!.rows) addTo(found.byResponse, row[6], row[1]);
  for (const [request, callId] of [...requests!.rows, ...inRows!.rows]) {
    addTo(found.byRequest, request, callId);
  }
  for (const row of fingerprints!.rows) addTo(found.byFingerprint, row[4], row[1]);
  for (const [response, callId] of responded!.rows) addTo(found.byResponse, response, callId);
  await addInRows(query, found, set, [...named!.rows, ...responded!.rows]);
  return found;
}

/** Adds the witnesses of a set that rows of calls hold, of the calls that may have been booked from them. */
async function addInRows(
  query: CallContext["query"],
  { byWitness }: Found,
  set: readonly Witnessed[],
  found: readonly SqlValue[][],
): Promise<void> {
  if (found.length === 0) return;
  const wanted = new Set(set.map(({ witness }) => witness).filter((witness) => !byWitness.has(witness)));
  const ids = found.filter(([, callId, source]) => wanted.has(witnessOfCall(`${source}`, `${callId}`)));
  if (ids.length === 0) return;
  const rows = await query.select().from(calls).where(
    inArray(calls.callId, among(ids.map(([, callId]) => callId as string))),
  );
  for (const witness of toWitnesses(rows.map(toModelCall), byWitness)) {
    byWitness.set(witness.witness, witness);
  }
}

const toWitnesses = (rows: readonly ModelCall[], kept: ReadonlyMap<string, unknown>): Witness[] =>
  [...witnessesInRows(rows, (witness) => kept.has(witness))].map(({ witness, call, said }) => ({
    witness,
    callId: call.callId,
    isApart: false,
    requestId: call.requestId ?? null,
    fingerprint: null,
    said: [said],
  }));

/** Returns what may be the id of the answer in the name of a witness. */
const idInName = ({ witness }: Witnessed) =>
  witness.startsWith("log:") ? witness.slice(witness.lastIndexOf(":") + 1) : null;

/** Returns a JSON object of ids with their days; an id may stand in it with several, each read as a row. */
function listByDay(set: readonly Witnessed[], ...idsOf: ((one: Witnessed) => string | null)[]): string {
  const fields: string[] = [];
  for (const one of set) {
    let last: string | null = null;
    for (const idOf of idsOf) {
      const id = idOf(one);
      if (id !== null && id !== last) fields.push(`${JSON.stringify(id)}:${dayOf(one.said.at)}`);
      last = id;
    }
  }
  return `{${fields.join(",")}}`;
}

function addTo(map: Map<string, Set<string>>, key: SqlValue | undefined, callId: SqlValue | undefined): void {
  const ids = map.get(key as string);
  if (ids) ids.add(callId as string);
  else map.set(key as string, new Set([callId as string]));
}

function toWitness([witness, callId, isApart, requestId, fingerprint, said]: SqlValue[]): Witness {
  return {
    witness: witness as string,
    callId: callId as string,
    isApart: isApart === 1n,
    requestId: requestId as string | null,
    fingerprint: fingerprint as string | null,
    said: JSON.parse(said as string) as Said[],
  };
}

const among = (ids: Iterable<string>): SQL => sql`(SELECT value FROM json_each(${JSON.stringify([...ids])}))`;

/** Reads all that is known of calls, by their ids: also of those that were taken back for one of them. */
export async function readKnown(
  { query }: Pick<CallContext, "query">,
  callIds: Iterable<string>,
): Promise<Map<string, Known>> {
  const booked = new Map<string, ModelCall>();
  /** As they were booked. */
  const raw: ModelCall[] = [];
  const positions = new Map<string, number>();
  /** The call that stands in place of another. */
  const insteadOf = new Map<string, string>();
  let wanted = new Set(callIds);
  while (wanted.size > 0) {
    const [rows, entries, below] = await Promise.all([
      query.select().from(calls).where(inArray(calls.callId, among(wanted))),
      query.select(ENTRY).from(calls).where(inArray(calls.adjusts, among(wanted))).orderBy(
        asc(calls.position),
      ),
      query.select({ adjusts: calls.adjusts }).from(calls)
        .where(and(inArray(calls.stands, among(wanted)), ne(calls.stands, calls.adjusts))),
    ]);
    for (const { callId, position } of rows) positions.set(callId, position);
    const read = rows.map(toModelCall);
    raw.push(...read);
    for (const call of withEntries(read, entries)) booked.set(call.callId, call);
    const next = new Set<string>();
    for (const { adjusts, stands } of entries) {
      if (stands === null || stands === adjusts) continue;
      insteadOf.set(adjusts!, stands);
      next.add(stands);
    }
    for (const { adjusts } of below) next.add(adjusts!);
    for (const callId of wanted) {
      if (!booked.has(callId)) insteadOf.delete(callId);
      next.delete(callId);
    }
    wanted = new Set([...next].filter((callId) => !booked.has(callId)));
  }
  const known = new Map<string, Known>();
  for (const [callId, { source, keyId, agentId }] of booked) {
    let standing = callId;
    while (insteadOf.has(standing)) standing = insteadOf.get(standing)!;
    let one = known.get(standing);
    if (!one) {
      known.set(standing, one = new Known());
      one.standing.push(booked.get(standing)!);
    }
    one.callIds.add(callId);
    known.set(callId, one);
    const position = positions.get(callId)!;
    if (rankOfSource(source ?? "") > 0 && !(one.first && one.first.position < position)) {
      one.first = { position, keyId: keyId ?? null, agentId, source: source ?? "" };
    }
  }
  await readWitnesses(query, raw, known);
  return known;
}

async function readWitnesses(
  query: CallContext["query"],
  booked: readonly ModelCall[],
  known: ReadonlyMap<string, Known>,
): Promise<void> {
  const own = booked.map(({ source, callId }) => witnessOfCall(source ?? "", callId));
  const callIds = among(booked.map(({ callId }) => callId));
  const [ofOwn, apart, tagRows] = await Promise.all([
    query.select().from(sightings).where(inArray(sightings.witness, among(own))),
    query.select().from(sightings)
      .where(and(sql`${sightings.isApart} = 1`, inArray(sightings.callId, callIds))),
    query.select().from(callTags).where(inArray(callTags.callId, callIds)),
  ]);
  for (const { said, responseId: _, day: _day, ...row } of [...ofOwn, ...apart]) {
    known.get(row.callId)?.witnesses.set(row.witness, { ...row, said: JSON.parse(said) as Said[] });
  }
  const kept = new Map(ofOwn.map((row) => [row.witness, row]));
  for (const witness of toWitnesses(booked, kept)) {
    known.get(witness.callId)!.witnesses.set(witness.witness, witness);
  }
  for (const { callId, tags } of tagRows) known.get(callId)!.tags.set(callId, tags);
}
