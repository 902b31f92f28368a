import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Tags } from "../../contract/tags/tags.ts";
import type {
  AlertEvent,
  ASK_THRESHOLD,
  AuditAction,
  AuditActor,
  AuditKind,
  BudgetAction,
  BudgetEach,
  BudgetMode,
  BudgetPeriod,
  BudgetThreshold,
  DeliveryStatus,
  Repeat,
  RuleThreshold,
  Scope,
  Severity,
  TicketState,
} from "../../contract/values.ts";
import { flag, int, nanoUsd } from "./ledger_tables.ts";

/* The tables: here those of limits, keys, alerts and the audit log; those of agents and the ledger are in ledger_tables.ts. */
export {
  agents,
  type CallDetails,
  calls,
  callTags,
  events,
  messages,
  priceRows,
  prices,
  repricingModels,
  repricings,
  runs,
  sessions,
  sightings,
  upstreams,
} from "./ledger_tables.ts";
export { billImports, billLines, statements } from "./bill_tables.ts";

export const budgets = sqliteTable("budgets", {
  budgetId: text("budget_id").primaryKey(),
  name: text("name").notNull(),
  limitNanoUsd: nanoUsd("limit_nano_usd").notNull(),
  per: text("per").$type<BudgetPeriod>().notNull(),
  /** '' for all, an agent, 'session ' and an id, 'key ' and an id; or of several subjects: see ledger/scopes/subjects.ts. */
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
  shape: text("shape"),
  /** Null for the windows of UTC: see ledger/calendars.ts. */
  calendar: text("calendar"),
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
  /** The counter that it is for; null for all of them. */
  scope: text("scope"),
});

export const budgetTickets = sqliteTable("budget_tickets", {
  ticketId: text("ticket_id").primaryKey(),
  budgetId: text("budget_id").notNull(),
  /** The counter that is asked for. */
  scope: text("scope").notNull(),
  /** As it is stored: one that waits has expired from `expiresAt` on. */
  state: text("state").$type<TicketState>().notNull(),
  askedNanoUsd: nanoUsd("asked_nano_usd").notNull(),
  /** The most that the call can cost in mode strict, else its estimate. */
  costNanoUsd: nanoUsd("cost_nano_usd").notNull(),
  agentId: text("agent_id").notNull(),
  sessionId: text("session_id"),
  runId: text("run_id"),
  keyId: text("key_id"),
  provider: text("provider"),
  model: text("model"),
  tags: text("tags", { mode: "json" }).$type<Tags>(),
  askedAt: int("asked_at").notNull(),
  expiresAt: int("expires_at").notNull(),
  decidedAt: int("decided_at"),
  /** The name of its key then, or user@host. */
  decidedBy: text("decided_by"),
  decidedKeyId: text("decided_key_id"),
  reason: text("reason"),
  raiseId: text("raise_id"),
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
  /** Refuses calls that would spend a plan's paid credits. */
  stopBeforeCredits: flag("stop_before_credits").notNull(),
  /** The tags that its calls get; null for none. */
  tags: text("tags", { mode: "json" }).$type<Tags>(),
});

export const alertRules = sqliteTable("alert_rules", {
  ruleId: text("rule_id").primaryKey(),
  name: text("name").notNull(),
  thresholdType: text("threshold_type").$type<RuleThreshold>().notNull(),
  thresholdNanoUsd: nanoUsd("threshold_nano_usd").notNull(),
  severity: text("severity").$type<Severity>().notNull(),
  cooldownMs: int("cooldown_ms").notNull(),
  repeat: text("repeat").$type<Repeat>().notNull(),
  /** An agent, '' for all, or `by SHAPE VALUE …`; each and shape are as of a budget. */
  scope: text("scope").notNull(),
  enabled: flag("enabled").notNull(),
  lastFiredAt: int("last_fired_at"),
  createdAt: int("created_at").notNull(),
  updatedAt: int("updated_at").notNull(),
  isArmed: flag("is_armed").notNull(),
  cooldownFrom: int("cooldown_from"),
  restsUntil: int("rests_until"),
  isOver: flag("is_over").notNull(),
  calendar: text("calendar"),
  each: text("each").$type<BudgetEach>(),
  shape: text("shape"),
});

export const alerts = sqliteTable("alerts", {
  position: int("position").primaryKey(),
  alertId: text("alert_id").notNull(),
  ruleId: text("rule_id").notNull(),
  ruleName: text("rule_name").notNull(),
  thresholdType: text("threshold_type").$type<RuleThreshold | BudgetThreshold | typeof ASK_THRESHOLD>()
    .notNull(),
  thresholdNanoUsd: nanoUsd("threshold_nano_usd").notNull(),
  severity: text("severity").$type<Severity>().notNull(),
  valueNanoUsd: nanoUsd("value_nano_usd").notNull(),
  agentId: text("agent_id"),
  sessionId: text("session_id"),
  runId: text("run_id"),
  /** The key of the claim for this window. */
  window: text("window"),
  windowStart: int("window_start"),
  triggeredAt: int("triggered_at").notNull(),
  isTest: flag("is_test").notNull(),
  channels: text("channels"),
  /** The limit of the budget that it warns of. */
  budgetLimitNanoUsd: nanoUsd("budget_limit_nano_usd"),
  /** The position of the newest entry of the ledger that the value includes; null for a test. */
  callPosition: int("call_position"),
  /** The API key of the call that fired it, and of a rule of subjects other than an agent the scope that it measured. */
  keyId: text("key_id"),
  calendar: text("calendar"),
  scope: text("scope"),
  acknowledgedAt: int("acknowledged_at"),
  acknowledgedBy: text("acknowledged_by"),
  note: text("note"),
  resolvedAt: int("resolved_at"),
});

export const anomalies = sqliteTable("anomalies", {
  anomalyId: text("anomaly_id").primaryKey(),
  anomalyKey: text("anomaly_key").notNull(),
  kind: text("kind").notNull(),
  severity: text("severity").$type<Severity>().notNull(),
  agentId: text("agent_id").notNull(),
  sessionId: text("session_id"),
  runId: text("run_id"),
  callId: text("call_id"),
  message: text("message").notNull(),
  details: text("details", { mode: "json" }).$type<Record<string, unknown>>().notNull(),
  detectedAt: int("detected_at").notNull(),
});

export const deliveries = sqliteTable("deliveries", {
  deliveryId: text("delivery_id").primaryKey(),
  subjectId: text("subject_id").notNull(),
  channel: text("channel").notNull(),
  kind: text("kind").notNull(),
  status: text("status").$type<DeliveryStatus>().notNull(),
  attempts: int("attempts").notNull(),
  dueAt: int("due_at").notNull(),
  attemptedAt: int("attempted_at"),
  leaseUntil: int("lease_until"),
  leasedBy: text("leased_by"),
  lastError: text("last_error"),
  createdAt: int("created_at").notNull(),
  settledAt: int("settled_at"),
  lostClaims: int("lost_claims").notNull(),
  event: text("event").$type<AlertEvent>(),
});

/** The audit log; see the migration. */
export const auditEntries = sqliteTable("audit_entries", {
  position: int("position").primaryKey(),
  at: int("at").notNull(),
  actor: text("actor").$type<AuditActor>().notNull(),
  keyId: text("key_id"),
  actorName: text("actor_name"),
  address: text("address"),
  label: text("label"),
  action: text("action").$type<AuditAction>().notNull(),
  kind: text("kind").$type<AuditKind>().notNull(),
  subjectId: text("subject_id").notNull(),
  subjectName: text("subject_name"),
  before: text("before", { mode: "json" }).$type<Record<string, unknown>>(),
  after: text("after", { mode: "json" }).$type<Record<string, unknown>>(),
});
