import assert from "node:assert/strict";
import { bookLooseCalls, rollUp, sightCalls, type Sighting } from "../../src/calls/mod.ts";
import { IMPORTERS } from "../../src/ingest/logs/mod.ts";
import { mergeCalls, readFixtures } from "../../src/ingest/logs/testing/_fixture.ts";
import { createMemoryImport } from "../../src/ingest/logs/testing/_memory_import.ts";
import { listCosts, type ModelCall } from "../../src/ledger/mod.ts";
import { createBooking, type TestBooking } from "../harness/booking.ts";
import { checkTotals } from "../harness/check_books.ts";
import { databaseKinds } from "../harness/databases.ts";
import { isInTurn } from "../harness/thorough.ts";
import { fixedClock } from "../../src/kernel/clock.ts";
import { gatewayCall } from "../harness/sightings.ts";

/** The calls of each log, beside the gateway's own rows of the same calls: one row for each, in any order. */

const memory = databaseKinds().find(({ name }) => name === "memory")!;

/** The gateway's row of a call that a log tells exactly. */
const rowOf = ({ at, provider, model, responseId, usage, quality }: Sighting, index: number): ModelCall =>
  gatewayCall({
    callId: `call_${index}`,
    at: at - 700,
    sessionId: null,
    provider: provider ?? "openrouter",
    model: model ?? "unknown",
    responseId: responseId ?? `gateway_${index}_0123456789`,
    usage: quality === "exact" ? usage : { ...usage, outputTokens: usage.outputTokens + 500 },
    costNanoUsd: null,
    priceSource: "none",
  });

async function totals({ store }: TestBooking) {
  const rows = await listCosts(store, { groupBy: "agent", limit: 10, offset: 0 });
  return Object.fromEntries(
    rows.map((row) => [row.agent_id, [row.model_calls, row.input_tokens, row.output_tokens]]),
  );
}

const sumOf = (calls: readonly Pick<Sighting, "usage">[]) => [
  calls.length,
  calls.reduce((sum, { usage }) => sum + usage.inputTokens, 0),
  calls.reduce((sum, { usage }) => sum + usage.outputTokens, 0),
];

for (const [name, load] of Object.entries(IMPORTERS)) {
  const folder = new URL(`../fixtures/logs/${name}`, import.meta.url).pathname;
  for (const [index, { name: title, files }] of readFixtures(folder).entries()) {
    Deno.test(`${name}: each call of ${title} that the gateway has booked is one row, in any order`, async () => {
      const { calls } = createMemoryImport((await load()).default).read(files);
      const merged = mergeCalls(calls);
      const known = merged.filter(({ quality, marks = [] }) =>
        (quality === "exact" || quality === "provisional") && !marks.includes("disputed")
      );
      const others = merged.filter((call) => !known.includes(call));
      const half = Math.ceil(known.length / 2);
      const gateway = (from: number, to?: number) => (ctx: TestBooking) =>
        bookLooseCalls(ctx, known.map(rowOf).slice(from, to));
      const log = (machine: string) => (ctx: TestBooking) =>
        sightCalls(ctx, { source: "log", name, agentId: name, machine }, calls);
      const lastFirst = async (ctx: TestBooking) => {
        for (const call of calls.toReversed()) {
          await sightCalls(ctx, { source: "log", name, agentId: name, machine: "laptop" }, [call]);
        }
      };
      const orders = [
        [gateway(0), log("laptop")],
        [log("laptop"), gateway(0)],
        [gateway(0, half), log("laptop"), gateway(half)],
        [gateway(0), lastFirst],
        [lastFirst, gateway(0)],
      ];
      for (const [place, order] of orders.entries()) {
        if (!isInTurn(index + place, orders.length)) continue;
        await using database = await memory.create();
        const ctx = await createBooking(await database.open(), {
          clock: fixedClock("2027-01-01T00:00:00.000Z"),
        });
        for (const arrive of order) await arrive(ctx);
        await log("desktop")(ctx);
        await rollUp(ctx);
        await checkTotals(ctx.store);
        assert.deepEqual(await totals(ctx), {
          ...(known.length > 0 && { ann: sumOf(known.map(rowOf)) }),
          ...(others.length > 0 && { [name]: sumOf(others) }),
        });
        await ctx.rollUps.ended();
      }
    });
  }
}
