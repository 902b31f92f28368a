import { sha256Hex } from "../../kernel/encoding.ts";
import type { Clock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { EARLIER_SCHEMAS, UPGRADES_OLDER } from "../migrations/before_0_1_0.ts";
import { type Migration, migrations } from "../migrations/migrations.ts";
import { INTEGER, USER_TABLES } from "../dialect.ts";
import { ConstraintError, type Statement, type Store, toObjects } from "../store.ts";

/** Creates the table of the steps that a database has. */
export const CREATE_HISTORY = `CREATE TABLE IF NOT EXISTS purser_migrations (
  version ${INTEGER} PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at ${INTEGER} NOT NULL
)`;

interface Applied {
  version: bigint;
  name: string;
  checksum: string;
}

/**
 * Migrates a database to this program's schema: a new one in one commit, another step by step, each in one commit together
 * with its row in `purser_migrations`. Of several instances that start at once, one applies each step.
 *
 * @throws {PurserError} `conflict` when the database is newer than this program, an applied step differs from this
 * program's, or its schema is older than those that 0.1.0 can upgrade
 */
export async function migrate(
  store: Store,
  clock: Pick<Clock, "now">,
  given?: readonly Migration[],
): Promise<void> {
  const steps = given ?? store.schema?.migrations ?? migrations;
  for (let attempt = 0;; attempt++) {
    const statements = await nextCommit(await readApplied(store), steps, clock.now());
    if (statements.length === 0) return;
    try {
      await store.write(statements);
    } catch (error) {
      if (!(error instanceof ConstraintError) || attempt > steps.length) throw error;
    }
  }
}

/** A database with this table is being filled from a backup: no process opens it, and the next restore begins again. */
export const UNFINISHED = "purser_restore_unfinished";

/**
 * Returns the version of a database's schema; undefined for an empty database. Changes nothing.
 *
 * @throws {PurserError} `conflict` when `migrate` would refuse it
 */
export async function checkSchema(store: Pick<Store, "read" | "schema">): Promise<number | undefined> {
  const applied = await readApplied(store);
  await nextCommit(applied, store.schema?.migrations ?? migrations, 0);
  const newest = applied.at(-1);
  return newest && Number(newest.version);
}

/** Returns the statements that a database needs next, to be committed together; none for one that is up to date. */
async function nextCommit(
  applied: readonly Applied[],
  steps: readonly Migration[],
  at: number,
): Promise<Statement[]> {
  const newest = applied.at(-1);
  if (newest && newest.version < (steps[0]?.version ?? 0)) return await upgradeToFirst(applied, steps[0]!);
  await check(applied, steps);
  const missing = steps.filter(({ version }) => !applied.some((row) => Number(row.version) === version));
  if (missing.length === 0) return [];
  const units = await Promise.all((newest ? missing.slice(0, 1) : missing).map((step) => toUnit(step, at)));
  return [{ sql: CREATE_HISTORY }, ...units.flat()];
}

/** Returns the statements of a step. The claim comes first: it fails if another instance has applied the step meanwhile. */
export async function toUnit(step: Migration, at: number | bigint): Promise<Statement[]> {
  const claim = {
    sql: "INSERT INTO purser_migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
    args: [step.version, step.name, await checksumOf(step), at],
  };
  return [claim, ...step.statements.map((sql) => ({ sql }))];
}

/**
 * Returns the statements that make a database from before 0.1.0 one of 0.1.0, whose first step stands for all before it.
 * The new row keeps the time of the first migration, which is the ledger's identity for spooled calls.
 */
async function upgradeToFirst(applied: readonly Applied[], first: Migration): Promise<Statement[]> {
  const version = Number(applied.at(-1)!.version);
  const history = await sha256Hex(applied.map((row) => `${row.version} ${row.checksum}`).join("\n"));
  const from = EARLIER_SCHEMAS.findIndex((schema) => schema.history === history);
  const oldest = EARLIER_SCHEMAS[0]!.version;
  if (from === -1) {
    throw new PurserError(
      "conflict",
      version < oldest
        ? `Cannot open the database: its schema is version ${version}, and this program upgrades from version ${oldest} on; open it once with Purser of commit ${UPGRADES_OLDER}`
        : `Cannot open the database: its migrations up to ${version} differ from those of any commit of Purser`,
    );
  }
  return [
    {
      sql: `INSERT INTO purser_migrations (version, name, checksum, applied_at)
SELECT ?, ?, ?, min(applied_at) FROM purser_migrations`,
      args: [first.version, first.name, await checksumOf(first)],
    },
    { sql: "DELETE FROM purser_migrations WHERE version < ?", args: [first.version] },
    ...EARLIER_SCHEMAS.slice(from).flatMap(({ additions }) => additions).map((sql) => ({ sql })),
  ];
}

async function readApplied(store: Pick<Store, "read">): Promise<Applied[]> {
  // One query: another instance may be creating the first table at this moment.
  const names = (await store.read({ sql: USER_TABLES })).rows.map(([name]) => name);
  if (names.includes(UNFINISHED)) {
    throw new PurserError(
      "conflict",
      "Cannot open the database: its restore from a backup has not ended; wait for it, or run purser restore again",
    );
  }
  if (!names.includes("purser_migrations")) {
    if (names.length === 0) return [];
    throw new PurserError(
      "conflict",
      `Cannot open the database: it is not Purser's, it has a table ${names[0]}; choose another database`,
    );
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
        `Cannot open the database: its migration ${row.version} (${row.name}) differs from this program's`,
      );
    }
  }
}

/** Returns the checksum that a database records of a step. */
export function checksumOf({ statements }: Migration): Promise<string> {
  return sha256Hex(statements.join(";\n"));
}

/**
 * A view or a trigger with a business rule in SQL, such as firing an alert or computing a total. It is defined in the
 * folder of its domain, and reinstalled whenever its text changes.
 */
export interface Logic {
  name: string;
  /** The statement that creates it, or several. Views that it uses come before it in the list. */
  sql: string | readonly string[];
  /** The only engine that it is written for; default: all, as for most views. A trigger in PostgreSQL has a function of its name. */
  engine?: Store["engine"];
  /** The only kind of database that needs it; default: all. */
  only?: Store["kind"];
}

const READ = "SELECT name, hash FROM installed_logic";
const RECORD = "INSERT INTO installed_logic (name, hash) VALUES (?, ?)";

/** Installs all logic in one commit if any of it differs from the database's; else read-only. */
export async function installLogic(
  store: Pick<Store, "read" | "write" | "schema" | "kind" | "engine">,
  all: readonly Logic[],
): Promise<void> {
  const logic = [...store.schema?.logic ?? [], ...all].filter(({ only, engine = store.engine }) =>
    (only === undefined || only === store.kind) && engine === store.engine
  );
  const installed = toObjects<{ name: string; hash: string }>(await store.read({ sql: READ }));
  const hash = await hashOf(logic);
  if (installed.length === logic.length && installed.every((entry) => entry.hash === hash)) return;
  const names = new Set([...installed, ...logic].map(({ name }) => name));
  await store.write([
    ...[...names].map((name) => ({ sql: dropTrigger(name, store) })),
    ...[...names].map((name) => ({ sql: `DROP VIEW IF EXISTS ${name}` })),
    ...logic.flatMap(({ sql }) => sql).map((sql) => ({ sql })),
    { sql: "DELETE FROM installed_logic" },
    ...logic.map(({ name }) => ({ sql: RECORD, args: [name, hash] })),
  ]);
}

/** In PostgreSQL, the function of a trigger drops it. */
function dropTrigger(name: string, { engine }: Pick<Store, "engine">): string {
  return engine === "postgres"
    ? `DROP FUNCTION IF EXISTS ${name}() CASCADE`
    : `DROP TRIGGER IF EXISTS ${name}`;
}

function hashOf(logic: readonly Logic[]): Promise<string> {
  return sha256Hex(logic.map(({ name, sql }) => `${name}\n${[sql].flat().join("\n")}`).join("\n"));
}

/*
 * INSERT OR REPLACE deletes without firing DELETE triggers, unless the connection has `recursive_triggers`, as
 * connections to files do. A server refuses that PRAGMA, so there each row is looked up before it is inserted. An id that
 * is not assigned yet is -1 in such a trigger.
 */
export const appendOnlyLogic: readonly Logic[] = [
  {
    name: "events_refuse_replace",
    engine: "sqlite",
    only: "remote",
    sql: `CREATE TRIGGER events_refuse_replace BEFORE INSERT ON events
WHEN NEW.event_id <> -1 AND EXISTS (SELECT 1 FROM events WHERE event_id = NEW.event_id)
  OR EXISTS (SELECT 1 FROM events WHERE session_id = NEW.session_id AND seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END`,
  },
  {
    name: "calls_refuse_replace",
    engine: "sqlite",
    only: "remote",
    sql: `CREATE TRIGGER calls_refuse_replace BEFORE INSERT ON calls
WHEN NEW.position <> -1 AND EXISTS (SELECT 1 FROM calls WHERE position = NEW.position)
  OR EXISTS (SELECT 1 FROM calls WHERE call_id = NEW.call_id)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END`,
  },
  {
    name: "audit_entries_refuse_replace",
    engine: "sqlite",
    only: "remote",
    sql: `CREATE TRIGGER audit_entries_refuse_replace BEFORE INSERT ON audit_entries
WHEN NEW.position <> -1 AND EXISTS (SELECT 1 FROM audit_entries WHERE position = NEW.position)
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END`,
  },
  ...refusals("budget_raises", "raise_id", "raises of budgets are append-only"),
  ...refusals("budget_releases", "release_id", "releases of budgets are append-only"),
];

/**
 * The triggers that keep the rows of a budget. They are removed with it: a program that defines the budget again, by the same id,
 * begins without them.
 */
function refusals(table: string, id: string, reason: string): Logic[] {
  const refuse = `BEGIN SELECT RAISE(ABORT, '${reason}'); END`;
  const trigger = (what: string, when: string, only?: Store["kind"]): Logic => ({
    name: `${table}_refuse_${what}`,
    engine: "sqlite",
    ...(only && { only }),
    sql: `CREATE TRIGGER ${table}_refuse_${what} BEFORE ${when}\n${refuse}`,
  });
  return [
    trigger(
      "replace",
      `INSERT ON ${table}\nWHEN EXISTS (SELECT 1 FROM ${table} WHERE ${id} = NEW.${id})`,
      "remote",
    ),
    trigger("update", `UPDATE ON ${table}`),
    trigger(
      "delete",
      `DELETE ON ${table}\nWHEN EXISTS (SELECT 1 FROM budgets WHERE budget_id = OLD.budget_id)`,
    ),
  ];
}
