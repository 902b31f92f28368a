import { and, type Column, eq, getTableColumns, getTableName, inArray, or, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { AuditAction, AuditActor, AuditKind } from "../contract/values.ts";
import { toHex } from "../kernel/encoding.ts";
import { PurserError } from "../kernel/errors.ts";
import type { Query } from "./open_store.ts";
import { replaceState, requireThat, type SqlValue, type Statement } from "./store.ts";

/*
 * Authored resources are what people write, name and change: alert rules, budgets, agents and API keys. A row has the fields
 * that its author sets, and state that the service keeps beside them.
 */

/** Who makes changes, and from where. */
export interface Author {
  actor: AuditActor;
  /** The API key, also that of a session of the dashboard. */
  keyId?: string | null;
  /** The name of the key; `user@host` of a command; undefined for others. */
  name?: string | null;
  /** The address of the client, as far as the server knows it. */
  address?: string | null;
  /** The label of the file that is applied. */
  label?: string;
}

/** A change, as the audit log keeps it in the commit that makes it. */
export interface Edit {
  author: Author;
  /** The time, in milliseconds since the epoch. */
  now: number;
}

/** The subject and the fields of a change, in wire form. */
export interface AuditedChange {
  action: AuditAction;
  kind: AuditKind;
  id: string;
  name: string | null;
  /** The fields that differ, as they were and as they are; no secret, and no hash of one. */
  before?: object | null;
  after?: object | null;
}

type Condition = Required<Pick<Statement, "sql" | "args">>;

const AUDIT_COLUMNS =
  "at, actor, key_id, actor_name, address, label, action, kind, subject_id, subject_name, before, after";

/** Returns the statement that adds an entry to the audit log; with a condition over `?1` and so on, only if it holds. */
export function auditEntry(
  { author, now }: Edit,
  { action, kind, id, name, before, after }: AuditedChange,
  only: Condition = { sql: "true", args: [] },
): Statement {
  const { actor, keyId = null, name: actorName = null, address = null, label = null } = author;
  const fields = [before, after].map((value) => value == null ? null : JSON.stringify(value, cutText));
  const values = [now, actor, keyId, actorName, address, label, action, kind, id, name, ...fields];
  return {
    sql: `INSERT INTO audit_entries (${AUDIT_COLUMNS})
SELECT ${values.map((_, index) => `?${only.args.length + index + 1}`).join(", ")} WHERE ${only.sql}`,
    args: [...only.args, ...values],
  };
}

/** Returns the fields that differ, and the action; undefined where none differs and no action is given. */
export function changesOf(
  old: object | undefined,
  present: object | undefined,
  given?: AuditAction,
):
  | { action: AuditAction; before: Record<string, unknown> | null; after: Record<string, unknown> | null }
  | undefined {
  const [before, after] = [old, present] as (Record<string, unknown> | undefined)[];
  const textOf = (value: unknown) => JSON.stringify(value ?? null);
  const names = Object.keys({ ...before, ...after }).filter((name) =>
    !before || !after || textOf(before[name]) !== textOf(after[name])
  );
  if (names.length === 0 && given === undefined) return undefined;
  const pick = (row: Record<string, unknown> | undefined) =>
    row ? Object.fromEntries(names.map((name) => [name, row[name] ?? null])) : null;
  const isSwitched = names.length === 1 && names[0] === "enabled";
  const changed = !isSwitched ? "changed" : after?.enabled ? "enabled" : "disabled";
  const action = given ?? (!before ? "created" : !after ? "removed" : changed);
  return { action, before: pick(before), after: pick(after) };
}

/** The characters that an entry keeps of one text, such as the prompt of an agent. */
const MAX_AUDITED_TEXT = 2_000;

function cutText(_: string, value: unknown): unknown {
  if (typeof value !== "string" || value.length <= MAX_AUDITED_TEXT) return value;
  return `${value.slice(0, MAX_AUDITED_TEXT).toWellFormed()}… (${value.length} characters)`;
}

/** Checks the state that a change replaces, and throws to refuse the change. */
export type Check<Row> = (current: Row) => void | Promise<void>;

type KeyOf<Table extends SQLiteTable> = keyof Table["$inferSelect"] & string;

/** Returns the reads and the statements of the authored resources in a table. */
export function defineAuthored<
  Table extends SQLiteTable,
  Id extends KeyOf<Table>,
  State extends KeyOf<Table> = never,
>(table: Table, { what, kind, id, show, state = [] }: {
  /** In messages: `budget`. */
  what: string;
  /** In the audit log. */
  kind: AuditKind;
  id: Id;
  /** Returns the fields that an author sets in wire form, as the audit log has them: without secrets and their hashes. */
  show(row: Omit<Table["$inferSelect"], State>): { name: string };
  /** The columns that no author sets, besides the id and the times. */
  state?: readonly State[];
}) {
  type Row = Table["$inferSelect"];
  /** The columns that the author of a row sets. */
  type Fields = Omit<Row, Id | State | "createdAt" | "updatedAt">;

  const name = getTableName(table);
  const columns = getTableColumns(table) as Record<string, Column>;
  const isKept = new Set<string>([id, "createdAt", "updatedAt", ...state]);
  const fields = Object.keys(columns).filter((key) => !isKept.has(key));
  const sqlOf = (key: string) => columns[key]!.name;
  const valueOf = (row: object, key: string): SqlValue => {
    const value = (row as Record<string, unknown>)[key];
    return value === null ? null : columns[key]!.mapToDriverValue(value) as SqlValue;
  };

  const isId = `${sqlOf(id)} = ?1`;
  const isSame = `EXISTS (SELECT 1 FROM ${name} WHERE ${isId} AND ${
    ["createdAt", ...fields].map((key, index) => `${sqlOf(key)} IS NOT DISTINCT FROM ?${index + 2}`).join(
      " AND ",
    )
  })`;
  const changes = [...columns.updatedAt ? ["updatedAt"] : [], ...fields];
  const update = `UPDATE ${name} SET ${
    changes.map((key, index) => `${sqlOf(key)} = ?${index + 2}`).join(", ")
  } WHERE ${isId}`;

  /** Returns the entry of the audit log about a change; none where no field that it shows differs. */
  function entry(
    edit: Edit,
    before: Omit<Row, State> | undefined,
    after: Omit<Row, State> | undefined,
    given?: AuditAction,
    only?: Condition,
  ): Statement[] {
    const [old, present] = [before, after].map((row) => row && show(row));
    const changes = changesOf(old, present, given);
    if (!changes) return [];
    const subject = { kind, id: idOf(after ?? before!), name: (present ?? old)!.name };
    return [auditEntry(edit, { ...changes, ...subject }, only)];
  }

  const idOf = (row: Omit<Row, State>) => String((row as Record<string, unknown>)[id]);

  async function find(query: Query, wanted: string, where?: SQL): Promise<Row | undefined> {
    const [row] = await query.select().from(table as SQLiteTable).where(and(eq(columns[id]!, wanted), where));
    return row as Row | undefined;
  }

  async function read(query: Query, wanted: string, where?: SQL): Promise<Row> {
    const row = await find(query, wanted, where);
    if (!row) throw new PurserError("not_found", `Cannot find ${what} ${wanted}`);
    return row;
  }

  /** Returns the statement that refuses a write unless a row is still as it was, or there still is none. */
  function requireUnchanged(wanted: string, before: Row | undefined): Statement {
    return requireThat(
      before
        ? { sql: isSame, args: [wanted, ...["createdAt", ...fields].map((key) => valueOf(before, key))] }
        : { sql: `NOT EXISTS (SELECT 1 FROM ${name} WHERE ${isId})`, args: [wanted] },
    );
  }

  /**
   * Reads a row, checks it, and has `write` commit its statements together with the one that requires the row to be
   * unchanged. Begins anew if another writer was faster. Throws `not_found`.
   */
  function change<Result>(
    query: Query,
    wanted: string,
    check: Check<Row> | undefined,
    write: (before: Row, isUnchanged: Statement) => Promise<Result>,
  ): Promise<Result> {
    return replaceState(`${what} ${wanted}`, async () => {
      // Read before the write, whose response may be lost: a read within it may see the state after it.
      const before = await read(query, wanted);
      await check?.(before);
      return await write(before, requireUnchanged(wanted, before));
    });
  }

  return {
    kind,
    show,
    idOf,

    /** Reads the rows that have one of some names or ids. */
    async readNamed(query: Query, names: readonly string[], ids: readonly string[]): Promise<Row[]> {
      const among = (values: readonly string[]) =>
        sql`(SELECT value FROM json_each(${JSON.stringify(values)}))`;
      const rows = await query.select().from(table as SQLiteTable)
        .where(or(inArray(columns.name ?? columns[id]!, among(names)), inArray(columns[id]!, among(ids))));
      return rows as Row[];
    },

    /** Reads a row by its id, if a condition holds. */
    find,
    /** The same. Throws `not_found`. */
    read,
    requireUnchanged,
    change,

    /** Returns the statements that store a row unless its id exists; with a condition over `?1` and so on, only if it holds. */
    insert(
      edit: Edit,
      row: Omit<Row, State> & Partial<Pick<Row, State>>,
      only: Condition = { sql: "true", args: [] },
    ): Statement[] {
      const { sql, args } = only;
      const keys = Object.keys(columns).filter((key) => (row as Record<string, unknown>)[key] !== undefined);
      const isNew = {
        sql: `(${sql}) AND NOT EXISTS (SELECT 1 FROM ${name} WHERE ${sqlOf(id)} = ?${args.length + 1})`,
        args: [...args, valueOf(row, id)],
      };
      return [
        // Before the row: its condition is that there is none.
        ...entry(edit, undefined, row, undefined, isNew),
        {
          sql: `INSERT INTO ${name} (${keys.map(sqlOf).join(", ")})
SELECT ${keys.map((_, index) => `?${args.length + index + 1}`).join(", ")} WHERE ${sql} ON CONFLICT (${
            sqlOf(id)
          }) DO NOTHING`,
          args: [...args, ...keys.map((key) => valueOf(row, key))],
        },
      ];
    },

    /** Returns the statements that replace the fields of a row that is still as it was. */
    update(edit: Edit, before: Row, fields: Fields, action?: AuditAction): Statement[] {
      const after = { ...before, ...fields, updatedAt: edit.now };
      return [
        ...entry(edit, before, after, action),
        { sql: update, args: [String(before[id]), ...changes.map((key) => valueOf(after, key))] },
      ];
    },

    /** Returns the fields that differ. */
    changed(before: Fields, after: Fields): Set<keyof Fields> {
      return new Set(fields.filter((key) => valueOf(before, key) !== valueOf(after, key)) as never[]);
    },

    /** Has `write` commit the statements that remove a row; with a check, only a row that has passed it. Throws `not_found`. */
    async remove(
      query: Query,
      edit: Edit,
      wanted: string,
      check: Check<Row> | undefined,
      write: (statements: Statement[]) => Promise<unknown>,
    ): Promise<void> {
      await change(query, wanted, check, (before, isUnchanged) =>
        write([
          isUnchanged,
          ...entry(edit, before, undefined),
          { sql: `DELETE FROM ${name} WHERE ${isId}`, args: [wanted] },
        ]));
    },
  };
}

/** Something that a program defines, under an id of its own or one that is derived from its name. */
export interface InCode<Input> {
  id: string;
  input: Input;
}

/**
 * Checks the definitions of a program, `rule_id` and the like beside their input, before any of them is stored.
 *
 * @throws {PurserError} `invalid` for an id of another form, and for an id that two of them have
 */
export async function readInCode<Input extends { name: string }>(
  given: readonly object[],
  { what, prefix, read }: { what: "rule" | "budget"; prefix: string; read: (given: object) => Input },
): Promise<InCode<Input>[]> {
  const form = new RegExp(`^${prefix}_[A-Za-z0-9_-]{1,64}$`);
  const byId = new Map<string, InCode<Input>>();
  for (const { [`${what}_id`]: own, ...rest } of given as readonly Record<string, unknown>[]) {
    const input = read(rest);
    const id = own === undefined ? await deriveId(prefix, input.name) : String(own);
    if (!form.test(id)) {
      throw new PurserError(
        "invalid",
        `Cannot use ${what} id ${JSON.stringify(id)}: it has to look like ${prefix}_daily`,
      );
    }
    if (byId.has(id)) {
      throw new PurserError(
        "invalid",
        `Cannot use two ${what}s named ${input.name}: give them a ${what}_id each`,
      );
    }
    byId.set(id, { id, input });
  }
  return [...byId.values()];
}

/** Derives the same id from a name in every process. */
export async function deriveId(prefix: string, name: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
  return `${prefix}_${toHex(new Uint8Array(digest)).slice(0, 26)}`;
}
