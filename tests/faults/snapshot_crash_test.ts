import { AGENT_DEFAULTS } from "../../src/contract/limits.ts";
import assert from "node:assert/strict";
import { listMessages } from "../harness/sessions.ts";
import { toCanonicalText } from "../../src/kernel/json/canonical_json.ts";
import { openCore, type WholeCore } from "../../src/service/mod.ts";
import { runAgent } from "../../src/runner/mod.ts";
import { sweepGenerations } from "../../src/snapshots/generations/mod.ts";
import { type Store, toObjects } from "../../src/store/mod.ts";
import { checkTotals } from "../harness/check_books.ts";
import { AGENT, ageReplaced, configOf, documentOf, SESSION } from "./snapshot_crash_worker.ts";
import { type Aim, killWorkers, type Line, newPlace } from "./snapshot_crash_workers.ts";

/** The number that the gate has time for; PURSER_KILLS sets more, as in crash_test. */
const KILLS = Number(Deno.env.get("PURSER_KILLS") ?? 6);
const FENCING_KILLS = Number(Deno.env.get("PURSER_KILLS") ?? 4);
/** Each phase is hit so often; kills past the planned ones aim at the phase that lacks most. */
const HITS_PER_PHASE = Math.min(5, Math.ceil(KILLS / 6));
const MAX_KILLS = KILLS + 200;
const AIMS: Aim[] = [
  "importing",
  "writing",
  "sweeping",
  "importing",
  "writing",
  "writing",
  "importing",
  "opening",
];
/** The aim that falls into each phase most often. */
const AIM_AT = {
  opening: "opening",
  reading: "importing",
  staging: "writing",
  sweeping: "sweeping",
} as const;
type Phase = keyof typeof AIM_AT;

Deno.test(`an import, killed at least ${KILLS} times, leaves the old session or the new one, never a mix`, async () => {
  await using place = await newPlace();
  const money = await spend(place.db);
  const log = { begun: 0, acknowledged: [] as number[] };
  const hits = { opening: 0, reading: 0, staging: 0, sweeping: 0, outside: 0 };
  const isInsideOften = () => hits.reading + hits.staging + hits.sweeping >= KILLS / 3;
  const aimOf = (kill: number): Aim | undefined => {
    if (kill < KILLS) return AIMS[kill % AIMS.length];
    const rarest = (Object.keys(AIM_AT) as Phase[]).reduce((a, b) => hits[b] < hits[a] ? b : a);
    if (kill >= MAX_KILLS) return undefined;
    if (hits[rarest] < HITS_PER_PHASE) return AIM_AT[rarest];
    return isInsideOften() ? undefined : "importing";
  };
  await killWorkers(place, { aimOf }, async ({ said, willOpenNext }) => {
    const begun = said.flatMap((line) => line.begin ?? []);
    const ended = said.flatMap((line) => line.end ?? []);
    log.begun = Math.max(log.begun, ...begun);
    log.acknowledged.push(...said.flatMap((line) => line.restored ?? []));
    if (begun.length === 0) hits[said.some((line) => line.opened) ? "outside" : "opening"]++;
    else hits[begun.length > ended.length ? phaseOf(said) : "outside"]++;
    if (willOpenNext) return;
    await using core = await openAgain(place.db);
    await checkSession(core, log);
    await checkNothingIsLeft(core);
    assert.deepEqual(await readMoney(core), money, "an import changes no costs");
  });
  const found = JSON.stringify(hits);
  assert.ok(isInsideOften(), `many kills fall inside an import: ${found}`);
  const fewest = Math.min(hits.opening, hits.reading, hits.staging, hits.sweeping);
  assert.ok(fewest >= HITS_PER_PHASE, `all phases are hit: ${found}`);
});

Deno.test(`an import that fences a run, killed at least ${FENCING_KILLS} times, loses no call and lets no run through`, async () => {
  await using place = await newPlace();
  await spend(place.db);
  const log = { begun: 0, acknowledged: [] as number[] };
  const calls: string[] = [];
  let [fenced, inside] = [0, 0];
  const aimOf = (kill: number): Aim | undefined => {
    if (kill < FENCING_KILLS) return AIMS[kill % AIMS.length];
    return (fenced > 0 && inside > 0) || kill >= MAX_KILLS ? undefined : "importing";
  };
  await killWorkers(place, { aimOf, mode: "fence" }, async ({ said, willOpenNext }) => {
    const begun = said.flatMap((line) => line.begin ?? []);
    const ended = said.flatMap((line) => line.end ?? []);
    log.begun = Math.max(log.begun, ...begun);
    log.acknowledged.push(...said.flatMap((line) => line.restored ?? []));
    calls.push(...said.flatMap((line) => line.call ?? []));
    if (begun.length > ended.length) inside++;
    for (const { ran } of said) {
      if (!ran) continue;
      assert.equal(ran.status, "cancelled", `run ${ran.run} was fenced off: ${ran.message}`);
      fenced++;
    }
    if (willOpenNext) return;
    await using core = await openAgain(place.db);
    await checkSession(core, log, { withRuns: true });
    await checkNothingIsLeft(core);
    await checkRuns(core, calls);
  });
  assert.ok(
    fenced > 0 && inside > 0,
    `${fenced} runs were fenced, ${inside} kills were inside`,
  );
});

interface Killed {
  /** The latest document whose import was begun. */
  begun: number;
  /** The documents whose restore was published, in order. */
  acknowledged: number[];
}

type OpenCore = WholeCore & AsyncDisposable;

/** Opens the database as the next process would. */
async function openAgain(db: string): Promise<OpenCore> {
  const core = await openCore({ config: configOf(db) });
  return Object.assign(core, { [Symbol.asyncDispose]: () => core.close() });
}

/** The phase of the import in which a worker was killed. */
function phaseOf(said: readonly Line[]): "reading" | "staging" | "sweeping" {
  const last = said.findLast(({ begin, read, restored }) => (begin ?? read ?? restored) !== undefined);
  if (last?.restored !== undefined) return "sweeping";
  return last?.read === undefined ? "reading" : "staging";
}

/** All rows of the session belong to one document: the last acknowledged one, or one begun after it. */
async function checkSession(
  ctx: { store: Store },
  { begun, acknowledged }: Killed,
  { withRuns = false } = {},
): Promise<void> {
  const { store } = ctx;
  const [session] = await read<{
    agent_id: string;
    status: string;
    generation: bigint;
    message_count: bigint;
    event_count: bigint;
    active_run_id: string | null;
    tags: string;
    extras: string;
    restored_from: string | null;
  }>(store, "SELECT * FROM sessions WHERE session_id = ?", SESSION);
  const restored = await checkEvents(store, session!.event_count, acknowledged, begun);
  const last = acknowledged.at(-1) ?? 0;
  if (session!.restored_from === null) {
    assert.deepEqual([last, restored], [0, []], "only before the first import nothing is restored");
    return;
  }
  const from = JSON.parse(session!.restored_from);
  const number = from.event_log_count as number;
  assert.ok(number >= last && number <= begun, `document ${number} is of ${last} to ${begun}`);
  assert.equal(number, restored.at(-1), "the session is that of its latest session.restored");
  const document = documentOf(number, { isSmall: withRuns });
  const { head, events = [] } = document;
  assert.deepEqual(
    [from.source_environment, from.exported_at, from.status, from.events_imported],
    [head.source_environment, head.exported_at, document.status, events.length],
  );
  assert.deepEqual(JSON.parse(session!.tags), head.tags);
  assert.deepEqual(JSON.parse(session!.extras), { document: { mark: number }, state: { mark: number } });
  assert.equal(session!.agent_id, AGENT);
  assert.equal(session!.active_run_id, null);

  const messages = await listMessages(ctx, SESSION);
  assert.equal(messages.length, Number(session!.message_count));
  const own = messages.slice(0, document.messages.length);
  assertSame(own, document.messages, `the messages are those of document ${number}`);
  const added = await read<{ run_id: string | null }>(
    store,
    "SELECT run_id FROM messages WHERE session_id = ?1 AND generation = ?2 AND position >= ?3",
    SESSION,
    Number(session!.generation),
    own.length,
  );
  assert.equal(own.length + added.length, messages.length, "no row stands past the session's end");
  const imported = await read<{ content: string }>(
    store,
    "SELECT content FROM imported_events WHERE session_id = ? AND generation = ? ORDER BY position",
    SESSION,
    Number(session!.generation),
  );
  assertSame(imported.map((row) => JSON.parse(row.content)), events, `and its history too, of ${number}`);

  const status = document.status === "running" ? "interrupted" : document.status;
  if (added.length === 0) return assert.equal(session!.status, status);
  assert.ok(withRuns, "nothing but an import writes messages here");
  assert.ok(added.every((row) => row.run_id !== null), "the later messages are of runs");
  assert.equal(session!.status, "interrupted", "a run that the kill has ended");
}

/** Returns the documents in the log, in order; each must have been begun, and none that ended is missing. */
async function checkEvents(
  store: Store,
  eventCount: bigint,
  acknowledged: number[],
  begun: number,
): Promise<number[]> {
  const [log] = await read<{ first: bigint; last: bigint; count: bigint }>(
    store,
    "SELECT min(seq) AS first, max(seq) AS last, count(*) AS count FROM events WHERE session_id = ?",
    SESSION,
  );
  assert.deepEqual(log, { first: 1n, last: eventCount, count: eventCount }, "the log has no gap");
  const restores = await read<{ number: bigint; messages: bigint; before: bigint }>(
    store,
    `SELECT payload ->> '$.event_log_count' AS number, payload ->> '$.messages' AS messages,
      payload ->> '$.messages_before' AS before
    FROM events WHERE session_id = ? AND type = 'session.restored' ORDER BY seq`,
    SESSION,
  );
  const numbers = restores.map((row) => Number(row.number));
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b), "each is restored once, in order");
  assert.deepEqual(acknowledged.filter((number) => !numbers.includes(number)), [], "none is lost");
  assert.ok((numbers.at(-1) ?? 0) <= begun);
  for (const [index, { before }] of restores.entries()) {
    if (index > 0) assert.ok(before >= restores[index - 1]!.messages, "each has replaced the one before");
  }
  return numbers;
}

/** Rows staged by killed imports are deleted at once, replaced rows once an export has had time to read them. */
async function checkNothingIsLeft(core: WholeCore): Promise<void> {
  const { store } = core;
  assert.deepEqual(await read(store, "SELECT * FROM loose_generations WHERE staged_by IS NOT NULL"), []);
  await ageReplaced(store);
  await sweepGenerations(core);
  const left = await read(
    store,
    `SELECT (SELECT count(*) FROM loose_generations) AS generations,
      (SELECT count(*) FROM messages m JOIN sessions s USING (session_id) WHERE m.generation <> s.generation)
        AS messages,
      (SELECT count(*) FROM imported_events e JOIN sessions s USING (session_id)
        WHERE e.generation <> s.generation) AS events`,
  );
  assert.deepEqual(left, [{ generations: 0n, messages: 0n, events: 0n }]);
  assert.deepEqual(await read(store, "PRAGMA integrity_check"), [{ integrity_check: "ok" }]);
}

/** Every published call is booked, the sums are those of the ledger, and no run is in progress. */
async function checkRuns({ store }: WholeCore, calls: readonly string[]): Promise<void> {
  const ledger = await read<{ call_id: string; cost: bigint }>(
    store,
    "SELECT call_id, cost_nano_usd AS cost FROM calls",
  );
  const booked = new Set(ledger.map((row) => row.call_id));
  assert.deepEqual(calls.filter((call) => !booked.has(call)), [], "no published call is lost");
  await checkTotals(store);
  const sum = { calls: BigInt(ledger.length), cost: ledger.reduce((total, row) => total + row.cost, 0n) };
  for (const view of ["run_usage", "session_usage", "total_usage", "daily_usage", "hourly_usage"]) {
    const sums = await read(
      store,
      `SELECT sum(model_calls) AS calls, sum(whole_usd) * 1000000000 + sum(rest_nano_usd) AS cost FROM ${view}`,
    );
    assert.deepEqual(sums, [sum], `${view} adds up to the ledger`);
  }
  const unended = await read(
    store,
    `SELECT run_id, status FROM runs r WHERE status NOT IN ('cancelled', 'interrupted', 'completed')
      OR 1 <> (SELECT count(*) FROM events e WHERE e.run_id = r.run_id
        AND e.type IN ('run.completed', 'run.cancelled', 'run.interrupted', 'run.failed'))`,
  );
  assert.deepEqual(unended, [], "every run has ended, and once");
}

/** Spends money in the session and in another one; returns the books afterwards. */
async function spend(db: string): Promise<unknown> {
  await using core = await openAgain(db);
  const agent = { ...AGENT_DEFAULTS, agentId: AGENT, model: "demo:echo" };
  for (const sessionId of [SESSION, "other"]) await runAgent(core, { agent, input: "hello", sessionId });
  return await readMoney(core);
}

async function readMoney({ store }: WholeCore): Promise<Record<string, unknown>> {
  const tables = ["calls", "run_usage", "session_usage", "total_usage", "daily_usage", "hourly_usage"];
  const rows = tables.concat("reservations", "runs").map(async (table) =>
    [table, await read(store, `SELECT * FROM ${table}`)] as const
  );
  return Object.fromEntries(await Promise.all(rows));
}

async function read<Row>(store: Store, sql: string, ...args: (string | number)[]): Promise<Row[]> {
  return toObjects<Row>(await store.read({ sql, args }));
}

/** Compares values that are too large for a report of all their differences. */
function assertSame(actual: readonly unknown[], expected: readonly unknown[], message: string): void {
  const at = Array.from({ length: Math.max(actual.length, expected.length) }).findIndex((_, index) =>
    toCanonicalText(actual[index] ?? null) !== toCanonicalText(expected[index] ?? null)
  );
  if (at === -1) return;
  const show = (value: unknown) => JSON.stringify(value)?.slice(0, 200);
  assert.fail(`${message}; at ${at} there is ${show(actual[at])} instead of ${show(expected[at])}`);
}
