import {
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
  id: "budget_id" | "rule_id" | "key_id";
  /** The first word of its commands. */
  group: string;
  fields: readonly Field[];
  /** To add one, a session needs the key itself. */
  needsKey?: true;
  /** The button that ends one, what it did, and what it means. */
  removal: { label: string; done: string; consequence: string };
  /** Its effect once it is enabled, and while it is disabled. */
  states?: { enabled: string; disabled: string; isDangerous?: true };
}

/** The fields that say when windows begin. */
const CALENDAR: Field[] = [
  {
    name: "time_zone",
    label: "Time zone",
    kind: "text",
    choices: ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"],
    hint: "Of its days; empty: the server's",
    option: { name: "time-zone" },
  },
  {
    name: "week_start",
    label: "Weeks begin on",
    kind: "choice",
    choices: ["", ...WEEK_DAYS],
    option: { name: "week-start" },
  },
  {
    name: "month_start_day",
    label: "Months begin on day",
    kind: "number",
    option: { name: "month-start-day" },
  },
].map((field) => ({ ...field, isRare: true, hasDefault: true } as Field));

const AGENT: Field = { name: "agent_id", label: "Agent", kind: "text", option: { name: "agent" } };

export const BUDGET: Resource = {
  noun: "budget",
  one: "a budget",
  path: "/budgets",
  id: "budget_id",
  group: "budgets",
  fields: [
    { name: "name", label: "Name", kind: "text", isRequired: true },
    {
      name: "limit_usd",
      label: "Limit in USD",
      kind: "number",
      isRequired: true,
      option: { name: "limit" },
    },
    {
      name: "per",
      label: "Window",
      kind: "choice",
      choices: BUDGET_PERIODS,
      initial: "day",
      isRequired: true,
    },
    {
      name: "each",
      label: "A counter for each",
      kind: "text",
      choices: [...BUDGET_EACH, "tag:user", "tag:team", "tag:project", "tag:customer"],
      hint: "Such as key or tag:user; empty: one for all calls",
    },
    {
      name: "tags",
      label: "Only calls with tags",
      kind: "tags",
      hint: "user=anna, one a line",
      option: { name: "tag" },
    },
    {
      name: "warn_at",
      label: "Warn at",
      kind: "shares",
      initial: BUDGET_DEFAULTS.warnAt,
      option: { name: "warn-at" },
    },
    { ...AGENT, label: "Only of agent", isRare: true },
    {
      name: "key_id",
      label: "Only of API key",
      kind: "text",
      hint: "Its name or its id",
      isRare: true,
      option: { name: "key" },
    },
    { name: "session_id", label: "Only of session", kind: "text", isRare: true, option: { name: "session" } },
    {
      name: "model",
      label: "Only of model",
      kind: "text",
      hint: "Or a pattern: claude-opus-*",
      isRare: true,
    },
    { name: "provider", label: "Only of provider", kind: "text", isRare: true },
    { name: "source", label: "Only of source", kind: "choice", choices: ["", ...CALL_SOURCES], isRare: true },
    {
      name: "mode",
      label: "Mode",
      kind: "choice",
      choices: BUDGET_MODES,
      initial: BUDGET_DEFAULTS.mode,
      hint: "strict: no call that could exceed it",
      isRare: true,
    },
    {
      name: "action",
      label: "Action",
      kind: "choice",
      choices: BUDGET_ACTIONS,
      initial: BUDGET_DEFAULTS.action,
      hint: "watch: refuses nothing, and counts what it would refuse",
      isRare: true,
    },
    {
      name: "counts_from",
      label: "Counts from",
      kind: "day",
      hint: "Of a lifetime: a day (UTC)",
      isRare: true,
      option: { name: "counts-from" },
    },
    ...CALENDAR,
    {
      name: "allow_unpriced",
      label: "Allow models without a price",
      kind: "flag",
      isRare: true,
      option: { name: "allow-unpriced", undo: "no-allow-unpriced" },
    },
  ],
  removal: {
    label: "Remove",
    done: "Removed",
    consequence: "It refuses no call any more. Its raises and releases go with it; its alerts stay.",
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
    { name: "name", label: "Name", kind: "text", isRequired: true },
    {
      name: "threshold_type",
      label: "Measures",
      kind: "choice",
      choices: RULE_THRESHOLDS,
      initial: "per_day_usd",
      isRequired: true,
      option: { name: "threshold-type" },
    },
    {
      name: "threshold_usd",
      label: "Threshold in USD",
      kind: "number",
      option: { name: "threshold-usd" },
    },
    {
      name: "severity",
      label: "Severity",
      kind: "choice",
      choices: SEVERITIES,
      initial: "warning",
      isRequired: true,
    },
    { ...AGENT, label: "Only of agent" },
    {
      name: "repeat",
      label: "While it stays exceeded",
      kind: "choice",
      choices: REPEATS,
      initial: REPEATS[0],
      hint: "Fires again after the cooldown, or once for each run, session, day or month",
    },
    {
      name: "cooldown_seconds",
      label: "Cooldown in seconds",
      kind: "number",
      initial: DEFAULT_COOLDOWN_SECONDS,
      option: { name: "cooldown" },
      isRare: true,
    },
    {
      name: "threshold_pct",
      label: "Threshold in percent",
      kind: "number",
      hint: "Of the windows of plans alone, in place of an amount",
      option: { name: "threshold-pct" },
      isRare: true,
    },
  ],
  removal: {
    label: "Remove",
    done: "Removed",
    consequence: "It doesn't fire any more. The alerts that it has fired stay in the history.",
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
    { name: "name", label: "Name", kind: "text", isRequired: true, isFixed: true, option: "argument" },
    {
      name: "scopes",
      label: "Scopes",
      kind: "several",
      choices: SCOPES,
      initial: ["call"],
      isRequired: true,
      isFixed: true,
      option: { name: "scope" },
    },
    {
      name: "tags",
      label: "Tags of its calls",
      kind: "tags",
      hint: "user=anna and team=search, one a line",
      option: { name: "tag", undo: "untag" },
    },
    {
      name: "stop_before_credits",
      label: "Stop before a plan's paid credits",
      kind: "flag",
      option: { name: "stop-before-credits", undo: "allow-credits" },
    },
    { name: "expires_at", label: "Expires", kind: "day", isFixed: true, option: { name: "expires" } },
    { ...AGENT, label: "Only for agent", isFixed: true, isRare: true },
    {
      name: "models",
      label: "Only for models",
      kind: "lines",
      hint: "claude-*, one a line",
      isFixed: true,
      isRare: true,
      option: { name: "model" },
    },
  ],
  removal: {
    label: "Revoke",
    done: "Revoked",
    consequence:
      "Requests with the key are refused from now on, within 5 seconds on every instance, and its sessions here end. This can't be undone.",
  },
};

/** All of them: the tests of forms loop over it. */
export const RESOURCES: readonly Resource[] = [BUDGET, RULE, KEY];
