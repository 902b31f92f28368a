import type { Clock } from "../kernel/clock.ts";
import { invalidField } from "../kernel/errors.ts";
import { nearestName } from "../kernel/nearest_name.ts";
import type { Tags } from "../contract/tags/tags.ts";
import type { KeyStatus } from "../contract/values.ts";
import type { NameFields, WithFields } from "../contract/costs/dimensions.ts";
import {
  ALL_SEEING,
  entityOf,
  idInScope,
  keyScopeIn,
  scopeOf,
  scopeSql,
  type Viewer,
} from "../ledger/mod.ts";
import type { SqlValue, Store } from "../store/mod.ts";
import { statusOf } from "./api_keys.ts";

/* The names of values of dimensions. Keys alone have one: people name a key by its name or its id, and are shown its name. */

type StoreContext = { store: Pick<Store, "read"> };
type NameContext = StoreContext & { clock: Pick<Clock, "now"> };

const NAMES = `SELECT ${scopeSql("key", "key_id")}, name, tags ->> 'user', revoked_at FROM api_keys
WHERE key_id IN (SELECT ${idInScope("key", "value")} FROM json_each(?))`;

/** Names by scope, the persons of keys, by their tag `user`, and the scopes of revoked keys. */
export interface Names extends ReadonlyMap<string, string> {
  readonly users?: ReadonlyMap<string, string>;
  readonly revoked?: ReadonlySet<string>;
}

/** Reads the names of the values in scopes. What the viewer may not know has no entry. */
export async function readNames(
  { store }: StoreContext,
  scopes: Iterable<string | null | undefined>,
  viewer: Viewer = ALL_SEEING,
): Promise<Names> {
  const isWanted = (scope: string) => isOfKey(scope) && (viewer.seesAll || viewer.scopes.includes(scope));
  const wanted = [...new Set([...scopes].map((scope) => scope && keyScopeIn(scope)))]
    .filter((scope) => scope && isWanted(scope));
  if (wanted.length === 0) return new Map();
  const { rows } = await store.read({ sql: NAMES, args: [JSON.stringify(wanted)] });
  const users = rows.flatMap(([scope, , user]) => user === null ? [] : [[scope, user] as [string, string]]);
  const revoked = rows.flatMap(([scope, , , revokedAt]) => revokedAt === null ? [] : scope as string);
  const names = new Map(rows as unknown as [string, string][]);
  return Object.assign(names, { users: new Map(users), revoked: new Set(revoked) });
}

const isOfKey = (scope: string) => entityOf(scope)?.kind === "key";

/** Returns the fields with the name of the value in a scope, null if it isn't among the names; none for what has no name. */
export function nameField(names: Names, scope: string | null | undefined): NameFields {
  const ofKey = scope ? keyScopeIn(scope) : "";
  if (!isOfKey(ofKey)) return {};
  const user = names.users?.get(ofKey);
  return { key_name: names.get(ofKey) ?? null, ...(user !== undefined && { key_user: user }) };
}

/** SQL for the name of a value; undefined for a kind of values without names. */
export const nameSql = (kind: string | null | undefined, id: string): string | undefined =>
  kind === "key" ? `(SELECT k.name FROM api_keys k WHERE k.key_id = ${id})` : undefined;

/** Adds the names of the values in rows; to a row without a value, nothing. */
export async function withNames<Row extends WithFields>(
  ctx: StoreContext,
  rows: readonly Row[],
  viewer?: Viewer,
): Promise<(Row & NameFields)[]> {
  const scopes = rows.map(({ key_id }) => key_id == null ? null : scopeOf("key", key_id));
  const names = await readNames(ctx, scopes, viewer);
  return rows.map((row, index) => ({ ...row, ...nameField(names, scopes[index]) }));
}

/** A key as its name, id and status. */
export interface NamedKey {
  keyId: string;
  name: string;
  status: KeyStatus;
  /** The tags that all its calls bear; undefined for none. */
  tags?: Tags;
}

const FIND = "SELECT key_id, name, revoked_at, expires_at, tags FROM api_keys WHERE key_id = ?1 OR name = ?1";

/** The most names among which the nearest one is searched. */
const MAX_NAMES = 5_000;
const ALL = `SELECT name FROM api_keys ORDER BY created_at DESC LIMIT ${MAX_NAMES}`;
const OWN = "SELECT name FROM api_keys WHERE key_id = ?";

/**
 * Finds a key by its id or its name. An id counts before a name, and an active key before others of its name.
 *
 * @throws {PurserError} `invalid`, naming the field, for a key that is not known, with the nearest name, and for a name that
 * several keys have, with their ids
 */
export async function findKey(
  { store, clock }: NameContext,
  text: string,
  viewer: Viewer = ALL_SEEING,
): Promise<NamedKey> {
  const path = "key_id";
  const { rows } = await store.read({ sql: FIND, args: [text] });
  const now = clock.now();
  const found = rows.map((row) => toNamedKey(row, now))
    .filter(({ keyId }) => viewer.sees({ keyId }));
  const byId = found.find(({ keyId }) => keyId === text);
  if (byId) return byId;
  const active = found.filter(({ status }) => status === "active");
  const named = active.length > 0 ? active : found;
  const [key, ...others] = named;
  if (key && others.length === 0) return key;
  if (key) {
    const ids = named.map(({ keyId, status }) => status === "active" ? keyId : `${keyId} (${status})`);
    throw invalidField(
      path,
      `${named.length} keys are named ${JSON.stringify(text)}; give the id of one: ${ids.join(", ")}`,
    );
  }
  // Not repeated: it may be a whole key, sent by mistake.
  if (text.startsWith("psr_")) throw invalidField(path, "that is a key itself; give its name or its id");
  const { rows: names } = await store.read(
    viewer.seesAll ? { sql: ALL } : { sql: OWN, args: [viewer.keyId] },
  );
  const near = nearestName(text, names.map(([name]) => name as string));
  throw invalidField(
    path,
    `no API key has the name or the id ${JSON.stringify(text)}${
      near === undefined ? "; purser keys list shows them" : `; did you mean ${JSON.stringify(near)}?`
    }`,
  );
}

/** Returns the id of a value that people name by its name or id. Throws `invalid`, as `findKey()`. */
export const idOf = async (ctx: NameContext, kind: string, text: string, viewer?: Viewer): Promise<string> =>
  kind === "key" ? (await findKey(ctx, text, viewer)).keyId : text;

function toNamedKey([keyId, name, revokedAt, expiresAt, tags]: readonly SqlValue[], now: number): NamedKey {
  const time = (value: SqlValue | undefined) => value == null ? null : Number(value);
  return {
    keyId: keyId as string,
    name: name as string,
    status: statusOf({ revokedAt: time(revokedAt), expiresAt: time(expiresAt) }, now),
    ...(tags != null && { tags: JSON.parse(tags as string) as Tags }),
  };
}
