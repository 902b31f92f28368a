import { sha256Hex } from "../../kernel/text.ts";
import { type Store, toObjects } from "../store.ts";

/**
 * A view or a trigger with a business rule in SQL, such as firing an alert or computing a total. It is defined in the
 * folder of its domain, and reinstalled whenever its text changes.
 */
export interface Logic {
  name: string;
  /** The statement that creates it. Views that it uses come before it in the list. */
  sql: string;
  /** The only kind of database that needs it; default: all. */
  only?: Store["kind"];
}

const READ = "SELECT name, hash FROM installed_logic";
const RECORD = "INSERT INTO installed_logic (name, hash) VALUES (?, ?)";

/** Installs all logic in one commit if any of it differs from the database's; else read-only. */
export async function installLogic(store: Store, all: readonly Logic[]): Promise<void> {
  const logic = all.filter(({ only }) => only === undefined || only === store.kind);
  const installed = toObjects<{ name: string; hash: string }>(await store.read({ sql: READ }));
  const hash = await hashOf(logic);
  if (installed.length === logic.length && installed.every((entry) => entry.hash === hash)) return;
  const names = new Set([...installed, ...logic].map(({ name }) => name));
  await store.write([
    ...[...names].map((name) => ({ sql: `DROP TRIGGER IF EXISTS ${name}` })),
    ...[...names].map((name) => ({ sql: `DROP VIEW IF EXISTS ${name}` })),
    ...logic.map(({ sql }) => ({ sql })),
    { sql: "DELETE FROM installed_logic" },
    ...logic.map(({ name }) => ({ sql: RECORD, args: [name, hash] })),
  ]);
}

function hashOf(logic: readonly Logic[]): Promise<string> {
  return sha256Hex(logic.map(({ name, sql }) => `${name}\n${sql}`).join("\n"));
}

/*
 * INSERT OR REPLACE deletes without firing DELETE triggers, unless the connection has `recursive_triggers`, as
 * connections to files do. A server refuses that PRAGMA, so there each row is looked up before it is inserted. An id that
 * is not assigned yet is -1 in such a trigger.
 */
export const appendOnlyLogic: readonly Logic[] = [
  {
    name: "events_refuse_replace",
    only: "remote",
    sql: `CREATE TRIGGER events_refuse_replace BEFORE INSERT ON events
WHEN NEW.event_id <> -1 AND EXISTS (SELECT 1 FROM events WHERE event_id = NEW.event_id)
  OR EXISTS (SELECT 1 FROM events WHERE session_id = NEW.session_id AND seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END`,
  },
  {
    name: "calls_refuse_replace",
    only: "remote",
    sql: `CREATE TRIGGER calls_refuse_replace BEFORE INSERT ON calls
WHEN NEW.position <> -1 AND EXISTS (SELECT 1 FROM calls WHERE position = NEW.position)
  OR EXISTS (SELECT 1 FROM calls WHERE call_id = NEW.call_id)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END`,
  },
];
