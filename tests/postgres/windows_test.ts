import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { type Span, startOf, startSql } from "../../src/contract/windows.ts";
import { skipPostgres } from "../harness/postgres.ts";
import { withFunctions } from "./with_functions.ts";

const SPANS = ["minute", "hour", "day", "week", "month"] as const satisfies Span[];
const LAST = Date.parse("9999-09-30T23:59:59.999Z");
const DAY_MS = 86_400_000;

const nearMonth = fc.tuple(
  fc.integer({ min: 1970, max: 9998 }),
  fc.integer({ min: 0, max: 11 }),
  fc.constantFrom(-DAY_MS, -1_000, -1, 0, 1, DAY_MS),
).map(([year, month, distance]) => Math.max(0, Date.UTC(year, month) + distance));

Deno.test({
  name: "startOf() is what startSql() is in PostgreSQL, for any span and time, and spans before and after it",
  ignore: skipPostgres,
  fn: () =>
    withFunctions(async (client) => {
      const distances = SPANS.flatMap((span) => [-2, -1, 0, 1, 2].map((later) => ({ span, later })));
      const times = fc.sample(fc.oneof(fc.integer({ min: 0, max: LAST }), nearMonth), 3_000);
      const { rows } = await client.query({
        text: `SELECT ${
          distances.map(({ span, later }) => startSql(span, "v.at", later)).join(", ")
        } FROM unnest($1::bigint[]) WITH ORDINALITY AS v (at, n) ORDER BY v.n`,
        values: [times],
        rowMode: "array",
      });
      for (const [index, at] of times.entries()) {
        const expected = distances.map(({ span, later }) => startOf(span, at, later));
        assert.deepEqual(rows[index].map(Number), expected, `${at}`);
      }
    }),
});
