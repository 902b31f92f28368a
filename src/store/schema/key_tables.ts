import type { Scope } from "../../contract/values.ts";
import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import { int } from "./columns.ts";

export const apiKeys = sqliteTable("api_keys", {
  keyId: text("key_id").primaryKey(),
  name: text("name").notNull(),
  /** SHA-256 of the secret part, in hex. */
  hash: text("hash").notNull(),
  scopes: text("scopes", { mode: "json" }).$type<Scope[]>().notNull(),
  /** The only agent that it reaches; null for all. */
  agentId: text("agent_id"),
  createdAt: int("created_at").notNull(),
  expiresAt: int("expires_at"),
  lastUsedAt: int("last_used_at"),
  revokedAt: int("revoked_at"),
  /** The models that it may call through the gateway; null for all. */
  models: text("models", { mode: "json" }).$type<string[]>(),
  rotatedAt: int("rotated_at"),
  /** The hash of the secret before the present one, which is accepted until `previousUntil`. */
  previousHash: text("previous_hash"),
  previousUntil: int("previous_until"),
});
