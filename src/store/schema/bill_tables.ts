import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { CostStatement } from "../../contract/statements.ts";
import { flag, int, nanoUsd } from "./ledger_tables.ts";

/* The tables of providers' bills; see the migration. */

export const billImports = sqliteTable("bill_imports", {
  importId: text("import_id").primaryKey(),
  source: text("source").notNull(),
  account: text("account").notNull(),
  status: text("status").$type<"in_progress" | "done" | "failed">().notNull(),
  fromAt: int("from_at").notNull(),
  toAt: int("to_at").notNull(),
  queryHash: text("query_hash").notNull(),
  page: text("page"),
  sha256: text("sha256"),
  refreshedAt: int("refreshed_at"),
  lines: int("lines").notNull(),
  newLines: int("new_lines").notNull(),
  revisedLines: int("revised_lines").notNull(),
  unknown: text("unknown", { mode: "json" }).$type<Record<string, number>>().notNull(),
  error: text("error"),
  createdAt: int("created_at").notNull(),
  endedAt: int("ended_at"),
});

export const billLines = sqliteTable("bill_lines", {
  position: int("position").primaryKey(),
  source: text("source").notNull(),
  account: text("account").notNull(),
  importId: text("import_id").notNull(),
  state: text("state").$type<"staged" | "current" | "replaced" | "closed" | "reversal">().notNull(),
  naturalKey: text("natural_key").notNull(),
  content: text("content").notNull(),
  revision: int("revision").notNull(),
  replacedBy: text("replaced_by"),
  month: text("month").notNull(),
  series: text("series").notNull(),
  category: text("category").notNull(),
  startsAt: int("starts_at").notNull(),
  endsAt: int("ends_at").notNull(),
  responseId: text("response_id"),
  model: text("model"),
  part: text("part"),
  sku: text("sku"),
  credential: text("credential"),
  project: text("project"),
  actor: text("actor"),
  serviceTier: text("service_tier"),
  region: text("region"),
  speed: text("speed"),
  context: text("context"),
  isBatch: flag("is_batch"),
  other: text("other", { mode: "json" }).$type<Record<string, string>>(),
  quantity: text("quantity"),
  unit: text("unit"),
  amount: text("amount"),
  listAmount: text("list_amount"),
  amountNanoUsd: nanoUsd("amount_nano_usd"),
  listNanoUsd: nanoUsd("list_nano_usd"),
  currency: text("currency"),
  isEquivalent: flag("is_equivalent").notNull(),
});

/** The statements that were issued; see the migration. */
export const statements = sqliteTable("statements", {
  month: text("month").notNull(),
  byTag: text("by_tag").notNull(),
  version: int("version").notNull(),
  document: text("document", { mode: "json" }).$type<CostStatement>().notNull(),
});
