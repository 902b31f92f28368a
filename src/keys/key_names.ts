import type { Clock } from "../kernel/clock.ts";
import { invalidField } from "../kernel/errors.ts";
import { nearestName } from "../kernel/nearest_name.ts";
import type { KeyStatus } from "../contract/values.ts";
import { ALL_SEEING, type Viewer } from "../ledger/mod.ts";
import type { SqlValue, Store } from "../store/mod.ts";
import { statusOf } from "./api_keys.ts";

/* The names of keys: people name a key by its name or its id, and are shown its name. */

type StoreContext = { store: Pick<Store, "read"> };
type NameContext = StoreContext & { clock: Pick<Clock, "now"> };

const NAMES = "SELECT key_id, name FROM api_keys WHERE key_id IN (SELECT value FROM json_each(?))";

/** Reads the names of keys by id; those that the viewer may not know have no entry. */
export async function readKeyNames(
  { store }: StoreContext,
  keyIds: Iterable<string | null | undefined>,
  viewer: Viewer = ALL_SEEING,
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(keyIds)].filter((id) => id && viewer.sees({ keyId: id }));
  if (ids.length === 0) return new Map();
  const { rows } = await store.read({ sql: NAMES, args: [JSON.stringify(ids)] });
  return new Map(rows as [string, string][]);
}

/** A key as its name, id and status. */
export interface NamedKey {
  keyId: string;
  name: string;
  status: KeyStatus;
}

const FIND = "SELECT key_id, name, revoked_at, expires_at FROM api_keys WHERE key_id = ?1 OR name = ?1";

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
  { path, viewer = ALL_SEEING }: { path: string; viewer?: Viewer },
): Promise<NamedKey> {
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

function toNamedKey([keyId, name, revokedAt, expiresAt]: readonly SqlValue[], now: number): NamedKey {
  const time = (value: SqlValue | undefined) => value == null ? null : Number(value);
  return {
    keyId: keyId as string,
    name: name as string,
    status: statusOf({ revokedAt: time(revokedAt), expiresAt: time(expiresAt) }, now),
  };
}
