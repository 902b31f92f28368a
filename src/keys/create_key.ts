import type { Scope } from "../contract/values.ts";
import { PurserError } from "../kernel/errors.ts";
import { toApiKey } from "./api_key.ts";
import type { ApiKey } from "../contract/keys.ts";
import type { KeyContext } from "./context.ts";
import { hashSecret } from "./hash_secret.ts";
import { newSecret, writeKeyText } from "./key_text.ts";
import { orderScopes } from "./scopes.ts";

/** A key that is to be made. */
export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  /** The only agent that it is to reach; null for all. */
  agentId: string | null;
  /** When it ends, in milliseconds since the epoch; null for never. */
  expiresAt: number | null;
}

const INSERT = `INSERT INTO api_keys (key_id, name, hash, scopes, agent_id, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?)`;

/**
 * Makes a key. Its text is in the answer and nowhere else; the database has a hash of its secret part. From the first
 * key on, keys are asked for.
 *
 * @throws {PurserError} `invalid` when it has no name, could do nothing, has ended already, or is one agent's and `admin`
 */
export async function createKey(
  ctx: Pick<KeyContext, "store" | "clock" | "ids" | "keyMemory">,
  input: NewKey,
  secret: string = newSecret(),
): Promise<ApiKey & { key: string }> {
  const now = ctx.clock.now();
  check(input, now);
  const row = {
    ...input,
    scopes: orderScopes(input.scopes),
    keyId: ctx.ids.next("key"),
    hash: hashSecret(secret),
    createdAt: now,
    lastUsedAt: null,
    revokedAt: null,
  };
  await ctx.store.write([{
    sql: INSERT,
    args: [row.keyId, row.name, row.hash, JSON.stringify(row.scopes), row.agentId, now, row.expiresAt],
  }]);
  ctx.keyMemory.noteCreation();
  return { ...toApiKey(row, now), key: writeKeyText(row.keyId, secret) };
}

function check({ name, scopes, agentId, expiresAt }: NewKey, now: number): void {
  if (name.trim() === "") throw invalid("name", "it needs a name that can be seen");
  if (scopes.length === 0) throw invalid("scopes", "it needs at least one scope");
  if (agentId !== null && scopes.includes("admin")) {
    throw invalid("scopes", "a key of one agent can't have the scope admin, which is about all of them");
  }
  if (expiresAt !== null && expiresAt <= now) throw invalid("expires_at", "it would have expired already");
}

function invalid(path: string, message: string): PurserError {
  return new PurserError("invalid", `Cannot make the API key: ${message}`, {
    details: { issues: [{ path, message }] },
  });
}
