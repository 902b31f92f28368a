import {
  BILLINGS,
  BUDGET_ACTIONS,
  BUDGET_EACH,
  BUDGET_MODES,
  BUDGET_PERIODS,
  CALL_SOURCES,
  REPEATS,
  RULE_THRESHOLDS,
  SCOPES,
  SEVERITIES,
} from "../../contract/values.ts";
import { WEEK_DAYS } from "../../contract/calendars/zones.ts";
import { BUDGET_DEFAULTS, DEFAULT_COOLDOWN_SECONDS } from "../../contract/limits.ts";
import type { Field } from "./fields.ts";

/** A kind of things that people write with a form: its place in the API and among the commands, and its fields. */
export interface Resource {
  noun: string;
  one: string;
  /** Its list in the API, and the field with its id. */
  path: string;
  id: "budget_id" | "rule_id" | "key_id" | "price_id";
  /** The first word of its commands. */
  group: string;
  fields: readonly Field[];
  /** To add one, a session needs the key itself. */
  needsKey?: true;
  /** A request replaces it as a whole; its commands are `set` and `unset`, and have a name of these fields as their argument. */
  isWhole?: readonly [string, string];
  /** The button that ends one, what it did, and what it means. */
  removal: { label: string; done: string; consequence: string };
  /** Its effect once it is enabled, and while it is disabled. */
  states?: { enabled: string; disabled: string; isDangerous?: true };
}

const field = (kind: Field["kind"], name: string, label: string, more: Partial<Field> = {}): Field => ({
  ...more,
  kind,
  name,
  label,
});

const NAME = field("text", "name", "Name", { isRequired: true });

const TAGS: Partial<Field> = { hint: "user=anna, one a line", option: { name: "tag" } };

/** The fields that say whose calls count. */
const SUBJECTS: readonly Field[] = [
  field("text", "each", "A counter for each", {
    choices: [...BUDGET_EACH, ...["user", "team", "project", "customer"].map((tag) => `tag:${tag}`)],
    hint: "Such as key or tag:user; empty: one for all calls",
  }),
  field("tags", "tags", "Only calls with tags", TAGS),
  ...[
    field("text", "agent_id", "Only of agent"),
    field("text", "key_id", "Only of API key", { hint: "Its name or its id" }),
    field("text", "session_id", "Only of session"),
    field("text", "model", "Only of model", { hint: "Or a pattern: claude-opus-*" }),
    field("text", "provider", "Only of provider"),
    field("choice", "source", "Only of source", { choices: ["", ...CALL_SOURCES] }),
    field("choice", "billing", "Only what is paid by", {
      choices: ["", ...BILLINGS],
      hint: "plan: the API value of calls that a plan pays for; billed: only the cost of billed calls",
    }),
  ].map((one) => ({ ...one, isRare: true as const })),
];

/** The fields that say when windows begin; left empty, they are those of the server. */
const CALENDAR: readonly Field[] = [
  field("text", "time_zone", "Time zone", {
    choices: ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"],
    hint: "Of its days; empty: the server's",
  }),
  field("choice", "week_start", "Weeks begin on", { choices: ["", ...WEEK_DAYS] }),
  field("number", "month_start_day", "Months begin on day"),
].map((one) => ({ ...one, isRare: true, hasDefault: true }));

export const BUDGET: Resource = {
  noun: "budget",
  one: "a budget",
  path: "/budgets",
  id: "budget_id",
  group: "budgets",
  fields: [
    NAME,
    field("number", "limit_usd", "Limit in USD", { isRequired: true, option: { name: "limit" } }),
    field("choice", "per", "Window", { choices: BUDGET_PERIODS, initial: "day", isRequired: true }),
    field("shares", "warn_at", "Warn at", { initial: BUDGET_DEFAULTS.warnAt }),
    field("flag", "forecast", "Warn when the limit will be reached before the window ends", {
      option: { name: "forecast", undo: "no-forecast" },
      isRare: true,
    }),
    ...SUBJECTS,
    field("choice", "mode", "Mode", {
      choices: BUDGET_MODES,
      initial: BUDGET_DEFAULTS.mode,
      hint: "strict: no call that could exceed it",
      isRare: true,
    }),
    field("choice", "action", "Action", {
      choices: BUDGET_ACTIONS,
      initial: BUDGET_DEFAULTS.action,
      hint: "watch: refuses nothing, and counts what it would refuse; ask: asks a person for more first",
      isRare: true,
    }),
    field("day", "counts_from", "Counts from", { hint: "Of a lifetime: a day (UTC)", isRare: true }),
    ...CALENDAR,
    field("flag", "allow_unpriced", "Allow models without a price", {
      isRare: true,
      option: { name: "allow-unpriced", undo: "no-allow-unpriced" },
    }),
  ],
  removal: {
    label: "Remove",
    done: "Removed",
    consequence: "refuses no call any more. Its raises and releases go with it; its alerts stay.",
  },
  states: {
    enabled: "refuses calls again once its limit is reached.",
    disabled: "refuses no call until it is enabled.",
    isDangerous: true,
  },
};

export const RULE: Resource = {
  noun: "rule",
  one: "an alert rule",
  path: "/alerts/rules",
  id: "rule_id",
  group: "alerts",
  fields: [
    NAME,
    field("choice", "threshold_type", "Measures", {
      choices: RULE_THRESHOLDS,
      initial: "per_day_usd",
      isRequired: true,
    }),
    field("number", "threshold_usd", "Threshold in USD"),
    field("choice", "severity", "Severity", { choices: SEVERITIES, initial: "warning", isRequired: true }),
    ...SUBJECTS,
    field("choice", "repeat", "While it stays exceeded", {
      choices: REPEATS,
      initial: REPEATS[0],
      hint: "Fires again after the cooldown, or once for each run, session, day or month",
      isRare: true,
    }),
    field("number", "cooldown_seconds", "Cooldown in seconds", {
      initial: DEFAULT_COOLDOWN_SECONDS,
      option: { name: "cooldown" },
      isRare: true,
    }),
    field("number", "threshold_pct", "Threshold in percent", {
      hint: "Of the windows of plans alone, in place of an amount",
      isRare: true,
    }),
    ...CALENDAR.filter(({ name }) => name !== "week_start"),
  ],
  removal: {
    label: "Remove",
    done: "Removed",
    consequence: "doesn't fire any more. The alerts that it has fired stay in the history.",
  },
  states: {
    enabled: "fires at the next call while its threshold is reached.",
    disabled: "doesn't fire until it is enabled.",
  },
};

export const KEY: Resource = {
  noun: "key",
  one: "an API key",
  path: "/keys",
  id: "key_id",
  group: "keys",
  needsKey: true,
  fields: [
    { ...NAME, isFixed: true, option: "argument" },
    field("several", "scopes", "Scopes", {
      choices: SCOPES,
      initial: ["call"],
      isRequired: true,
      isFixed: true,
      option: { name: "scope" },
    }),
    field("tags", "tags", "Tags of its calls", { ...TAGS, option: { name: "tag", undo: "untag" } }),
    field("flag", "stop_before_credits", "Stop before a plan's paid credits", {
      option: { name: "stop-before-credits", undo: "allow-credits" },
    }),
    field("day", "expires_at", "Expires", { isFixed: true, option: { name: "expires" } }),
    field("text", "agent_id", "Only for agent", { isFixed: true, isRare: true }),
    field("lines", "models", "Only for models", {
      hint: "claude-*, one a line",
      isFixed: true,
      isRare: true,
      option: { name: "model" },
    }),
  ],
  removal: {
    label: "Revoke",
    done: "Revoked",
    consequence:
      "is refused from now on, within 5 seconds on every instance, and its sessions here end. This can't be undone.",
  },
};

const usdPerMillion = (name: string, label: string, more: Partial<Field> = {}) =>
  field("number", `${name}_usd_per_million`, label, { option: { name: name.replaceAll("_", "-") }, ...more });

export const PRICE: Resource = {
  noun: "price",
  one: "the price of a model",
  path: "/prices/rows",
  id: "price_id",
  group: "prices",
  isWhole: ["provider", "model"],
  fields: [
    field("text", "provider", "Provider", { isRequired: true, isFixed: true, option: "argument" }),
    field("text", "model", "Model", { isRequired: true, isFixed: true, option: "argument" }),
    usdPerMillion("input", "Input, USD per million tokens", { isRequired: true }),
    usdPerMillion("output", "Output, USD per million tokens", { isRequired: true }),
    usdPerMillion("cache_read", "Cached tokens that are read"),
    usdPerMillion("cache_write", "Tokens that are cached"),
    usdPerMillion("cache_write_1h", "Tokens that are cached for an hour", { isRare: true }),
    usdPerMillion("reasoning", "Reasoning tokens", { isRare: true }),
    field("text", "service_tier", "Only of service tier", { isFixed: true, isRare: true }),
    field("date", "from", "Only from day (UTC)", { isFixed: true, isRare: true }),
  ],
  removal: {
    label: "Remove",
    done: "Removed",
    consequence: "goes, and the model has that of the config or of the sources again.",
  },
};

/** All of them: the tests of forms loop over it. */
export const RESOURCES: readonly Resource[] = [BUDGET, RULE, KEY, PRICE];
