import { toHex } from "../../kernel/text.ts";
import { type Store, toObjects } from "../store.ts";

/**
 * A view, or a trigger, that holds a rule of the business in SQL: what firing an alert means, what a total is. It
 * belongs to the folder of its domain, and is installed again whenever its text has changed.
 */
export interface Logic {
  name: string;
  /** The statement that creates it. What it names comes before it in the list. */
  sql: string;
  /** The kind of database that needs it; default: each does. */
  only?: Store["kind"];
}

const READ = "SELECT name, hash FROM installed_logic";
const RECORD = "INSERT INTO installed_logic (name, hash) VALUES (?, ?)";

/** Installs all of it in one commit where anything differs from what the database has; else only reads. */
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

async function hashOf(logic: readonly Logic[]): Promise<string> {
  const text = logic.map(({ name, sql }) => `${name}\n${sql}`).join("\n");
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return toHex(new Uint8Array(digest));
}
