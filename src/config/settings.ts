import { DEFAULT_MAX_BODY_BYTES } from "../contract/limits.ts";
import { DURABILITIES, PRICE_UPDATES } from "../contract/values.ts";
import { LOG_FORMATS, LOG_LEVELS } from "../kernel/log.ts";
import { parseDownloadUrl } from "../kernel/loopback_host.ts";
import { toSnakeCase } from "../kernel/text.ts";
import { MAX_MONTH_START_DAY, readTimeZone, UTC, WEEK_DAYS } from "../contract/calendars/zones.ts";
import { oneOf, pickSetting, RANK, readText, wholeNumber } from "./pick_setting.ts";

/** A setting with one value: a text, one of some words, or a whole number. */
interface SettingRow {
  /** A number for a setting that is one. */
  default: string | number;
  oneOf?: readonly string[];
  /** Returns the value as it is used. Throws an error that says what is wrong. */
  read?: (text: string) => string;
  /** The smallest number; without it, a number is positive. */
  min?: number;
  max?: number;
  /** It has an environment variable: `PURSER_LOG_LEVEL` for `logLevel`. */
  hasVariable?: true;
  /** It has an option of `purser serve`, `--log-level` for `logLevel`: its value in the help, and its summary. */
  option?: readonly [value: string, summary: string];
}

const DEFAULT_MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024;

function readUpdateCheck(text: string): string {
  return text === "off" ? text : parseDownloadUrl(text).href.replace(/\/+$/, "");
}

/** 6 MiB: the largest models read about 4 MB of text. */
const DEFAULT_MAX_CONTEXT_BYTES = 6 * 1024 * 1024;

/**
 * The settings with one value. The key of the config file (`log_level`), its schema, the environment variable, the option of
 * `purser serve`, the type in `Config` and the field of a core are all made from a row.
 */
export const SETTINGS = {
  /** The name of this environment; snapshots carry it. */
  environment: { default: "local", hasVariable: true },
  durability: { default: "full", oneOf: DURABILITIES, hasVariable: true },
  host: {
    default: "127.0.0.1",
    hasVariable: true,
    option: ["ADDRESS", "Address to listen on (default 127.0.0.1)"],
  },
  port: {
    default: 8420,
    min: 0,
    max: 65_535,
    hasVariable: true,
    option: ["N", "Port to listen on (default 8420); 0 for any free one"],
  },
  logLevel: {
    default: "warn",
    oneOf: LOG_LEVELS,
    hasVariable: true,
    option: ["LEVEL", "Lowest level to log (default info, with a line per request)"],
  },
  /** The form of log lines; `auto`: for people on a terminal, else JSON. */
  logFormat: {
    default: "auto",
    oneOf: LOG_FORMATS,
    hasVariable: true,
    option: ["FORMAT", "Form of the log (default auto: text on a terminal, else JSON)"],
  },
  /** The timeout of one request to a remote database or server. */
  remoteTimeoutMs: { default: 10_000, max: 600_000 },
  /** The largest request body that the server reads. */
  maxBodyBytes: { default: DEFAULT_MAX_BODY_BYTES },
  /** The largest snapshot that is read, uncompressed. */
  maxSnapshotBytes: { default: DEFAULT_MAX_SNAPSHOT_BYTES },
  /** The most that the messages of a run may have, and a message that is restored. */
  maxContextBytes: { default: DEFAULT_MAX_CONTEXT_BYTES },
  /** The seconds that a call of a run waits for the answer to a ticket. */
  approvalTimeoutSeconds: { default: 300, min: 0, max: 86_400 },
  /** The form of the status line; see docs/agents.md. */
  statuslineTemplate: { default: "{session} · {today} today · {budget} · {plan}" },
  /** `daily`: a server updates the prices by itself. */
  priceUpdates: { default: "never", oneOf: PRICE_UPDATES },
  /** The npm registry that is asked once a day for a newer release; `off`: none is. */
  updateCheck: { default: "https://registry.npmjs.org", read: readUpdateCheck, hasVariable: true },
  /** The time zone of reports, and of budgets and rules that are added without one. */
  timeZone: { default: UTC.timeZone, read: readTimeZone, hasVariable: true },
  /** The first day of a week, of the same. */
  weekStart: { default: UTC.weekStart, oneOf: WEEK_DAYS },
  /** The first day of a month, of the same: 15 for months from the 15th. */
  monthStartDay: { default: UTC.monthStartDay, max: MAX_MONTH_START_DAY },
} as const satisfies Record<string, SettingRow>;

type ValueOf<Row> = Row extends { oneOf: readonly (infer Word)[] } ? Word
  : Row extends { default: number } ? number
  : string;

/** The values of the settings. */
export type Settings = { -readonly [Name in keyof typeof SETTINGS]: ValueOf<(typeof SETTINGS)[Name]> };

/** The rows by name, each with its names in the config file, the environment and the command line. */
export const SETTING_ROWS = Object.entries<SettingRow>(SETTINGS).map(([name, row]) => {
  const key = toSnakeCase(name);
  const optionName = key.replaceAll("_", "-");
  return { name: name as keyof Settings, key, variable: `PURSER_${key.toUpperCase()}`, optionName, ...row };
});

/** Returns the settings with the default of each that is not given. */
export function withDefaults(given: Partial<Settings>): Settings {
  return Object.fromEntries(
    SETTING_ROWS.map((row) => [row.name, given[row.name] ?? row.default]),
  ) as unknown as Settings;
}

/** Reads the settings: option > environment > config file > default. Throws `invalid`, naming the option or the variable. */
export function readSettings({ options, env, file, defaults }: {
  options: Partial<Settings>;
  env: Readonly<Record<string, string | undefined>>;
  /** The config file, which is checked. */
  file: Readonly<Record<string, unknown>>;
  /** Defaults that differ by entry point. */
  defaults: Partial<Settings>;
}): Settings {
  const read = (row: typeof SETTING_ROWS[number]) => {
    const { key, variable, optionName, min = 1, max = Number.MAX_SAFE_INTEGER } = row;
    const name = row.option ? `--${optionName}` : key;
    const fromEnvironment = row.hasVariable && env[variable];
    const given = options[row.name]?.toString();
    const setting = pickSetting(name, given, fromEnvironment, variable, file[key]?.toString());
    if (setting.rank === RANK.none) return defaults[row.name];
    if (setting.rank === RANK.file) return row.read ? row.read(String(file[key])) : file[key];
    if (row.oneOf) return oneOf(setting, row.oneOf);
    return typeof row.default === "number" ? wholeNumber(setting, min, max) : readText(setting, row.read);
  };
  return withDefaults(Object.fromEntries(SETTING_ROWS.map((row) => [row.name, read(row)])));
}
