import { readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { type Decoded, decodeJson, decodeProtobuf } from "../../src/ingest/otlp/decode/mod.ts";
import type { TelemetryRecord } from "../../src/ingest/otlp/records.ts";
import { encodeOtlp, jsonOfOtlp } from "./otlp_messages.ts";

/*
 * Recordings of real exporters, whose provider has kept the bill (`tests/fixtures/otlp/`). Texts were taken out of them: prompts,
 * answers and whatever else no count, id or name needs.
 */

const FOLDER = new URL("../fixtures/otlp/", import.meta.url).pathname;

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
