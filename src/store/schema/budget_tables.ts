import type { BudgetAction, BudgetEach, BudgetMode, BudgetPeriod } from "../../contract/values.ts";
import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import { flag, int, nanoUsd } from "./columns.ts";

export const budgets = sqliteTable("budgets", {
  budgetId: text("budget_id").primaryKey(),
  name: text("name").notNull(),
  limitNanoUsd: nanoUsd("limit_nano_usd").notNull(),
  per: text("per").$type<BudgetPeriod>().notNull(),
  /** '' for all, an agent, 'session ' and an id, 'key ' and an id. */
  scope: text("scope").notNull(),
  each: text("each").$type<BudgetEach>(),
  mode: text("mode").$type<BudgetMode>().notNull(),
  action: text("action").$type<BudgetAction>().notNull(),
  warnAt: text("warn_at", { mode: "json" }).$type<number[]>().notNull(),
  countsFrom: int("counts_from"),
  allowUnpriced: flag("allow_unpriced").notNull(),
  enabled: flag("enabled").notNull(),
  createdAt: int("created_at").notNull(),
  updatedAt: int("updated_at").notNull(),
  refusedCalls: int("refused_calls").notNull(),
  lastRefusedAt: int("last_refused_at"),
});

export const budgetRaises = sqliteTable("budget_raises", {
  raiseId: text("raise_id").primaryKey(),
  budgetId: text("budget_id").notNull(),
  extraNanoUsd: nanoUsd("extra_nano_usd").notNull(),
  /** Null for no end. */
  until: int("until"),
  reason: text("reason"),
  keyId: text("key_id"),
  createdAt: int("created_at").notNull(),
});

export const reservations = sqliteTable("reservations", {
  /** As of a budget, and 'run ' and an id. */
  scope: text("scope").notNull(),
  at: int("at").notNull(),
  reservationId: text("reservation_id").notNull(),
  worstNanoUsd: nanoUsd("worst_nano_usd").notNull(),
  estimateNanoUsd: nanoUsd("estimate_nano_usd").notNull(),
  strictness: int("strictness").notNull(),
  spentNanoUsd: nanoUsd("spent_nano_usd").notNull(),
  headroomNanoUsd: nanoUsd("headroom_nano_usd").notNull(),
  isLost: flag("is_lost").notNull(),
  expiresAt: int("expires_at").notNull(),
  /** True if its bound counts until the call is booked, also after the end of the lease. */
  isHeld: flag("is_held").notNull(),
  agentId: text("agent_id"),
  sessionId: text("session_id"),
  keyId: text("key_id"),
});

export const budgetReleases = sqliteTable("budget_releases", {
  releaseId: text("release_id").primaryKey(),
  budgetId: text("budget_id").notNull(),
  reservationIds: text("reservation_ids", { mode: "json" }).$type<string[]>().notNull(),
  releasedNanoUsd: nanoUsd("released_nano_usd").notNull(),
  reason: text("reason").notNull(),
  keyId: text("key_id"),
  createdAt: int("created_at").notNull(),
});

/** The keys that may spend no more of a strict budget in its window: see calls/overshoots.ts. */
export const overshoots = sqliteTable("overshoots", {
  budgetId: text("budget_id").notNull(),
  scope: text("scope").notNull(),
  /** Empty without a key. */
  keyId: text("key_id").notNull(),
  at: int("at").notNull(),
});
