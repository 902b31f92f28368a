import type { AgentStatus } from "../agent_status.ts";
import type { Severity } from "../severity.ts";
import { customType, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** An INTEGER that fits a JS number: counts, times in milliseconds, flags. The drivers give bigint. */
const int = customType<{ data: number; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: Number,
  toDriver: BigInt,
});

/** An INTEGER amount in nano-USD. */
const nanoUsd = customType<{ data: bigint; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: BigInt,
});

const flag = customType<{ data: boolean; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: (value) => Number(value) !== 0,
  toDriver: (value) => (value ? 1n : 0n),
});

/** The columns that every rollup counts with. */
const counters = () => ({
  modelCalls: int("model_calls").notNull(),
  unpricedCalls: int("unpriced_calls").notNull(),
  inputTokens: int("input_tokens").notNull(),
  outputTokens: int("output_tokens").notNull(),
  cacheReadTokens: int("cache_read_tokens").notNull(),
  cacheWriteTokens: int("cache_write_tokens").notNull(),
  reasoningTokens: int("reasoning_tokens").notNull(),
  totalTokens: int("total_tokens").notNull(),
  costNanoUsd: nanoUsd("cost_nano_usd").notNull(),
});

export const agents = sqliteTable("agents", {
  agentId: text("agent_id").primaryKey(),
  model: text("model").notNull(),
  systemPrompt: text("system_prompt").notNull(),
  costBudgetNanoUsd: nanoUsd("cost_budget_nano_usd"),
  budgetMode: text("budget_mode").$type<"stop" | "strict">().notNull(),
  allowUnpriced: flag("allow_unpriced").notNull(),
  maxSteps: int("max_steps").notNull(),
  maxOutputTokens: int("max_output_tokens"),
  tools: text("tools", { mode: "json" }).$type<string[]>().notNull(),
  createdAt: int("created_at").notNull(),
  updatedAt: int("updated_at").notNull(),
});

export const sessions = sqliteTable("sessions", {
  sessionId: text("session_id").primaryKey(),
  agentId: text("agent_id").notNull(),
  status: text("status").$type<AgentStatus>().notNull(),
  generation: int("generation").notNull(),
  messageCount: int("message_count").notNull(),
  eventCount: int("event_count").notNull(),
  activeRunId: text("active_run_id"),
  tags: text("tags", { mode: "json" }).$type<Record<string, string>>().notNull(),
  restoredFrom: text("restored_from", { mode: "json" }).$type<Record<string, unknown>>(),
  createdAt: int("created_at").notNull(),
  updatedAt: int("updated_at").notNull(),
  extras: text("extras", { mode: "json" }).$type<Record<string, unknown>>(),
});

export const runs = sqliteTable("runs", {
  runId: text("run_id").primaryKey(),
  sessionId: text("session_id").notNull(),
  agentId: text("agent_id").notNull(),
  model: text("model").notNull(),
  status: text("status").$type<AgentStatus>().notNull(),
  costBudgetNanoUsd: nanoUsd("cost_budget_nano_usd"),
  budgetMode: text("budget_mode").$type<"stop" | "strict">().notNull(),
  steps: int("steps").notNull(),
  output: text("output", { mode: "json" }).$type<string>(),
  error: text("error", { mode: "json" }).$type<Record<string, unknown>>(),
  cancelRequested: flag("cancel_requested").notNull(),
  instanceId: text("instance_id").notNull(),
  leaseUntil: int("lease_until").notNull(),
  startedAt: int("started_at").notNull(),
  endedAt: int("ended_at"),
});

export const messages = sqliteTable("messages", {
  sessionId: text("session_id").notNull(),
  generation: int("generation").notNull(),
  position: int("position").notNull(),
  messageId: text("message_id").notNull(),
  runId: text("run_id"),
  createdAt: int("created_at").notNull(),
  content: text("content", { mode: "json" }).$type<Record<string, unknown>>().notNull(),
  isWhole: flag("is_whole").notNull(),
});

export const looseGenerations = sqliteTable("loose_generations", {
  sessionId: text("session_id").notNull(),
  generation: int("generation").notNull(),
  stagedBy: text("staged_by"),
  since: int("since").notNull(),
});

export const importedEvents = sqliteTable("imported_events", {
  sessionId: text("session_id").notNull(),
  generation: int("generation").notNull(),
  position: int("position").notNull(),
  content: text("content").notNull(),
});

export const calls = sqliteTable("calls", {
  callId: text("call_id").primaryKey(),
  at: int("at").notNull(),
  agentId: text("agent_id").notNull(),
  sessionId: text("session_id"),
  runId: text("run_id"),
  step: int("step"),
  tools: text("tools", { mode: "json" }).$type<string[]>().notNull(),
  provider: text("provider").notNull(),
  model: text("model").notNull(),
  inputTokens: int("input_tokens").notNull(),
  outputTokens: int("output_tokens").notNull(),
  cacheReadTokens: int("cache_read_tokens").notNull(),
  cacheWriteTokens: int("cache_write_tokens").notNull(),
  cacheWrite1hTokens: int("cache_write_1h_tokens").notNull(),
  reasoningTokens: int("reasoning_tokens").notNull(),
  totalTokens: int("total_tokens").notNull(),
  costNanoUsd: nanoUsd("cost_nano_usd"),
  priceSource: text("price_source").notNull(),
  durationMs: int("duration_ms"),
  estimated: flag("estimated").notNull(),
});

const rollupKey = () => ({
  agentId: text("agent_id").notNull(),
  provider: text("provider").notNull(),
  model: text("model").notNull(),
});

export const spendRuns = sqliteTable("spend_runs", {
  runId: text("run_id").primaryKey(),
  sessionId: text("session_id"),
  agentId: text("agent_id").notNull(),
  model: text("model").notNull(),
  firstAt: int("first_at").notNull(),
  lastAt: int("last_at").notNull(),
  ...counters(),
});

export const spendSessions = sqliteTable("spend_sessions", {
  sessionId: text("session_id").primaryKey(),
  agentId: text("agent_id").notNull(),
  model: text("model").notNull(),
  firstAt: int("first_at").notNull(),
  lastAt: int("last_at").notNull(),
  ...counters(),
});

export const spendTotals = sqliteTable("spend_totals", { ...rollupKey(), ...counters() });

export const spendDays = sqliteTable("spend_days", {
  day: int("day").notNull(),
  ...rollupKey(),
  ...counters(),
});

export const spendHours = sqliteTable("spend_hours", {
  hour: int("hour").notNull(),
  ...rollupKey(),
  ...counters(),
});

export const events = sqliteTable("events", {
  eventId: int("event_id").primaryKey(),
  sessionId: text("session_id"),
  seq: int("seq"),
  runId: text("run_id"),
  agentId: text("agent_id").notNull(),
  type: text("type").notNull(),
  at: int("at").notNull(),
  callId: text("call_id"),
  payload: text("payload", { mode: "json" }).$type<Record<string, unknown>>(),
});

export const reservations = sqliteTable("reservations", {
  reservationId: text("reservation_id").primaryKey(),
  runId: text("run_id").notNull(),
  amountNanoUsd: nanoUsd("amount_nano_usd").notNull(),
  isLost: flag("is_lost").notNull(),
  expiresAt: int("expires_at").notNull(),
});

export const spendWindows = sqliteTable("spend_windows", {
  /** An agent, or '' for all. */
  scope: text("scope").notNull(),
  kind: text("kind").$type<"minute" | "day">().notNull(),
  start: int("start").notNull(),
  costNanoUsd: nanoUsd("cost_nano_usd").notNull(),
});

/** What a rule measures. */
export type ThresholdType =
  | "per_run_usd"
  | "per_session_usd"
  | "per_hour_usd"
  | "per_day_usd"
  | "per_month_usd";

export const alertRules = sqliteTable("alert_rules", {
  ruleId: text("rule_id").primaryKey(),
  name: text("name").notNull(),
  thresholdType: text("threshold_type").$type<ThresholdType>().notNull(),
  thresholdNanoUsd: nanoUsd("threshold_nano_usd").notNull(),
  severity: text("severity").$type<Severity>().notNull(),
  cooldownMs: int("cooldown_ms").notNull(),
  repeat: text("repeat").$type<"cooldown" | "once_per_window">().notNull(),
  /** An agent, or '' for all. */
  scope: text("scope").notNull(),
  enabled: flag("enabled").notNull(),
  lastFiredAt: int("last_fired_at"),
  createdAt: int("created_at").notNull(),
  updatedAt: int("updated_at").notNull(),
  isArmed: flag("is_armed").notNull(),
  cooldownFrom: int("cooldown_from"),
  restsUntil: int("rests_until"),
  isOver: flag("is_over").notNull(),
});

export const alertClaims = sqliteTable("alert_claims", {
  ruleId: text("rule_id").notNull(),
  window: text("window").notNull(),
});

export const alerts = sqliteTable("alerts", {
  position: int("position").primaryKey(),
  alertId: text("alert_id").notNull(),
  ruleId: text("rule_id").notNull(),
  ruleName: text("rule_name").notNull(),
  thresholdType: text("threshold_type").$type<ThresholdType>().notNull(),
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
  status: text("status").$type<"pending" | "delivered" | "failed">().notNull(),
  attempts: int("attempts").notNull(),
  dueAt: int("due_at").notNull(),
  attemptedAt: int("attempted_at"),
  leaseUntil: int("lease_until"),
  leasedBy: text("leased_by"),
  lastError: text("last_error"),
  createdAt: int("created_at").notNull(),
  settledAt: int("settled_at"),
});

/** Counts that only grow: see the migration. */
export const tallies = sqliteTable("tallies", {
  what: text("what").$type<"run" | "alert" | "delivery" | "probe">().notNull(),
  name: text("name").notNull(),
  outcome: text("outcome").notNull(),
  count: int("count").notNull(),
});

/** What a key may do: `admin` all of it; `read` and `run` are apart. */
export type Scope = "read" | "run" | "admin";

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
});

/** Every table, for the test that compares them with the migrated database. */
export const tables = {
  agents,
  sessions,
  runs,
  messages,
  looseGenerations,
  importedEvents,
  calls,
  spendRuns,
  spendSessions,
  spendTotals,
  spendDays,
  spendHours,
  events,
  reservations,
  spendWindows,
  alertRules,
  alertClaims,
  alerts,
  anomalies,
  deliveries,
  tallies,
  apiKeys,
};
