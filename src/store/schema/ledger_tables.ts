import { customType, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { BilledPart } from "../../contract/billed_parts.ts";
import type { StatedCostReason } from "../../contract/costs/stated_costs.ts";
import type { OtherModel } from "../../contract/usage.ts";
import type { RepricingFilter } from "../../contract/repricings.ts";
import type {
  AgentStatus,
  BudgetMode,
  CallOutcome,
  CallSource,
  RepricingStatus,
} from "../../contract/values.ts";

/** An INTEGER that fits a JS number: counts, times in milliseconds, flags. The drivers give bigint. */
export const int = customType<{ data: number; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: Number,
  toDriver: BigInt,
});

/** An INTEGER amount in nano-USD. */
export const nanoUsd = customType<{ data: bigint; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: BigInt,
});

/** An INTEGER that is 0 or 1. */
export const flag = customType<{ data: boolean; driverData: bigint }>({
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
  /** The service tier that was asked for, where another one was used. */
  requested_service_tier?: string;
  outcome?: CallOutcome;
  /** The status with which a failed call was answered. */
  http_status?: number;
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
  /** The provider's id of the request. */
  requestId: text("request_id"),
  /** The session at the root of its tree, where that is another one than its own. */
  rootSessionId: text("root_session_id"),
  upstreamId: int("upstream_id"),
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

/** The credentials and accounts that pay for calls; see the migration. */
export const upstreams = sqliteTable("upstreams", {
  upstreamId: int("upstream_id").primaryKey(),
  provider: text("provider").notNull(),
  credential: text("credential"),
  keyHash: text("key_hash"),
  account: text("account"),
  project: text("project"),
  keyId: text("key_id"),
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
