import { type SubjectKind, SUBJECTS } from "./budgets/subjects.ts";
import { type DimensionWith, GROUPED, SPLIT } from "./costs/dimensions.ts";

/** Every enumeration of the wire format. Schemas, tables, commands and documents import them. */

/** The statuses of an agent's session and of a run. */
export const AGENT_STATUSES = [
  "idle",
  "running",
  "completed",
  "failed",
  "budget_exceeded",
  "cancelled",
  "interrupted",
] as const;
export type AgentStatus = typeof AGENT_STATUSES[number];

/** The statuses of a run. */
export const RUN_STATUSES = [
  "running",
  "completed",
  "failed",
  "budget_exceeded",
  "cancelled",
  "interrupted",
] as const satisfies readonly AgentStatus[];
export type RunStatus = typeof RUN_STATUSES[number];

/** `stop` makes no call once the limit is reached; `strict` makes none that could exceed it. */
export const BUDGET_MODES = ["stop", "strict"] as const;
export type BudgetMode = typeof BUDGET_MODES[number];

/** The windows of budgets: `run`, `session` and `tree` count each by itself; `hour` and `30d` are rolling, the others of a calendar. */
export const BUDGET_PERIODS = [
  "run",
  "session",
  "tree",
  "hour",
  "day",
  "week",
  "month",
  "quarter",
  "30d",
  "lifetime",
] as const;
export type BudgetPeriod = typeof BUDGET_PERIODS[number];

/** A budget with one counter for each agent, session, key, model, provider or source; or for each value of a tag. */
export const BUDGET_EACH = SUBJECTS;
export type BudgetEach = SubjectKind;

/** The orders of the counters of a budget: the most used first, the least left, or their names. */
export const COUNTER_SORTS = ["used", "left", "name"] as const;
export type CounterSort = typeof COUNTER_SORTS[number];

/** `watch` refuses nothing and counts the calls that it would have refused; `ask` asks a person for more before it refuses. */
export const BUDGET_ACTIONS = ["refuse", "watch", "ask"] as const;
export type BudgetAction = typeof BUDGET_ACTIONS[number];

/** Who pays for a call: a plan, such as a subscription, or its bill. */
export const BILLINGS = ["plan", "billed"] as const;
export type Billing = typeof BILLINGS[number];

/** The reasons for which a budget refuses a call. */
export const REFUSAL_REASONS = [
  "spent",
  "would_overshoot",
  "unbounded",
  "unpriced",
  "held",
  "overshot",
] as const;
export type RefusalReason = typeof REFUSAL_REASONS[number];

/** The reasons for which a strict budget holds an amount though no call is in progress. */
export const HOLD_REASONS = ["unbooked", "uncounted"] as const;
export type HoldReason = typeof HOLD_REASONS[number];

/** The states of a ticket, by which a budget asks for more. */
export const TICKET_STATES = ["waiting", "approved", "denied", "expired"] as const;
export type TicketState = typeof TICKET_STATES[number];

/** The states of a budget: below its first warning, at or over it, at or over its limit. */
export const BUDGET_STATES = ["ok", "near", "reached"] as const;
export type BudgetState = typeof BUDGET_STATES[number];

/** The severities of alerts and anomalies, mildest first. */
export const SEVERITIES = ["info", "warning", "critical"] as const;
export type Severity = typeof SEVERITIES[number];

/** Returns whether `severity` is at least `minimum`. */
export function isAtLeast(severity: Severity, minimum: Severity): boolean {
  return SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(minimum);
}

/** The windows that alert rules measure. */
export const THRESHOLD_TYPES = [
  "per_run_usd",
  "per_session_usd",
  "per_hour_usd",
  "per_day_usd",
  "per_month_usd",
] as const;
export type ThresholdType = typeof THRESHOLD_TYPES[number];

/** The threshold type of rules about the share that is used of a plan's window. */
export const PLAN_THRESHOLD = "plan_window_pct";

/** The threshold type of rules about what nothing explains of a provider's bill. */
export const UNEXPLAINED_THRESHOLD = "unexplained_above";

/** The threshold types of alert rules. */
export const RULE_THRESHOLDS = [...THRESHOLD_TYPES, PLAN_THRESHOLD, UNEXPLAINED_THRESHOLD] as const;
export type RuleThreshold = typeof RULE_THRESHOLDS[number];

/** The threshold types of alerts that a budget warns by. */
/** The states of an alert, and what its channels can be told after it has fired. */
export const ALERT_STATES = ["firing", "acknowledged", "resolved"] as const;
export type AlertState = typeof ALERT_STATES[number];
export const ALERT_EVENTS = ["acknowledged", "resolved"] as const satisfies AlertState[];
export type AlertEvent = typeof ALERT_EVENTS[number];

/** The periods of digests. */
export const DIGEST_PERIODS = ["daily", "weekly"] as const;
export type DigestPeriod = typeof DIGEST_PERIODS[number];

export const BUDGET_THRESHOLDS = BUDGET_PERIODS.map((per) => `budget_per_${per}_usd` as const);
export type BudgetThreshold = typeof BUDGET_THRESHOLDS[number];

/** The threshold type of the alert by which a budget asks for more. */
export const ASK_THRESHOLD = "budget_ask_usd";

/** Returns whether a threshold is of the spending of calls in a period. */
export const isOfCalls = (
  type: RuleThreshold | BudgetThreshold | typeof ASK_THRESHOLD,
): type is ThresholdType | BudgetThreshold => /per_\w+_usd$/.test(type);

/** An alert rule fires again after each cooldown, or once for each run, session, day or month. */
export const REPEATS = ["cooldown", "once_per_window"] as const;
export type Repeat = typeof REPEATS[number];

/** The sources that measure the windows of plans. */
export const PLAN_SOURCES = ["statusline", "log", "gateway"] as const;
export type PlanSource = typeof PLAN_SOURCES[number];

/** The kinds of anomalies that the monitor detects. */
export const ANOMALY_KINDS = [
  "repeated_tool_call",
  "growing_input",
  "costly_call",
  "costly_run",
  "costly_hour",
  "fast_calls",
] as const;
export type AnomalyKind = typeof ANOMALY_KINDS[number];

/** The groupings of cost reports. */
export const GROUPINGS = [...GROUPED, "source", "hour", "day", "week", "month"] as const;
export type Grouping = typeof GROUPINGS[number];

/** The second level of groups in cost reports. */
export const SPLITS = SPLIT;
export type Split = DimensionWith<"isSplit">;

/** The orders of cost reports: the highest cost first, or the latest first. */
export const COST_SORTS = ["cost", "time"] as const;
export type CostSort = typeof COST_SORTS[number];

/** The types of events in a session's log. */
export const SESSION_EVENT_TYPES = [
  "session.created",
  "session.restored",
  "run.started",
  "model.called",
  "model.failed",
  "tool.called",
  "tool.returned",
  "cost.recorded",
  "budget.exceeded",
  "budget.refused",
  "budget.overshot",
  "anomaly.detected",
  "run.completed",
  "run.failed",
  "run.cancelled",
  "run.interrupted",
] as const;
export type SessionEventType = typeof SESSION_EVENT_TYPES[number];

/** The scopes of API keys. `admin` includes the others, `run` includes `report`. */
export const SCOPES = ["read", "run", "call", "report", "approve", "admin"] as const;
export type Scope = typeof SCOPES[number];

/** The origins of a booked call: a run of an agent, a metered model of a library user, a report, the gateway, an agent's log, a span. */
export const CALL_SOURCES = ["run", "meter", "report", "gateway", "log", "otlp"] as const;
export type CallSource = typeof CALL_SOURCES[number];

/** The ends of calls that didn't complete: an error, an answer that broke off, a client that left. */
export const CALL_OUTCOMES = ["failed", "cut", "cancelled"] as const;
export type CallOutcome = typeof CALL_OUTCOMES[number];

/** The sources of calls that were made elsewhere: an agent's log, an exported span, a program that reports. */
export const SIGHTING_SOURCES = ["log", "otlp", "report"] as const;

/**
 * The certainty of the counts of a call. `exact`: the provider's; `derived`: computed from sums; `provisional`: of a call that went
 * on; `aggregate`: a sum of calls that can't be told apart; `cost_only`: without tokens.
 */
export const QUALITIES = ["exact", "derived", "provisional", "aggregate", "cost_only"] as const;

/** The results of a sighting of a call. */
export const SIGHTING_OUTCOMES = ["booked", "duplicate", "amended", "enriched", "refused"] as const;

/** The statuses of repricings; `dry_run` is one that changes nothing, and is not stored. */
export const REPRICING_STATUSES = ["dry_run", "applying", "applied", "undoing", "undone"] as const;
export type RepricingStatus = typeof REPRICING_STATUSES[number];

/** The statuses of API keys. */
export const KEY_STATUSES = ["active", "expired", "revoked"] as const;
export type KeyStatus = typeof KEY_STATUSES[number];

/** Who has made a change: an API key, a session of the dashboard, a command on this machine, a program or its config, or a caller without a key. */
export const AUDIT_ACTORS = ["key", "session", "local", "code", "anonymous"] as const;
export type AuditActor = typeof AUDIT_ACTORS[number];

/**
 * The states of a line of a bill. `closed` was replaced after its month was closed: it still counts there, and its `reversal` counts in
 * the next open month.
 */
export const BILL_LINE_STATES = ["current", "replaced", "closed", "reversal"] as const;
export type BillLineState = typeof BILL_LINE_STATES[number];

/** The kinds of things whose changes the audit log keeps. */
export const AUDIT_KINDS = [
  "budget",
  "rule",
  "key",
  "agent",
  "repricing",
  "prices",
  "price",
  "period",
  "reconciliation",
  "upstream",
  "statement",
] as const;
export type AuditKind = typeof AUDIT_KINDS[number];

/** The changes that the audit log keeps. */
export const AUDIT_ACTIONS = [
  "created",
  "changed",
  "enabled",
  "disabled",
  "removed",
  "raised",
  "released",
  "rotated",
  "revoked",
  "applied",
  "undone",
  "approved",
  "denied",
  "closed",
  "reopened",
  "issued",
] as const;
export type AuditAction = typeof AUDIT_ACTIONS[number];

/** The statuses of deliveries. */
export const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;
export type DeliveryStatus = typeof DELIVERY_STATUSES[number];

/** The durability of commits: `full` survives a power failure, `normal` a crash of the process. */
export const DURABILITIES = ["full", "normal"] as const;
export type Durability = typeof DURABILITIES[number];

/** A server updates its prices by itself every day, or never. */
export const PRICE_UPDATES = ["daily", "never"] as const;

/** The built-in model providers; one of the config file needs another name. */
export const BUILT_IN_PROVIDERS = ["openai", "anthropic", "google", "demo"] as const;

/** The models of the provider `demo`: offline, deterministic, without delays. */
export const DEMO_MODELS = ["echo", "loop", "fail"] as const;

/** The versions of FOCUS, the FinOps Open Cost and Usage Specification, in which charges are exported. */
export const FOCUS_VERSIONS = ["1.2", "1.4"] as const;
export type FocusVersion = typeof FOCUS_VERSIONS[number];
export const DEFAULT_FOCUS_VERSION: FocusVersion = "1.4";

/** The formats of exported files. */
export const EXPORT_FORMATS = ["csv", "parquet"] as const;
export type ExportFormat = typeof EXPORT_FORMATS[number];

/** The ways to divide the costs that no call has caused, such as fees. */
export const SHARED_RULES = ["by-share", "even", "none"] as const;
export type SharedRule = typeof SHARED_RULES[number];

/** The formats of a statement. */
export const STATEMENT_FORMATS = ["csv", "json", "html"] as const;

/** The names of the built-in sources of bills. */
export const BILL_SOURCE_NAMES = [
  "anthropic",
  "anthropic-claude-code",
  "anthropic-legacy",
  "copilot",
  "csv",
  "cursor",
  "focus",
  "openai",
  "openrouter",
  "openrouter-activity",
  "vercel",
] as const;
export type BillSourceName = typeof BILL_SOURCE_NAMES[number];

/** The two series that a provider may publish: what was used, and what it costs. Only amounts of `cost` are billed. */
export const BILL_SERIES = ["usage", "cost"] as const;
export type BillSeries = typeof BILL_SERIES[number];

/** The categories of a line of a bill, as FOCUS has them, and `fee`, such as a marketplace's. Only `usage` is of calls. */
export const BILL_CATEGORIES = ["usage", "purchase", "fee", "tax", "credit", "adjustment"] as const;
export type BillCategory = typeof BILL_CATEGORIES[number];

/** The optional texts of a line of a bill, of which its columns, its fields in camelCase and its schemas are made. */
export const BILL_LINE_TEXTS = [
  "response_id",
  "model",
  "part",
  "sku",
  "credential",
  "project",
  "actor",
  "service_tier",
  "region",
  "speed",
  "context",
  "unit",
  "currency",
] as const;
/** Its decimal numbers, which are kept as texts. */
export const BILL_LINE_DECIMALS = ["quantity", "amount", "list_amount"] as const;
