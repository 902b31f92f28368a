import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import type { TelemetryRecord } from "../../src/ingest/otlp/records.ts";
import { createBooking } from "../harness/booking.ts";
import { dialectKinds } from "../harness/databases.ts";
import {
  assertBooked,
  readRecordings,
  receive,
  RECORDED_CLOCK,
  type Recording,
  recordsOf,
} from "../harness/otlp_recordings.ts";

/** Each call of the bill is one row, with every count that its recording tells, however its records arrive. */

const recordings = readRecordings();

for (const recording of recordings) {
  Deno.test(`${recording.name}: protobuf and JSON say the same`, () => {
    assert.deepEqual(recordsOf(recording, "json"), recordsOf(recording, "protobuf"));
  });
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
        const ctx = await createBooking(await database.open(), { clock: RECORDED_CLOCK });
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
