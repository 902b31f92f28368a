import type { Sighting } from "../../src/calls/mod.ts";
import type { LogImporter } from "../../src/ingest/logs/mod.ts";
import { checkCalls, type ExpectedCall, mergeCalls } from "../../src/ingest/logs/testing/_fixture.ts";
import { createMemoryImport, HOME, type LogContent } from "../../src/ingest/logs/testing/_memory_import.ts";

/** The texts of logs by their names below the home folder; that of a database is SQL. */
export type Logs = Readonly<Record<string, string>>;

/** Returns a function that reads what logs have had since its last call. */
export function createReader(importer: LogImporter): (logs: Logs) => LogContent {
  const { read } = createMemoryImport(importer);
  const encoder = new TextEncoder();
  return (logs) =>
    read(new Map(Object.entries(logs).map(([name, text]) => [`${HOME}/${name}`, encoder.encode(text)])));
}

/** Reads logs for the first time. */
export function readLogs(importer: LogImporter, logs: Logs): LogContent {
  return createReader(importer)(logs);
}

/** Checks that exactly these calls would be booked, whichever of them comes first; only the fields that they have are compared. */
export function assertBooks(calls: readonly Sighting[], expected: ExpectedCall[]): void {
  for (const order of [calls, calls.toReversed()]) {
    checkCalls(mergeCalls(order), { emitter: "a test", calls: expected });
  }
}

/** Returns the lines of records. */
export function toLines(...records: unknown[]): string {
  return records.map((record) => JSON.stringify(record) + "\n").join("");
}
