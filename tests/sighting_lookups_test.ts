import assert from "node:assert/strict";
import { sightCalls } from "../src/calls/mod.ts";
import type { Statement } from "../src/store/mod.ts";
import { createBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";
import { AT, LOG, sighting } from "./harness/sightings.ts";

const record = (number: number) =>
  sighting({
    ref: `msg_${number}`,
    responseId: `msg_012345abcdef${number}`,
    requestId: `req_012345abcdef${number}`,
    at: AT - number * 60_000,
  });
const records = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => record(from + index));

for (const kind of dialectKinds()) {
  Deno.test({
    name:
      `the calls of an answer are found by an index of its day and id, however many there are (${kind.name})`,
    ignore: kind.ignore,
    async fn() {
      await using database = await kind.create();
      const store = await database.open();
      const ctx = await createBooking(store);
      await sightCalls(ctx, LOG, records(0, 2_000));
      // Witnesses with two statements have rows of their own.
      await sightCalls(ctx, { ...LOG, machine: "desktop" }, records(0, 2_000));
      await store.write([{ sql: "ANALYZE calls" }, { sql: "ANALYZE sightings" }]);
      const asked: Statement[] = [];
      const readAll = store.readAll.bind(store);
      store.readAll = (statements) => {
        asked.push(...statements);
        return readAll(statements);
      };
      await sightCalls(ctx, LOG, records(2_000, 2_100));
      const lookups = asked.filter(({ sql }) => sql.includes("near.days"));
      assert.equal(lookups.length, 4);
      const explain = store.engine === "postgres" ? "EXPLAIN" : "EXPLAIN QUERY PLAN";
      for (const { sql, ...values } of lookups) {
        const [{ rows } = { rows: [] }] = await store.write([{ sql: `${explain} ${sql}`, ...values }]);
        const plan = rows.map((row) => String(row.at(-1))).join("\n");
        assert.match(
          plan,
          /(?:calls_by_(?:response|request|witness)|sightings_by_request)\b.*\n?.*(?:\(<expr>|\(day|\(at \/ 86400000\)\)? =).*(?:response_id|request_id|call_id|AND <expr>=)/,
          plan,
        );
      }
    },
  });
}
