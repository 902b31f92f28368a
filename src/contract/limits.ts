/** Every limit and default of the wire, once. Schemas, statements, commands and the documents take them from here. */

/** The maximum cost of one call, in USD. */
export const MAX_CALL_USD = 1_000_000;

/** The maximum of each token count of one call. */
export const MAX_CALL_TOKENS = 1_000_000_000;

/** The most calls that one report may have. */
export const MAX_REPORTED_CALLS = 1_000;

/** The most sightings that one request may have. */
export const MAX_SIGHTINGS = 1_000;

/** The cooldown of an alert rule whose author sets none. */
export const DEFAULT_COOLDOWN_SECONDS = 3_600;

/** A year. */
export const MAX_COOLDOWN_SECONDS = 31_536_000;

/** The number of alerts that the history keeps. */
export const MAX_ALERT_HISTORY = 500;

/** The defaults of an agent's definition. */
export const AGENT_DEFAULTS = {
  systemPrompt: "",
  costBudgetNanoUsd: null,
  budgetMode: "stop",
  allowUnpriced: false,
  maxSteps: 20,
  maxOutputTokens: null,
  tools: [],
} as const;

/** The largest values of an agent's definition. */
export const AGENT_LIMITS = { maxSteps: 1_000, maxOutputTokens: 10_000_000, tools: 128 } as const;

/** The defaults of a budget. */
export const BUDGET_DEFAULTS = {
  mode: "stop",
  action: "refuse",
  warnAt: [0.8, 1],
  allowUnpriced: false,
  enabled: true,
} as const;

/** The periods of budgets that forecast, and the part of a window, its twentieth, before which there is no pace. */
export const FORECAST_PERIODS = ["day", "week", "month"] as const;
export const FORECAST_FROM_PART = 20;

/** The most tags that a budget names, with the one that it has a counter for each value of. */
export const MAX_BUDGET_TAGS = 4;

/** The seconds that a ticket waits for an answer at most, and that a budget doesn't ask again after a denial. */
export const TICKET_SECONDS = { expires: 3_600, deniedFor: 900 } as const;

/** A budget is near its limit from this share on at the latest; from its lowest warning on if that is lower. */
export const NEAR_LIMIT = 0.9;

/** The most shares of its limit at which a budget warns, and their decimals. */
export const MAX_WARNINGS = 5;
export const WARNING_DECIMALS = 3;

/** The time in seconds for which budget is reserved for a call elsewhere: the default, and the most. */
export const RESERVATION_SECONDS = { default: 300, max: 900 } as const;

/** Maximum length of an environment's name, in characters. */
export const MAX_ENVIRONMENT_NAME = 200;

/** The number of issues that an error lists; of the others it has the count only. */
export const MAX_ISSUES = 100;

/** The number of issues after which a snapshot is read no further, since finding them takes time. */
export const MAX_SNAPSHOT_ISSUES = 1_000;

/**
 * The limits of a server on requests, by the name of their setting, with their defaults; null is no limit. Those with a
 * default protect the process.
 */
export const REQUEST_LIMITS = {
  requests_per_minute_per_key: null,
  requests_per_minute_per_address: null,
  body_bytes_per_minute_per_key: null,
  body_bytes_per_minute_per_address: null,
  runs: 1_000,
  runs_per_key: 500,
  runs_per_address: null,
  calls: 2_000,
  calls_per_key: 1_000,
  calls_per_address: null,
  streams: 2_000,
  streams_per_key: 1_000,
  streams_per_address: null,
  body_bytes: 128 * 1024 * 1024,
  body_bytes_per_key: 64 * 1024 * 1024,
  context_bytes: 96 * 1024 * 1024,
  context_bytes_per_key: 48 * 1024 * 1024,
  answer_bytes: 64 * 1024 * 1024,
  answer_bytes_per_key: 32 * 1024 * 1024,
  failed_keys_per_address: 10,
} as const satisfies Record<string, number | null>;

export type RequestLimitName = keyof typeof REQUEST_LIMITS;

/** The largest body of a request, unless a setting names another: a prompt of a million tokens. */
export const DEFAULT_MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * The most work of a body, which is parsed and checked at once, in the units of `measureJson()`: more than a report of the most
 * calls with the most tags has, with other values in each.
 */
export const MAX_BODY_WORK = 200_000;

/** The largest body of a request through the gateway: prompts hold images. */
export const MAX_GATEWAY_BODY_BYTES = 32 * 1024 * 1024;

/** The same of a body through the gateway: an embeddings request may have some 300,000 token ids. */
export const MAX_GATEWAY_BODY_WORK = 400_000;

/** The limits that are set; the others have their defaults. */
export type RequestLimitSettings = { readonly [Name in RequestLimitName]?: number };

/** The largest `limit` of the lists that are returned whole without one: agents, alert rules and channels. */
export const MAX_PAGE = 1_000;

/** The `limit` of each other list: the default, and the most. */
export const PAGE_SIZES = {
  runs: { default: 100, max: 1_000 },
  sessions: { default: 100, max: 1_000 },
  events: { default: 500, max: 1_000 },
  calls: { default: 1_000, max: 1_000 },
  costs: { default: 100, max: 1_000 },
  repricings: { default: 100, max: 500 },
  anomalies: { default: 100, max: 500 },
  alerts: { default: MAX_ALERT_HISTORY, max: MAX_ALERT_HISTORY },
  keys: { default: 100, max: 1_000 },
  budgets: { default: 100, max: 1_000 },
  refusals: { default: 100, max: 1_000 },
  audit: { default: 100, max: 1_000 },
  raises: { default: 100, max: 1_000 },
  releases: { default: 100, max: 1_000 },
  approvals: { default: 100, max: 1_000 },
  importFiles: { default: 1_000, max: 1_000 },
  billImports: { default: 20, max: 1_000 },
  billLines: { default: 100, max: 1_000 },
  exportedRows: { default: 2_000, max: 10_000 },
} as const;

/** The lines of one request to `POST /bills/imports/{import_id}/lines`. */
export const MAX_BILL_LINES = 500;

/** The files of one request to `PUT /imports/files`. */
export const MAX_IMPORT_FILES = 500;

/**
 * A character that isn't a control character, in a syntax that the regular expressions of every language have. They
 * differ in `\p{…}`, in flags and in the definition of a character, and a published schema is read by all of them.
 */
export const PRINTABLE = "[^\\x00-\\x1f\\x7f-\\x9f]";

/**
 * A display name: 1 to 200 characters, no control characters, no lone surrogates. Not every database driver keeps those
 * unchanged.
 */
export const LABEL_PATTERN = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

/** The same for a JSON Schema. A lone surrogate can't be in JSON that is UTF-8. */
export const LABEL_SCHEMA = { minLength: 1, maxLength: 200, pattern: `^${PRINTABLE}*$` } as const;

/** The number of entries of each list of the live overview, at most. */
export const LIVE_SIZES = {
  minutes: 60,
  agents: 50,
  models: 50,
  runs: 100,
  alerts: 20,
  refusals: 20,
  budgets: 100,
  rules: 100,
  anomalies: 20,
};
