import { checkTags, sortTags, type Tags } from "../contract/tags/tags.ts";
import { type KeyStatus, type Scope, SCOPES } from "../contract/values.ts";
import { invalidField, PurserError } from "../kernel/errors.ts";
import { KEY_OF_CAPTURE } from "../kernel/ids.ts";
import type { ApiKey } from "../contract/keys.ts";
import type { KeyContext } from "./context.ts";
import { hashSecret, newSecret, writeKeyText } from "./key_text.ts";
import { countSessions, readKey } from "./key_rows.ts";
import { and, eq, gt, isNotNull, isNull, lte, or } from "drizzle-orm";
import {
  type Author,
  type Check,
  ConstraintError,
  defineAuthored,
  newestFirst,
  replaceState,
  requireThat,
  type Statement,
  tables,
  type TimePosition,
} from "../store/mod.ts";
import { toIso } from "../kernel/clock.ts";

export type KeyRow = typeof tables.apiKeys.$inferSelect;

/** Returns the status of a key at a time. */
export function statusOf(
  { revokedAt, expiresAt }: Pick<KeyRow, "revokedAt" | "expiresAt">,
  now: number,
): KeyStatus {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt <= now ? "expired" : "active";
}

/** Converts a row to wire form, with the number of its sessions. */
function toApiKey(row: KeyRow, now: number, sessions = 0): ApiKey {
  const time = (at: number | null) => at === null ? null : toIso(at);
  return {
    key_id: row.keyId,
    name: row.name,
    scopes: orderScopes(row.scopes),
    agent_id: row.agentId,
    models: row.models,
    status: statusOf(row, now),
    created_at: toIso(row.createdAt),
    expires_at: time(row.expiresAt),
    last_used_at: time(row.lastUsedAt),
    revoked_at: time(row.revokedAt),
    ...(row.rotatedAt !== null && { rotated_at: toIso(row.rotatedAt) }),
    ...(row.previousUntil !== null && row.previousUntil > now && {
      previous_valid_until: toIso(row.previousUntil),
    }),
    stop_before_credits: row.stopBeforeCredits,
    tags: row.tags ?? {},
    web_sessions: statusOf(row, now) === "active" ? sessions : 0,
  };
}

/** Returns whether the scopes include one of the needed ones, or `admin`. */
export function allows(scopes: readonly Scope[], needed: readonly Scope[]): boolean {
  return scopes.includes("admin") || needed.some((scope) => scopes.includes(scope));
}

/** Returns each scope once, in the order of `SCOPES`. */
function orderScopes(scopes: readonly Scope[]): Scope[] {
  return SCOPES.filter((scope) => scopes.includes(scope));
}

/** A key to create. */
export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  /** The only agent that the key grants access to; null for all. */
  agentId: string | null;
  /** The models that it may call through the gateway, or patterns of them that end with `*`; null for all. */
  models?: readonly string[] | null;
  /** The expiry, in milliseconds since the epoch; null for none. */
  expiresAt: number | null;
  isOfCapture?: true; // made for one command: a database without other keys stays open
  /** Refuses calls through the gateway that would spend the paid credits of a plan whose quota has ended. */
  stopBeforeCredits?: boolean;
  /** The tags of its calls. */
  tags?: Tags;
}

/** SQL for the condition that a key is active at a time. */
export const isActive = (now: string) => `revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`;

/** The statements of API keys. */
export const KEYS = defineAuthored(tables.apiKeys, {
  what: "API key",
  kind: "key",
  id: "keyId",
  state: ["lastUsedAt"],
  show: ({ name, scopes, agentId, models, expiresAt, stopBeforeCredits, tags }) => ({
    name,
    scopes: orderScopes(scopes),
    agent_id: agentId,
    models,
    expires_at: expiresAt === null ? null : toIso(expiresAt),
    stop_before_credits: stopBeforeCredits,
    tags: tags ?? {},
  }),
});

type EditContext = Pick<KeyContext, "store" | "clock" | "keyCache"> & {
  /** Who changes keys, for the audit log. */
  author: Author;
};

const IS_NAME_FREE = `NOT EXISTS (SELECT 1 FROM api_keys WHERE name = ?1 AND ${isActive("?2")})`;
const NAMESAKE = `SELECT key_id FROM api_keys WHERE name = ?1 AND key_id <> ?2 AND ${isActive("?3")} LIMIT 1`;

/**
 * Creates a key. Its text is only in the result; the database has a hash of its secret part. From the first key on,
 * authentication is required.
 *
 * @throws {PurserError} `invalid` without a name or scope, for an expiry in the past, and for `admin` limited to one agent;
 * `conflict` where an active key has the name: with a second one, a person's spending would begin at 0 again
 */
export async function createKey(
  ctx: EditContext & Pick<KeyContext, "ids">,
  { isOfCapture, ...input }: NewKey,
  secret: string = newSecret(),
): Promise<ApiKey & { key: string }> {
  const now = ctx.clock.now();
  check(input, now);
  const row = {
    ...input,
    models: input.models ? [...input.models] : null,
    stopBeforeCredits: input.stopBeforeCredits ?? false,
    tags: toStoredTags(input.tags ?? {}),
    scopes: orderScopes(input.scopes),
    keyId: ctx.ids.next("key").replace("key_", isOfCapture ? KEY_OF_CAPTURE : "key_"),
    hash: hashSecret(secret),
    createdAt: now,
    lastUsedAt: null,
    revokedAt: null,
    ...{ rotatedAt: null, previousHash: null, previousUntil: null },
  };
  try {
    await ctx.store.write([
      requireThat({ sql: IS_NAME_FREE, args: [row.name, now] }),
      ...KEYS.insert({ author: ctx.author, now }, row),
    ]);
  } catch (error) {
    throw error instanceof ConstraintError ? await nameTaken(ctx, "make the API key", row) : error;
  }
  if (!isOfCapture) ctx.keyCache.recordCreation();
  return { ...toApiKey(row, now), key: writeKeyText(row.keyId, secret) };
}

async function nameTaken(
  { store, clock }: Pick<KeyContext, "store" | "clock">,
  action: string,
  { keyId, name }: Pick<KeyRow, "keyId" | "name">,
): Promise<PurserError> {
  const { rows: [other] } = await store.read({ sql: NAMESAKE, args: [name, keyId, clock.now()] });
  const id = other === undefined ? "another key" : String(other[0]);
  return new PurserError(
    "conflict",
    `Cannot ${action}: the active key ${id} has the name ${
      JSON.stringify(name)
    }; give it a new secret with ` +
      "purser keys rotate, or use another name",
    { details: other === undefined ? {} : { key_id: id } },
  );
}

function check({ name, scopes, agentId, models, expiresAt, stopBeforeCredits }: NewKey, now: number): void {
  if (name.trim() === "") throw invalid("name", "it needs a name that can be seen");
  if (scopes.length === 0) throw invalid("scopes", "it needs at least one scope");
  if (agentId !== null && scopes.includes("admin")) {
    throw invalid("scopes", "a key of one agent can't have the scope admin, which is about all of them");
  }
  if (agentId !== null && scopes.includes("approve")) {
    throw invalid("scopes", "a key of one agent can't have the scope approve; narrow it by tags");
  }
  if (models != null && !allows(scopes, ["call"])) {
    throw invalid("models", "models are for keys with the scope call");
  }
  if (stopBeforeCredits) checkCredits(scopes);
  if (expiresAt !== null && expiresAt <= now) throw invalid("expires_at", "it would have expired already");
}

function checkCredits(scopes: readonly Scope[]): void {
  if (allows(scopes, ["call"])) return;
  throw invalid("stop_before_credits", "credits are for keys with the scope call");
}

/** Returns tags as they are stored. Throws `invalid` for those that can't be tags. */
function toStoredTags(tags: Tags): Tags | null {
  checkTags(tags, "the API key");
  return Object.keys(tags).length === 0 ? null : sortTags(tags);
}

/**
 * Changes the tags of a key's further calls, its expiry, or whether it stops before it spends a plan's paid credits: at once in this
 * process, within `KEY_CACHE_MS` in others. With a check, only the key that has passed it is changed.
 *
 * @throws {PurserError} `not_found`; `invalid` for tags that can't be any, credits of a key without the scope `call`, and an expiry
 * in the past; `conflict` for a new expiry of a revoked key, or of an expired one whose name an active key has meanwhile
 */
export async function changeKey(
  ctx: EditContext,
  keyId: string,
  changes: Partial<Pick<NewKey, "stopBeforeCredits" | "tags" | "expiresAt">>,
  check?: Check<ApiKey>,
): Promise<ApiKey> {
  await replaceState(`API key ${keyId}`, async () => {
    const now = ctx.clock.now();
    const before = await readKey(ctx.store, keyId);
    if (!before) throw keyNotFound(keyId);
    await check?.(toApiKey(before, now));
    const { stopBeforeCredits = before.stopBeforeCredits, expiresAt = before.expiresAt } = changes;
    const tags = changes.tags === undefined ? before.tags : toStoredTags(changes.tags);
    if (changes.stopBeforeCredits) checkCredits(before.scopes);
    const isRenewed = changes.expiresAt !== undefined;
    if (isRenewed && before.revokedAt !== null) {
      throw new PurserError(
        "conflict",
        `Cannot change the expiry of API key ${keyId}: it was revoked, which is permanent`,
      );
    }
    await ctx.store.write([
      KEYS.requireUnchanged(keyId, before),
      ...isRenewed ? await renew(ctx, before, expiresAt, now) : [],
      ...KEYS.update({ author: ctx.author, now }, before, { ...before, stopBeforeCredits, tags, expiresAt }),
    ]);
  });
  ctx.keyCache.clear();
  return await getKey(ctx, keyId);
}

/**
 * Returns the conditions of a new expiry: an expired key becomes active again, unless another one has its name.
 *
 * @throws {PurserError} `invalid` for an expiry in the past; `conflict` for such a name
 */
async function renew(
  ctx: EditContext,
  key: KeyRow,
  expiresAt: number | null,
  now: number,
): Promise<Statement[]> {
  if (expiresAt !== null && expiresAt <= now) throw invalid("expires_at", "it would have expired already");
  if (statusOf(key, now) !== "expired") return [];
  const args = [key.name, key.keyId, now];
  const { rows: [has] } = await ctx.store.read({ sql: `SELECT ${HAS_NAMESAKE}`, args });
  if (has![0] === 1n) throw await nameTaken(ctx, `give API key ${key.keyId} a new expiry`, key);
  return [requireThat({ sql: `NOT ${HAS_NAMESAKE}`, args })];
}

function invalid(path: string, message: string): PurserError {
  return invalidField(path, message, `Cannot make the API key: ${message}`);
}

const { apiKeys } = tables;

/** A filter of keys. */
export interface KeyFilter {
  limit: number;
  status?: KeyStatus;
  /** The only key. */
  keyId?: string | undefined;
  /** The exact name. */
  name?: string;
  /** The last key of the previous page. */
  before?: TimePosition | undefined;
}

const LIST = newestFirst(apiKeys.createdAt, apiKeys.keyId);

/** Lists keys, newest first, including revoked and expired ones. */
export async function listKeys(
  ctx: Pick<KeyContext, "store" | "query" | "clock">,
  { limit, status, keyId, name, before }: KeyFilter,
): Promise<ApiKey[]> {
  const now = ctx.clock.now();
  const rows = await ctx.query.select().from(apiKeys).where(and(
    status && hasStatus(status, now),
    keyId === undefined ? undefined : eq(apiKeys.keyId, keyId),
    name === undefined ? undefined : eq(apiKeys.name, name),
    LIST.from(before),
  )).orderBy(...LIST.order).limit(limit);
  const sessions = await countSessions(ctx, rows.map(({ keyId }) => keyId));
  return rows.map((row) => toApiKey(row, now, sessions.get(row.keyId)));
}

/** Returns one key. Throws `not_found`. */
export async function getKey(ctx: Pick<KeyContext, "store" | "clock">, keyId: string): Promise<ApiKey> {
  const row = await readKey(ctx.store, keyId);
  if (!row) throw keyNotFound(keyId);
  const sessions = await countSessions(ctx, [keyId]);
  return toApiKey(row, ctx.clock.now(), sessions.get(keyId));
}

/** SQL for the same status that `statusOf()` returns. */
function hasStatus(status: KeyStatus, now: number) {
  const { revokedAt, expiresAt } = apiKeys;
  switch (status) {
    case "revoked":
      return isNotNull(revokedAt);
    case "expired":
      return and(isNull(revokedAt), lte(expiresAt, now));
    case "active":
      return and(isNull(revokedAt), or(isNull(expiresAt), gt(expiresAt, now)));
  }
}

/** Returns the error for an unknown id, but without a text that may be a whole key passed by mistake. */
function keyNotFound(keyId: string): PurserError {
  const named = /^key_\w{1,40}$/.test(keyId) ? ` ${keyId}` : "";
  return new PurserError("not_found", `Cannot find API key${named}; purser keys list shows the ids`);
}

/**
 * Revokes a key: at once in this process, within `KEY_CACHE_MS` in others on the same database. A key that is revoked already
 * stays as it is. Throws `not_found`.
 */
export async function revokeKey(ctx: EditContext, keyId: string): Promise<void> {
  await replaceState(`API key ${keyId}`, async () => {
    const now = ctx.clock.now();
    const before = await readKey(ctx.store, keyId);
    if (!before) throw keyNotFound(keyId);
    const revoked = { ...before, revokedAt: now };
    await ctx.store.write([
      KEYS.requireUnchanged(keyId, before),
      ...before.revokedAt === null
        ? KEYS.update({ author: ctx.author, now }, before, revoked, "revoked")
        : [],
      { sql: "DELETE FROM web_sessions WHERE key_id = ?", args: [keyId] },
      { sql: "DELETE FROM web_codes WHERE key_id = ?", args: [keyId] },
    ]);
  });
  ctx.keyCache.clear();
}

/** A new secret for a key. */
export interface Rotation {
  /** The time for which the present secret is accepted beside the new one. */
  graceMs?: number;
  /** The new expiry, null for none; undefined: unchanged. */
  expiresAt?: number | null;
}

const HAS_NAMESAKE = `EXISTS (SELECT 1 FROM api_keys WHERE name = ?1 AND key_id <> ?2 AND ${isActive("?3")})`;

/**
 * Gives a key a new secret, whose text is only in the result; its id, budgets and permissions stay. The secret before ends at
 * once, or after a time; the key's sessions of the dashboard end. With a check, only the key that has passed it is changed.
 *
 * @throws {PurserError} `not_found`; `conflict` for a revoked key, and for an expired one that gets no new expiry, or whose
 * name an active key has meanwhile; `invalid` for an expiry in the past
 */
export async function rotateKey(
  ctx: EditContext,
  keyId: string,
  { graceMs = 0, expiresAt }: Rotation = {},
  check?: Check<ApiKey>,
  secret: string = newSecret(),
): Promise<ApiKey & { key: string }> {
  return await replaceState(`API key ${keyId}`, async () => {
    const now = ctx.clock.now();
    const before = await readKey(ctx.store, keyId);
    if (!before) throw keyNotFound(keyId);
    await check?.(toApiKey(before, now));
    const status = statusOf(before, now);
    const refuse = (state: string) =>
      new PurserError("conflict", `Cannot give API key ${keyId} a new secret: ${state}`);
    if (status === "revoked") throw refuse("it was revoked, which is permanent; make a new key");
    if (status === "expired" && expiresAt === undefined) {
      throw refuse(`it expired at ${toIso(before.expiresAt!)}; give it a new expiry too`);
    }
    const renewal = expiresAt === undefined ? [] : await renew(ctx, before, expiresAt, now);
    const row: KeyRow = {
      ...before,
      hash: hashSecret(secret),
      previousHash: before.hash,
      previousUntil: now + graceMs,
      rotatedAt: now,
      expiresAt: expiresAt === undefined ? before.expiresAt : expiresAt,
    };
    await ctx.store.write([
      KEYS.requireUnchanged(keyId, before),
      ...renewal,
      ...KEYS.update({ author: ctx.author, now }, before, row, "rotated"),
      { sql: "DELETE FROM web_sessions WHERE key_id = ?", args: [keyId] },
      { sql: "DELETE FROM web_codes WHERE key_id = ?", args: [keyId] },
    ]);
    ctx.keyCache.clear();
    return { ...toApiKey(row, now), key: writeKeyText(keyId, secret) };
  });
}
