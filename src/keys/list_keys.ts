import type { KeyStatus } from "../contract/values.ts";
import { and, desc, eq, gt, isNotNull, isNull, lt, lte, or } from "drizzle-orm";
import { PurserError } from "../kernel/errors.ts";
import { tables } from "../store/mod.ts";
import { toApiKey } from "./api_key.ts";
import type { ApiKey } from "../contract/keys.ts";
import type { KeyContext } from "./context.ts";
import { readKey } from "./read_key.ts";

const { apiKeys } = tables;

/** Which keys are listed. */
export interface KeyFilter {
  limit: number;
  status?: KeyStatus;
  /** The last one of the page before. */
  before?: { createdAt: number; keyId: string };
}

/** Keys, newest first; the revoked and the expired ones too. */
export async function listKeys(
  { query, clock }: Pick<KeyContext, "query" | "clock">,
  { limit, status, before }: KeyFilter,
): Promise<ApiKey[]> {
  const now = clock.now();
  const { createdAt, keyId } = apiKeys;
  const rows = await query.select().from(apiKeys).where(and(
    status && hasStatus(status, now),
    before &&
      or(lt(createdAt, before.createdAt), and(eq(createdAt, before.createdAt), lt(keyId, before.keyId))),
  )).orderBy(desc(createdAt), desc(keyId)).limit(limit);
  return rows.map((row) => toApiKey(row, now));
}

/** One key. Throws `not_found`. */
export async function getKey(
  { store, clock }: Pick<KeyContext, "store" | "clock">,
  keyId: string,
): Promise<ApiKey> {
  const row = await readKey(store, keyId);
  if (!row) throw keyNotFound(keyId);
  return toApiKey(row, clock.now());
}

/** The same as `statusOf()` says of a row. */
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

/** By its id alone: whoever puts a whole key in its place by mistake must not find it in an error. */
export function keyNotFound(keyId: string): PurserError {
  const named = /^key_\w{1,40}$/.test(keyId) ? ` ${keyId}` : "";
  return new PurserError("not_found", `Cannot find API key${named}; purser keys list tells the ids`);
}
