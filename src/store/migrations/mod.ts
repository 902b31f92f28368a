import { statements as ledger } from "./m0001_ledger.ts";
import { statements as snapshots } from "./m0002_snapshots.ts";
import { statements as alerts } from "./m0003_alerts.ts";
import { statements as tallies } from "./m0004_tallies.ts";
import { statements as apiKeys } from "./m0005_api_keys.ts";
import * as positions from "./m0006_positions.ts";

/** One step of the schema. A released step is never edited: every database records its checksum. */
export interface Migration {
  version: number;
  name: string;
  /** Committed together, as the last commit of the step. */
  statements: readonly string[];
  /** Work that is too long for one commit: committed again and again, before `statements`, until `isDone` reads 1. */
  chunks?: { statements: readonly string[]; isDone: string };
}

/** Every step, in order. Plain modules, so that a compiled binary and the edge bundle include them. */
export const migrations: readonly Migration[] = [
  { version: 1, name: "ledger", statements: ledger },
  { version: 2, name: "snapshots", statements: snapshots },
  { version: 3, name: "alerts", statements: alerts },
  { version: 4, name: "tallies", statements: tallies },
  { version: 5, name: "api_keys", statements: apiKeys },
  { version: 6, name: "positions", statements: positions.statements },
  {
    version: 7,
    name: "calls_with_positions",
    chunks: { statements: positions.chunk, isDone: positions.isDone },
    statements: positions.removeOld,
  },
];
