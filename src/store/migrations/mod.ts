import { statements as ledger } from "./m0001_ledger.ts";
import { statements as snapshots } from "./m0002_snapshots.ts";
import { statements as alerts } from "./m0003_alerts.ts";
import { statements as tallies } from "./m0004_tallies.ts";
import { statements as apiKeys } from "./m0005_api_keys.ts";

/** One step of the schema. A released step is never edited: its checksum is kept in every database. */
export interface Migration {
  version: number;
  name: string;
  statements: readonly string[];
}

/** Every step, in order. Plain modules, so that they are inside a compiled binary and at the edge. */
export const migrations: readonly Migration[] = [
  { version: 1, name: "ledger", statements: ledger },
  { version: 2, name: "snapshots", statements: snapshots },
  { version: 3, name: "alerts", statements: alerts },
  { version: 4, name: "tallies", statements: tallies },
  { version: 5, name: "api_keys", statements: apiKeys },
];
