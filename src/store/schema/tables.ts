import { customType, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { BilledPart } from "../../contract/billed_parts.ts";
import type { StatedCostReason } from "../../contract/costs/stated_costs.ts";
import type { Tags } from "../../contract/tags/tags.ts";
import type { OtherModel } from "../../contract/usage.ts";
import type { RepricingFilter } from "../../contract/repricings.ts";
import type {
  AgentStatus,
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
  CallSource,
  DeliveryStatus,
  Repeat,
  RepricingStatus,
  RuleThreshold,
  Scope,
  Severity,
  TicketState,
} from "../../contract/values.ts";

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

/** An INTEGER that is 0 or 1. */
const flag = customType<{ data: boolean; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: (value) => Number(value) !== 0,
  toDriver: (value) => (value ? 1n : 0n),
});

/** The facts of a call that most calls don't have, as the JSON of its row, by the names of the wire. */
export interface CallDetails extends Partial<Record<BilledPart, number>> {
  other_counts?: Record<string, number>;
  other_models?: OtherModel[];
  speed?: string;
  inference_geo?: string;
  list_cost_nano_usd?: string;
  stated_reason?: StatedCostReason;
  quality?: string;
  marks?: string[];
  billing?: "plan";
  /** Set if the row holds all that its witness has said; see ledger/explain/said.ts. */
  said?: Record<string, never>;
}

export const agents = sqliteTable("agents", {
  agentId: text("agent_id").primaryKey(),
  model: text("model").notNull(),
  systemPrompt: text("system_prompt").notNull(),
  costBudgetNanoUsd: nanoUsd("cost_budget_nano_usd"),
  budgetMode: text("budget_mode").$type<BudgetMode>().notNull(),
  allowUnpriced: flag("allow_unpriced").notNull(),
  maxSteps: int("max_steps").notNull(),
  maxOutputTokens: int("max_output_tokens"),
  tools: text("tools", { mode: "json" }).$type<string[]>().notNull(),
  createdAt: int("created_at").notNull(),
  updatedAt: int("updated_at").notNull(),
  tags: text("tags", { mode: "json" }).$type<Record<string, string>>().notNull(),
});

export const priceRows = sqliteTable("price_rows", {
  priceId: text("price_id").primaryKey(),
  name: text("name").notNull(),
  provider: text("provider").notNull(),
  model: text("model").notNull(),
  serviceTier: text("service_tier"),
  fromDay: text("from_day"),
  rates: text("rates", { mode: "json" }).$type<Record<string, number | string>>().notNull(),
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
  budgetMode: text("budget_mode").$type<BudgetMode>().notNull(),
  steps: int("steps").notNull(),
  output: text("output", { mode: "json" }).$type<string>(),
  error: text("error", { mode: "json" }).$type<Record<string, unknown>>(),
  cancelRequested: flag("cancel_requested").notNull(),
  instanceId: text("instance_id").notNull(),
  leaseUntil: int("lease_until").notNull(),
  startedAt: int("started_at").notNull(),
  endedAt: int("ended_at"),
  parentRunId: text("parent_run_id"),
  rootRunId: text("root_run_id"),
  tags: text("tags", { mode: "json" }).$type<Record<string, string>>(),
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

export const calls = sqliteTable("calls", {
  position: int("position").primaryKey(),
  callId: text("call_id").notNull(),
  /** The call whose cost this entry corrects; null for a call. */
  adjusts: text("adjusts"),
  at: int("at").notNull(),
  agentId: text("agent_id").notNull(),
  sessionId: text("session_id"),
  runId: text("run_id"),
  step: int("step"),
  keyId: text("key_id"),
  source: text("source").$type<CallSource>(),
  tools: text("tools", { mode: "json" }).$type<string[]>().notNull(),
  provider: text("provider").notNull(),
  model: text("model").notNull(),
  serviceTier: text("service_tier"),
  responseId: text("response_id"),
  inputTokens: int("input_tokens").notNull(),
  outputTokens: int("output_tokens").notNull(),
  cacheReadTokens: int("cache_read_tokens").notNull(),
  cacheWriteTokens: int("cache_write_tokens").notNull(),
  cacheWrite1hTokens: int("cache_write_1h_tokens").notNull(),
  reasoningTokens: int("reasoning_tokens").notNull(),
  totalTokens: int("total_tokens").notNull(),
  costNanoUsd: nanoUsd("cost_nano_usd"),
  unpriced: int("unpriced").notNull(),
  partlyPriced: int("partly_priced").notNull(),
  unpricedParts: text("unpriced_parts", { mode: "json" }).$type<string[]>(),
  priceSource: text("price_source").notNull(),
  priceId: int("price_id"),
  durationMs: int("duration_ms"),
  estimated: flag("is_estimated").notNull(),
  details: text("details", { mode: "json" }).$type<CallDetails>(),
  tags: text("tags", { mode: "json" }).$type<Record<string, string>>(),
  /** The cost that the provider has stated, if another one is booked. */
  statedNanoUsd: nanoUsd("stated_nano_usd"),
  /** Of an entry by a witness: the call that stands after it; see since_0_1_0.ts. */
  stands: text("stands"),
  /** The API's price of a call that a plan pays for. */
  planNanoUsd: nanoUsd("plan_nano_usd"),
  /** Where the row holds the statement of its witness. */
  requestId: text("request_id"),
  /** The session at the root of its tree, where that is another one than its own. */
  rootSessionId: text("root_session_id"),
});

/** The statements of logs, exported spans and reports about calls; see the migration. */
export const sightings = sqliteTable("sightings", {
  witness: text("witness").notNull(),
  callId: text("call_id").notNull(),
  isApart: flag("is_apart").notNull(),
  responseId: text("response_id"),
  requestId: text("request_id"),
  fingerprint: text("fingerprint"),
  day: int("day").notNull(),
  said: text("said").notNull(),
});

/** The tags that witnesses have added to calls. */
export const callTags = sqliteTable("call_tags", {
  callId: text("call_id").primaryKey(),
  tags: text("tags", { mode: "json" }).$type<Record<string, string>>().notNull(),
});

/** The rate cards that calls were priced by. */
export const prices = sqliteTable("prices", {
  priceId: int("price_id").primaryKey(),
  hash: text("hash").notNull(),
  rates: text("rates").notNull(),
});

/** Repricings; see the migration. */
export const repricings = sqliteTable("repricings", {
  position: int("position").primaryKey(),
  repricingId: text("repricing_id").notNull(),
  undoId: text("undo_id").notNull(),
  status: text("status").$type<RepricingStatus>().notNull(),
  /** True or null. */
  inProgress: flag("in_progress"),
  filter: text("filter", { mode: "json" }).$type<RepricingFilter>().notNull(),
  upTo: int("up_to").notNull(),
  cursorAt: int("cursor_at").notNull(),
  cursorPosition: int("cursor_position").notNull(),
  undoCursor: text("undo_cursor").notNull(),
  createdAt: int("created_at").notNull(),
  appliedAt: int("applied_at"),
  undoneAt: int("undone_at"),
});

/** The sums of a repricing by model. */
export const repricingModels = sqliteTable("repricing_models", {
  repricingId: text("repricing_id").notNull(),
  provider: text("provider").notNull(),
  model: text("model").notNull(),
  calls: int("calls").notNull(),
  changedCalls: int("changed_calls").notNull(),
  unpricedBefore: int("unpriced_before").notNull(),
  unpricedAfter: int("unpriced_after").notNull(),
  partlyPricedBefore: int("partly_priced_before").notNull(),
  partlyPricedAfter: int("partly_priced_after").notNull(),
  wholeUsdBefore: nanoUsd("whole_usd_before").notNull(),
  restNanoUsdBefore: nanoUsd("rest_nano_usd_before").notNull(),
  wholeUsdAfter: nanoUsd("whole_usd_after").notNull(),
  restNanoUsdAfter: nanoUsd("rest_nano_usd_after").notNull(),
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
  /** Facts of a refused call that only readers of all agents may see; the event on the wire doesn't have them. */
  withheld: text("withheld", { mode: "json" }).$type<Record<string, unknown>>(),
});

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
