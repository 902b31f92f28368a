import { toHex } from "../../kernel/text.ts";
import type { Clock } from "../../kernel/clock.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { ConstraintError, type Store, toObjects } from "../store.ts";
import { type Migration, migrations as embedded } from "../migrations/mod.ts";

const CREATE_HISTORY = `CREATE TABLE IF NOT EXISTS purser_migrations (
  version INTEGER PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at INTEGER NOT NULL
)`;

/** The tables that somebody made; a remote server may keep some of its own. */
const TABLES = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'write_tokens'
  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'libsql\\_%' ESCAPE '\\'`;

interface Applied {
  version: bigint;
  name: string;
  checksum: string;
}

/**
 * Brings a database to this program's schema, each step in one commit together with its row in
 * `purser_migrations`; of several instances that start at once, one applies each step.
 *
 * @throws {PurserError} `conflict` when the database is newer than this program, or a step that was applied
 * is not the one this program knows
 */
export async function migrate(
  store: Store,
  clock: Pick<Clock, "now">,
  migrations: readonly Migration[] = embedded,
): Promise<void> {
  for (let attempt = 0;; attempt++) {
    const applied = await readApplied(store);
    await check(applied, migrations);
    const next = migrations.find((migration) =>
      !applied.some((row) => Number(row.version) === migration.version)
    );
    if (!next) return;
    await runChunks(store, next);
    const { version, name } = next;
    const claim = {
      sql: "INSERT INTO purser_migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
      args: [version, name, await checksumOf(next), clock.now()],
    };
    try {
      // The claim comes first: it fails where another instance has applied this step meanwhile.
      await store.write([claim, ...next.statements.map((sql) => ({ sql }))]);
    } catch (error) {
      if (!(error instanceof ConstraintError) || attempt > migrations.length) throw error;
    }
  }
}

/** So many chunks may fail one after the other for want of a turn. */
const MAX_FAILURES = 6;

/** Does the long part of a step, a commit at a time; where it was ended, the next process continues. */
async function runChunks(store: Store, { chunks }: Migration): Promise<void> {
  if (!chunks) return;
  try {
    for (let failures = 0; Number((await store.read({ sql: chunks.isDone })).rows[0]![0]) === 0;) {
      try {
        await store.write(chunks.statements.map((sql) => ({ sql })));
        failures = 0;
      } catch (error) {
        // Another process may have the database to itself for long while it does the same work.
        if ((error as { code?: unknown }).code !== "unavailable" || ++failures > MAX_FAILURES) throw error;
      }
    }
  } catch (error) {
    // Another process has finished the step meanwhile, and removed what it worked on.
    if (!/no such table/.test(messageOf(error))) throw error;
  }
}

async function readApplied(store: Store): Promise<Applied[]> {
  // One look: another instance may be making the first table at this moment.
  const names = (await store.read({ sql: TABLES })).rows.map(([name]) => name);
  if (!names.includes("purser_migrations")) {
    if (names.length > 0) {
      throw new PurserError(
        "conflict",
        `Cannot open the database: it is not Purser's, it has a table ${names[0]}; choose another place`,
      );
    }
    await store.write([{ sql: CREATE_HISTORY }]);
  }
  return toObjects<Applied>(
    await store.read({ sql: "SELECT version, name, checksum FROM purser_migrations ORDER BY version" }),
  );
}

async function check(applied: readonly Applied[], migrations: readonly Migration[]): Promise<void> {
  const newest = migrations.at(-1)?.version ?? 0;
  for (const row of applied) {
    const known = migrations.find((migration) => migration.version === Number(row.version));
    if (!known) {
      throw new PurserError(
        "conflict",
        `Cannot open the database: its schema is version ${row.version} and this program knows up to ${newest}; upgrade Purser`,
      );
    }
    if (row.checksum !== await checksumOf(known)) {
      throw new PurserError(
        "conflict",
        `Cannot open the database: its migration ${row.version} (${row.name}) is not the one this program knows`,
      );
    }
  }
}

/** SHA-256 over the step's statements, in hex. */
async function checksumOf(migration: Migration): Promise<string> {
  const bytes = new TextEncoder().encode(
    [...migration.chunks?.statements ?? [], ...migration.statements].join(";\n"),
  );
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
