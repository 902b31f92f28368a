import assert from "node:assert/strict";
import { bookLooseCalls, sightCalls, type Sighting } from "../../src/calls/mod.ts";
import { IMPORTERS } from "../../src/ingest/logs/mod.ts";
import { readFixtures } from "../../src/ingest/logs/testing/_fixture.ts";
import { createMemoryImport } from "../../src/ingest/logs/testing/_memory_import.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import { createBooking, type TestBooking } from "../harness/booking.ts";
import { dialectKinds } from "../harness/databases.ts";
import {
  assertBooked,
  type BilledCall,
  readCalls,
  readRecordings,
  receive,
  RECORDED_CLOCK,
  type Recording,
  recordsOf,
} from "../harness/otlp_recordings.ts";
import { gatewayCall } from "../harness/sightings.ts";

/** The telemetry of a call beside the log of its agent and the gateway's own row: one row, in any order. */

const recordings = readRecordings();

/** The logs of the agents that export telemetry, of the same runs. */
const logged = (await Promise.all(
  ["claude-code", "codex", "gemini-cli", "opencode", "qwen-code"].map(async (agent) => {
    const importer = (await IMPORTERS[agent]!()).default;
    const folder = new URL(`../fixtures/logs/${agent}`, import.meta.url).pathname;
    return readFixtures(folder).flatMap(({ name, files }) => {
      const recording = recordings.find((one) => one.name === `${agent}/${name}`);
      return recording ? [{ recording, agent, calls: createMemoryImport(importer).read(files).calls }] : [];
    });
  }),
)).flat();

/** A call of the bill as its log tells it, if that does: of one that was stopped it knows the input only. */
function inLog(calls: readonly Sighting[], call: BilledCall): BilledCall[] {
  const told = calls.find(({ usage, quality }) =>
    usage.inputTokens === call.input && (usage.outputTokens === call.output || quality === "provisional")
  );
  if (!told) return [];
  return [told.quality === "provisional" ? { ...call, not_told: ["output", "reasoning"] } : call];
}

/** The gateway's row of a call of the bill. */
const rowOf = ({ calls }: Recording, call: BilledCall, at: number) => {
  const {
    seq,
    provider,
    model,
    response_id,
    input,
    output,
    cache_read,
    cache_write,
    cache_write_1h,
    reasoning,
  } = call;
  return gatewayCall({
    callId: `call_${seq}_${response_id ?? `${input}_${calls.length}`}`,
    at,
    durationMs: 60_000,
    sessionId: null,
    provider,
    model,
    responseId: response_id ?? undefined,
    usage: usageOf({
      inputTokens: input,
      outputTokens: output,
      cacheReadTokens: cache_read,
      cacheWriteTokens: cache_write,
      cacheWrite1hTokens: cache_write_1h,
      reasoningTokens: reasoning,
    }),
    costNanoUsd: null,
    priceSource: "none",
  });
};

/** The bill of a recording whose counts are all known: by the gateway, or by logs. */
const known = (call: BilledCall): BilledCall => ({ ...call, not_told: [] });

for (const kind of dialectKinds()) {
  const test = (name: string, fn: (ctx: TestBooking) => Promise<void>) =>
    Deno.test({
      name: `${kind.name}: ${name}`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        const ctx = await createBooking(await database.open(), { clock: RECORDED_CLOCK });
        await fn(ctx);
        await ctx.rollUps.ended();
      },
    });

  const telemetry = (ctx: TestBooking, all: readonly Recording[]) => receiveAll(ctx, all);
  const logs = async (ctx: TestBooking) => {
    for (const { agent, calls } of logged) {
      await sightCalls(ctx, { source: "log", name: agent, agentId: agent, machine: "laptop" }, calls);
    }
  };
  const both = logged.map(({ recording }) => recording);
  const bill = logged.flatMap(({ recording, calls }) =>
    recording.calls.flatMap((call) => call.is_told ? [call] : inLog(calls, call))
  );

  test("a call that its agent's log tells after its telemetry is one row", async (ctx) => {
    await telemetry(ctx, both);
    await logs(ctx);
    await assertBooked(ctx, bill);
    await assertSessions(ctx);
  });

  test("a call that its agent's log tells before its telemetry is one row", async (ctx) => {
    await logs(ctx);
    await telemetry(ctx, both);
    await telemetry(ctx, both);
    await logs(ctx);
    await assertBooked(ctx, bill);
    await assertSessions(ctx);
  });

  for (const isFirst of [true, false]) {
    test(`a call whose row the gateway books ${isFirst ? "before" : "after"} its telemetry is one row`, async (ctx) => {
      const times = timesOf(recordings);
      const gateway = () =>
        bookLooseCalls(
          ctx,
          recordings.flatMap((recording) =>
            recording.calls.map((call) => rowOf(recording, call, times(recording)))
          ),
        );
      if (isFirst) await gateway();
      await telemetry(ctx, recordings);
      await logs(ctx);
      if (!isFirst) await gateway();
      await telemetry(ctx, recordings);
      await assertBooked(ctx, recordings.flatMap(({ calls }) => calls).map(known));
    });
  }
}

/** Throws unless each call is of the session that its log names: the telemetry of some agents takes sub-agents for sessions. */
async function assertSessions(ctx: TestBooking) {
  const rows = await readCalls(ctx);
  const wrong = logged.flatMap(({ calls }) => calls).filter(({ quality, usage, session, isCopy }) =>
    quality === "exact" && !isCopy &&
    !rows.some((row) =>
      row.sessionId === session && row.usage.inputTokens === usage.inputTokens &&
      row.usage.outputTokens === usage.outputTokens
    )
  );
  assert.deepEqual(wrong.map(({ ref, session }) => [ref, session]), []);
}

async function receiveAll(ctx: TestBooking, all: readonly Recording[]) {
  for (const recording of all) await receive(ctx, recordsOf(recording));
}

/** Returns the time at which a recording begins. */
function timesOf(all: readonly Recording[]) {
  const times = new Map(all.map((recording) => {
    const starts = recordsOf(recording).flat().map((record) =>
      record.signal === "span" ? record.startsAt : record.at
    );
    return [recording, Math.floor(Math.min(...starts))];
  }));
  return (recording: Recording) => times.get(recording)!;
}
