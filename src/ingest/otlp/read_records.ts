import type { Sighting } from "../../calls/mod.ts";
import type { TelemetryRecord } from "./records.ts";

/** Who has seen a call: the exporter, and the agent that the call is attributed to. */
export interface RecordOrigin {
  /** The exporter: refs are unique within it. */
  name: string;
  agentId: string;
  machine?: string;
}

/** A record that isn't booked, and why. */
export interface RecordFault {
  /** Its index among the records of the request. */
  index: number;
  reason: string;
  origin: RecordOrigin;
}

/** A record that says of itself that it is a model call; or a call of an earlier request whose agent is known only now. */
export interface CallRecord {
  index: number;
  sighting: Sighting;
  origin: RecordOrigin;
}

/** What the records of a request say. */
export interface ReadRecords {
  calls: CallRecord[];
  /** Records that say "model call" without usage: not booked. */
  unmetered: RecordFault[];
  /** Sums without any call beneath them: not booked. */
  rollups: RecordFault[];
  /** Records that can't be read: their counts, times or ids can't be any. */
  rejected: RecordFault[];
  /** The number of failed calls without usage. */
  failed: number;
  /** The number of all other accepted records. */
  others: number;
  /** Hints for the sender, each once. */
  hints: string[];
}

/** Reads the records of requests, one after the other: spans of a trace may come in several. */
export interface RecordReader {
  read(records: readonly TelemetryRecord[]): ReadRecords;
}

/** Returns a reader that knows no trace yet. */
export function createReader(): RecordReader {
  return {
    read: (records) => ({
      calls: [],
      unmetered: [],
      rollups: [],
      rejected: [],
      failed: 0,
      others: records.length,
      hints: [],
    }),
  };
}
