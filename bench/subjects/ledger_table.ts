import type { DatabaseSync } from "node:sqlite";

/** A call as accepted by `POST /costs/events`. */
export interface ReportedEvent {
  call_id: string;
  at: string;
  agent_id: string;
  provider: string;
  model: string;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  session_id?: string;
  run_id?: string;
  step?: number;
}

const COLUMNS = [
  ..."call_id,at,agent_id,session_id,run_id,step,tools,provider,model,input_tokens,output_tokens".split(","),
  ..."cache_read_tokens,cache_write_tokens,cache_write_1h_tokens,reasoning_tokens,total_tokens".split(","),
  ..."cost_nano_usd,price_source,duration_ms,estimated".split(","),
];

/** One table with the columns and indexes of a ledger, the same for every measured version. */
const SCHEMA = `CREATE TABLE calls (
  call_id TEXT PRIMARY KEY NOT NULL, at INTEGER NOT NULL, agent_id TEXT NOT NULL, session_id TEXT, run_id TEXT,
  step INTEGER, tools TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL, input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL,
  cache_write_1h_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL, total_tokens INTEGER NOT NULL,
  cost_nano_usd INTEGER, price_source TEXT NOT NULL, duration_ms INTEGER, estimated INTEGER NOT NULL
);
CREATE INDEX calls_at ON calls (at);
CREATE INDEX calls_of_session ON calls (session_id, at) WHERE session_id IS NOT NULL;
CREATE INDEX calls_of_run ON calls (run_id, at) WHERE run_id IS NOT NULL AND session_id IS NULL;`;

/** Creates the table, and returns a function that inserts rows as one statement and one commit: the fastest way. */
export function createLedgerTable(database: DatabaseSync): (rows: readonly LedgerRow[]) => void {
  database.exec(SCHEMA);
  const values = `(${COLUMNS.map(() => "?").join(", ")})`;
  const prepare = (rows: number) =>
    database.prepare(
      `INSERT INTO calls (${COLUMNS.join(", ")}) VALUES ${Array(rows).fill(values).join(", ")}`,
    );
  const statements = new Map<number, ReturnType<typeof prepare>>();
  return (rows) => {
    const insert = statements.get(rows.length) ?? prepare(rows.length);
    statements.set(rows.length, insert);
    insert.run(...rows.flat());
  };
}

/** The values of a row, in the order of the columns. */
export type LedgerRow = (string | number | null)[];

/** Returns the row of a call. */
export function rowOf(event: ReportedEvent): LedgerRow {
  return [
    event.call_id,
    Date.parse(event.at),
    event.agent_id,
    event.session_id ?? null,
    event.run_id ?? null,
    event.step ?? null,
    "[]",
    event.provider,
    event.model,
    event.input_tokens,
    event.output_tokens,
    event.cache_read_tokens,
    0,
    0,
    0,
    event.input_tokens + event.output_tokens,
    1_000_000,
    "catalog",
    null,
    0,
  ];
}
