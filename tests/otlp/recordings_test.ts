import assert from "node:assert/strict";
import { and, isNull } from "drizzle-orm";
import fc from "#dev/fast_check.ts";
import { bookLooseCalls, rollUp, sightCalls, type Sighting } from "../../src/calls/mod.ts";
import { createReader, type ReadRecords } from "../../src/ingest/otlp/read_records.ts";
import type { TelemetryRecord } from "../../src/ingest/otlp/records.ts";
import { IMPORTERS } from "../../src/ingest/logs/mod.ts";
import { readFixtures } from "../../src/ingest/logs/testing/_fixture.ts";
import { createMemoryImport } from "../../src/ingest/logs/testing/_memory_import.ts";
import { fixedClock } from "../../src/kernel/clock.ts";
import { isStanding, type ModelCall, toModelCall, withAdjustments } from "../../src/ledger/mod.ts";
import { tables } from "../../src/store/mod.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import { createBooking, type TestBooking } from "../harness/booking.ts";
import { checkTotals } from "../harness/check_books.ts";
import { dialectKinds } from "../harness/databases.ts";
import { type BilledCall, readRecordings, type Recording, recordsOf } from "../harness/otlp_recordings.ts";
import { gatewayCall } from "../harness/sightings.ts";
import { isThorough } from "../harness/thorough.ts";

/** Each call of the bill is one row, with every count that its recording tells, however its records arrive. */

const recordings = readRecordings();
const CLOCK = fixedClock("2027-01-01T00:00:00.000Z");

for (const recording of recordings) {
  Deno.test(`${recording.name}: protobuf and JSON say the same`, () => {
    assert.deepEqual(recordsOf(recording, "json"), recordsOf(recording, "protobuf"));
  });
}

/** Books requests through one reader, in the order of their records; several requests are one commit. */
async function receive(ctx: TestBooking, requests: readonly (readonly TelemetryRecord[])[]) {
  const reader = createReader();
  let waiting: Sighting[] = [];
  const commit = async () => {
    const { reasons } = await sightCalls(ctx, { source: "otlp", name: "otlp", agentId: "otlp" }, waiting);
    assert.deepEqual([...reasons], []);
    waiting = [];
  };
  for (const records of requests) {
    const read = reader.read(records);
    assert.deepEqual(read.rejected, []);
    assertComplete(read, records);
    waiting.push(...read.calls.map(({ sighting, origin }) => ({ ...sighting, of: origin })));
    if (waiting.length >= 100) await commit();
  }
  await commit();
}

/** Every record is counted once; a call that is said again is one of an earlier request. */
function assertComplete(read: ReadRecords, records: readonly TelemetryRecord[]) {
  const { calls, unmetered, rollups, rejected, failed, others } = read;
  const counted = unmetered.length + rollups.length + rejected.length + failed + others;
  assert.ok(counted + new Set(calls.map(({ index }) => index)).size >= records.length);
  assert.ok(counted <= records.length);
}

type Counts = readonly [
  input: number,
  output: number,
  read: number,
  written: number,
  oneHour: number,
  reasoning: number,
];

/** What is to be booked of a call: undefined for a count that no record tells. */
function expectedOf(call: BilledCall): (number | undefined)[] {
  const told = (name: string, count: number) => (call.not_told.includes(name) ? undefined : count);
  return [
    told("input", call.input),
    told("output", call.output),
    told("cache_read", call.cache_read),
    told("cache_write", call.cache_write),
    call.not_told.includes("cache_write") ? undefined : told("cache_write_ttl", call.cache_write_1h),
    told("reasoning", call.reasoning),
  ];
}

const countsOf = ({ usage }: ModelCall): Counts => [
  usage.inputTokens,
  usage.outputTokens,
  usage.cacheReadTokens,
  usage.cacheWriteTokens,
  usage.cacheWrite1hTokens,
  usage.reasoningTokens,
];

const isOf = (counts: Counts, expected: readonly (number | undefined)[]) =>
  expected.every((count, index) => count === undefined || count === counts[index]);

/** The calls of the ledger that stand, as adjusted. */
async function readCalls({ query }: TestBooking): Promise<ModelCall[]> {
  const rows = await query.select().from(tables.calls).where(and(isNull(tables.calls.adjusts), isStanding()));
  return await withAdjustments(query, rows.map(toModelCall));
}

/** Throws unless the ledger has exactly the calls of the bill that are told, each once. */
async function assertBooked(ctx: TestBooking, billed: readonly BilledCall[]) {
  await rollUp(ctx);
  await checkTotals(ctx.store);
  const rest = await readCalls(ctx);
  // Those with the most counts that are told first: they leave the least choice.
  const wanted = billed.toSorted((a, b) => a.not_told.length - b.not_told.length);
  const missing = wanted.filter((call) => {
    const index = rest.findIndex((one) => isOf(countsOf(one), expectedOf(call)));
    if (index !== -1) rest.splice(index, 1);
    return index === -1;
  });
  assert.deepEqual(
    {
      missing: missing.map(({ seq, model, input, output }) => ({ seq, model, input, output })),
      unexpected: rest.map((one) => [one.callId, one.model, ...countsOf(one)]),
    },
    { missing: [], unexpected: [] },
  );
}

const toldOf = ({ calls }: Recording) => calls.filter(({ is_told }) => is_told);

/** The requests of recordings, in an order. */
const ORDERS: Record<string, (recording: Recording) => TelemetryRecord[][]> = {
  "as they came": (recording) => recordsOf(recording),
  "one record a request, shuffled": (recording) =>
    shuffled(recordsOf(recording).flat()).map((record) => [record]),
  "seven records a request, the last first": (recording) =>
    chunks(recordsOf(recording, "json").flat().toReversed(), 7),
};

/** Shuffles, the same each time. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  const [order] = fc.sample(fc.shuffledSubarray([...items], { minLength: items.length }), {
    numRuns: 1,
    seed: 42,
  });
  return order!;
}

const chunks = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from(
    { length: Math.ceil(items.length / size) },
    (_, index) => items.slice(index * size, (index + 1) * size),
  );

for (const kind of dialectKinds()) {
  for (const [title, order] of Object.entries(ORDERS)) {
    Deno.test({
      name: `${kind.name}: each call of the recordings is one row, ${title}, and again`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        const ctx = await createBooking(await database.open(), { clock: CLOCK });
        for (const recording of recordings) await receive(ctx, order(recording));
        await assertBooked(ctx, recordings.flatMap(toldOf));
        // A restarted server knows no trace.
        for (const recording of recordings) await receive(ctx, ORDERS["as they came"]!(recording));
        await assertBooked(ctx, recordings.flatMap(toldOf));
        await ctx.rollUps.ended();
      },
    });
  }
}
