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

export const budgetReleases = sqliteTable("budget_releases", {
  releaseId: text("release_id").primaryKey(),
  budgetId: text("budget_id").notNull(),
  reservationIds: text("reservation_ids", { mode: "json" }).$type<string[]>().notNull(),
  releasedNanoUsd: nanoUsd("released_nano_usd").notNull(),
  reason: text("reason").notNull(),
  keyId: text("key_id"),
  createdAt: int("created_at").notNull(),
});
