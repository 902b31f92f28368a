import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { and, isNull } from "drizzle-orm";
import { rollUp, sightCalls, type Sighting } from "../../src/calls/mod.ts";
import { createReader, type ReadRecords } from "../../src/ingest/otlp/read_records.ts";
import { fixedClock } from "../../src/kernel/clock.ts";
import { isStanding, type ModelCall, toModelCall, withAdjustments } from "../../src/ledger/mod.ts";
import { tables } from "../../src/store/mod.ts";
import type { TestBooking } from "./booking.ts";
import { checkTotals } from "./check_books.ts";
import { type Decoded, decodeJson, decodeProtobuf } from "../../src/ingest/otlp/decode/mod.ts";
import type { TelemetryRecord } from "../../src/ingest/otlp/records.ts";
import { encodeOtlp, jsonOfOtlp } from "./otlp_messages.ts";

/*
 * Recordings of real exporters, whose provider has kept the bill (`tests/fixtures/otlp/`). Texts were taken out of them: prompts,
 * answers and whatever else no count, id or name needs.
 */

const FOLDER = new URL("../fixtures/otlp/", import.meta.url).pathname;

/** A clock at which all of them are past. */
export const RECORDED_CLOCK = fixedClock("2027-01-01T00:00:00.000Z");

/** A call of the bill. */
export interface BilledCall {
  seq: number;
  provider: string;
  model: string;
  response_id: string | null;
  input: number;
  cache_read: number;
  cache_write: number;
  cache_write_1h: number;
  output: number;
  reasoning: number;
  session?: string | null;
  agent?: string | null;
  /** True if a record says of itself that it is this call. */
  is_told: boolean;
  /** The counts that no record says. */
  not_told: string[];
}

export interface Recording {
  name: string;
  calls: BilledCall[];
  requests: { signal: "traces" | "logs"; json: unknown; bytes: Uint8Array; isJson: boolean }[];
}

/** Decodes a request as a whole. */
export function decodeAll(decoding: Generator<number, Decoded>): TelemetryRecord[] {
  for (;;) {
    const { done, value } = decoding.next();
    if (done) return value.records;
  }
}

export function readRecordings(): Recording[] {
  return readdirSync(FOLDER).sort().flatMap((emitter) =>
    readdirSync(`${FOLDER}${emitter}`).sort().map((scenario) => readRecording(`${emitter}/${scenario}`))
  );
}

function readRecording(name: string): Recording {
  const { calls } = JSON.parse(Deno.readTextFileSync(`${FOLDER}${name}/expected.json`));
  const requests = readdirSync(`${FOLDER}${name}`).sort().flatMap((file) => {
    const [, signal, form] = /-(traces|logs)\.(pb|json)\.gz$/.exec(file) ?? [];
    if (signal !== "traces" && signal !== "logs") return [];
    const bytes = gunzipSync(readFileSync(`${FOLDER}${name}/${file}`));
    const isJson = form === "json";
    const json = isJson ? JSON.parse(new TextDecoder().decode(bytes)) : jsonOfOtlp(signal, bytes);
    return [{ signal, json, bytes: isJson ? encodeOtlp(signal, json) : bytes, isJson } as const];
  });
  return { name, calls, requests };
}

/** The records of a recording, request by request, from one of its forms. */
export function recordsOf(
  { requests }: Recording,
  form: "protobuf" | "json" = "protobuf",
): TelemetryRecord[][] {
  return requests.map(({ signal, json, bytes }) =>
    decodeAll(form === "json" ? decodeJson(json, signal) : decodeProtobuf(bytes, signal))
  );
}

/** Books requests through one reader, in the order of their records; several requests are one commit. */
export async function receive(
  ctx: TestBooking,
  requests: readonly (readonly TelemetryRecord[])[],
  perCommit = 100,
) {
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
    if (waiting.length >= perCommit) await commit();
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

/** Returns the counts that are to be booked of a call: undefined for one that no record tells. */
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
export async function readCalls({ query }: TestBooking): Promise<ModelCall[]> {
  const rows = await query.select().from(tables.calls).where(and(isNull(tables.calls.adjusts), isStanding()));
  return await withAdjustments(query, rows.map(toModelCall));
}

/** Throws unless the ledger has exactly the calls of the bill that are told, each once. */
export async function assertBooked(ctx: TestBooking, billed: readonly BilledCall[]) {
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
