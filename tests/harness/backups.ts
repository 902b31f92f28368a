import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { checkBooks } from "./check_books.ts";
import { type Place } from "./cli_process.ts";
import { inProcess as purser } from "./in_process.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { parseDatabaseUrl } from "../../src/kernel/database_url.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { databaseLogic } from "../../src/service/parts.ts";
import { openStore } from "../../src/store/mod.ts";

/** The answer of `purser backup --json` and `purser restore --json`. */
export interface BackupAnswer {
  file: string;
  database: string;
  kept_as: string | null;
  bytes: number;
  schema_version: number;
  calls: number;
  unpriced_calls: number;
  cost_usd: number | null;
  newest_call_at: string | null;
}

/** Runs `purser backup` or `purser restore`, which must succeed, and returns its answer. */
export async function succeed(place: Place, args: string[]): Promise<BackupAnswer> {
  const { code, out, err } = await purser(place, [...args, "--json"]);
  assert.equal(code, 0, err);
  return JSON.parse(out);
}

/** Checks every total of a database, and returns the number of its calls and their cost in nano-USD. */
export async function readBooks(
  dbUrl: string,
  fetch?: typeof globalThis.fetch,
): Promise<{ calls: number; nanoUsd: bigint }> {
  const store = await openStore({
    location: parseDatabaseUrl(dbUrl),
    durability: "full",
    logic: databaseLogic,
    remoteTimeoutMs: 10_000,
    clock: systemClock,
    ids: createIds(systemClock),
    fetch,
  });
  try {
    await checkBooks(store);
    const { rows } = await store.read({
      sql: "SELECT count(*), coalesce(sum(cost_nano_usd), 0) FROM calls",
    });
    return { calls: Number(rows[0]![0]), nanoUsd: rows[0]![1] as bigint };
  } finally {
    await store.close();
  }
}

/** Makes a database so large that a copy of it takes a while: by rows that belong to no session. */
export function makeLarge(path: string, rows: number): void {
  const database = new DatabaseSync(path);
  database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
INSERT INTO imported_events SELECT 'none', 1, i, hex(randomblob(500)) FROM n`);
  database.close();
}

/** The names in a folder, in order. */
export function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

/** Waits until a folder has a draft, while a process is still running. */
export async function untilDraft(folder: string, child: Deno.ChildProcess): Promise<void> {
  let hasEnded = false;
  void child.status.then(() => hasEnded = true);
  while (!namesIn(folder).some((name) => name.endsWith(".part"))) {
    assert.ok(!hasEnded, "it ended before it had a draft");
    await new Promise((resolve) => setImmediate(resolve));
  }
}
