import type { ConfigFile } from "./config/schema.ts";
import type { PriceOverride } from "./price_override.ts";
import { findConfigFile, findDataFile, type Platform } from "./config/directories.ts";
import { messageOf, PurserError } from "./errors.ts";
import { LOG_LEVELS, type LogLevel } from "./log.ts";
import type { Severity } from "./severity.ts";
import { type ChannelConfig, nameChannels } from "./config/name_channels.ts";

export { type DatabaseAddress, parseDatabaseUrl } from "./config/database_url.ts";
export { BUILT_IN_PROVIDERS } from "./config/built_in_providers.ts";
export { nearestName } from "./config/nearest_name.ts";
export { CHANNEL_NAME, DEFAULT_CHANNEL_TIMEOUT_MS, nameChannels } from "./config/name_channels.ts";
export { describeIssue } from "./config/describe_issue.ts";
export type { ChannelConfig, PriceOverride };

/** Environment variables by name. Handed in everywhere, so that an edge entry can pass its own record. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** An OpenAI-compatible server of the config, as `providers.<name>`. */
export interface ProviderSettings {
  baseUrl: string;
  apiKey?: string;
  headers?: Record<string, string>;
}

/** Whether a commit waits for the disk (`full`) or may be lost at a power cut (`normal`). */
export type Durability = "full" | "normal";

/** Every setting of a Purser process, after precedence. Secrets are in clear: never log it whole. */
export interface Config {
  /** The name of this environment; snapshots carry it. */
  environment: string;
  /** What `parseDatabaseUrl` reads. Empty only if a server is used and no data directory is known. */
  dbUrl: string;
  /** The token of a remote database. */
  dbToken?: string;
  durability: Durability;
  /** Base URL of a Purser server to work through, without a slash at its end. Undefined: work on `dbUrl`. */
  server?: string;
  /** The key a client shows to that server. */
  apiKey?: string;
  host: string;
  port: number;
  logLevel: LogLevel;
  /** How long one request to a remote database or server may take. */
  remoteTimeoutMs: number;
  /** The largest request body that the server reads. */
  maxBodyBytes: number;
  /** The largest snapshot that is read, uncompressed. */
  maxSnapshotBytes: number;
  providers: Record<string, ProviderSettings>;
  prices: PriceOverride[];
  /** Absolute paths of TypeScript modules with tools. */
  tools: string[];
  /** Where notifications go, beside the `log` channel that is always there. */
  channels: ChannelConfig[];
  /** Absolute paths of TypeScript modules with kinds of channels. */
  plugins: string[];
  /** The private networks that channels may reach, as `10.0.0.0/8`. */
  allowPrivateNetworks: string[];
  /** From which severity anomalies are told to the channels. Undefined: never. */
  notifyAnomaliesFrom?: Severity;
  /** The absolute path of the config file that was read. */
  configPath?: string;
}

/** How long the name of an environment may be; it goes into every snapshot. */
export const MAX_ENVIRONMENT_NAME = 200;

/** The largest snapshot that is read where the config says nothing: 256 MiB. */
export const DEFAULT_MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024;

/** What the command line may set; each wins over the environment and the file. */
export interface ConfigOptions {
  configPath?: string;
  dbUrl?: string;
  server?: string;
  apiKey?: string;
  host?: string;
  port?: number;
  logLevel?: LogLevel;
}

/** The process's environment. The only place in Purser that reads it. */
export function readEnvironment(): Record<string, string> {
  return Deno.env.toObject();
}

/**
 * Settles every setting: option > environment > config file > default. The config file comes from
 * `--config`, `PURSER_CONFIG` or the user's config directory, never from the working directory, because it
 * can name code to load. Throws `invalid`, naming the option, variable or path in the file that is wrong.
 */
export async function loadConfig(input: {
  env: Environment;
  options?: ConfigOptions;
  /** Defaults of this entry where they differ: a server logs more than a command. */
  defaults?: { logLevel?: LogLevel };
  readTextFile?: (path: string) => Promise<string>;
  platform?: Platform;
}): Promise<Config> {
  const { env, options = {}, defaults = {} } = input;
  const platform = input.platform ?? currentPlatform();
  if (isSet(options.server) && isSet(options.dbUrl)) {
    throw new PurserError("invalid", "Cannot use --server together with --db: give one of them");
  }
  const named = nonEmpty(options.configPath) ?? nonEmpty(env.PURSER_CONFIG);
  const readTextFile = input.readTextFile ?? ((path) => Deno.readTextFile(path));
  const text = await readConfigText(
    named ?? findConfigFile(env, platform),
    named !== undefined,
    readTextFile,
  );
  let file: ConfigFile = {};
  let configPath: string | undefined;
  if (text) {
    // Late: a machine without a config file starts without zod and the JSON parser.
    const { parseConfigFile } = await import("./config/parse_config_file.ts");
    ({ file, configPath } = parseConfigFile(text.content, { path: text.path, env }));
  }

  const server = pick("server", options.server, env, "PURSER_SERVER", file.server);
  const db = pick("db", options.dbUrl, env, "PURSER_DB", file.db);
  const useServer = server.value !== undefined && server.rank >= db.rank;
  const config: Config = {
    environment: pick("environment", undefined, env, "PURSER_ENVIRONMENT", file.environment).value ?? "local",
    dbUrl: db.value ?? findDataFile(env, platform) ?? "",
    durability: oneOf(pick("durability", undefined, env, "PURSER_DURABILITY", file.durability), [
      "full",
      "normal",
    ]) ?? "full",
    host: pick("--host", options.host, env, "PURSER_HOST", file.host).value ?? "127.0.0.1",
    port: wholeNumber(pick("--port", options.port?.toString(), env, "PURSER_PORT", file.port?.toString()), {
      max: 65_535,
    }) ?? 8420,
    logLevel:
      oneOf(pick("--log-level", options.logLevel, env, "PURSER_LOG_LEVEL", file.log_level), LOG_LEVELS) ??
        defaults.logLevel ?? "warn",
    remoteTimeoutMs: file.remote_timeout_ms ?? 10_000,
    maxBodyBytes: file.max_body_bytes ?? 8 * 1024 * 1024,
    maxSnapshotBytes: file.max_snapshot_bytes ?? DEFAULT_MAX_SNAPSHOT_BYTES,
    providers: Object.fromEntries(
      Object.entries(file.providers ?? {}).map(([name, { base_url, api_key, headers }]) => [
        name,
        { baseUrl: base_url, ...(api_key && { apiKey: api_key }), ...(headers && { headers }) },
      ]),
    ),
    prices: file.prices ?? [],
    tools: file.tools ?? [],
    channels: nameChannels(file.channels ?? []),
    plugins: file.plugins ?? [],
    allowPrivateNetworks: file.allow_private_networks ?? [],
  };
  if (useServer) config.server = serverUrl(server);
  const dbToken = pick("db_token", undefined, env, "PURSER_DB_TOKEN", file.db_token).value;
  const apiKey = pick("--api-key", options.apiKey, env, "PURSER_API_KEY", file.api_key).value;
  if (dbToken !== undefined) config.dbToken = dbToken;
  if (apiKey !== undefined) config.apiKey = apiKey;
  const notifyFrom = file.anomalies?.notify_from;
  if (notifyFrom !== undefined) config.notifyAnomaliesFrom = notifyFrom;
  if (configPath !== undefined) config.configPath = configPath;
  if (config.dbUrl === "" && !useServer) {
    throw new PurserError(
      "invalid",
      "Cannot choose a database: the home directory is not known; give --db or set PURSER_DB",
    );
  }
  return config;
}

/** A setting with where it came from, for precedence and for messages. */
interface Setting {
  value: string | undefined;
  rank: 3 | 2 | 1 | 0;
  source: string;
}

function pick(
  option: string,
  fromOption: string | undefined,
  env: Environment,
  variable: string,
  fromFile: string | undefined,
): Setting {
  if (isSet(fromOption)) return { value: fromOption, rank: 3, source: option.replace(/^(?!--)/, "--") };
  const fromEnvironment = nonEmpty(env[variable]);
  if (fromEnvironment !== undefined) return { value: fromEnvironment, rank: 2, source: variable };
  if (isSet(fromFile)) return { value: fromFile, rank: 1, source: `${option} of the config file` };
  return { value: undefined, rank: 0, source: "default" };
}

function oneOf<const T extends string>(setting: Setting, allowed: readonly T[]): T | undefined {
  if (setting.value === undefined) return undefined;
  const found = allowed.find((value) => value === setting.value);
  if (found !== undefined) return found;
  throw new PurserError("invalid", `Cannot use ${setting.source}: it must be one of ${allowed.join(", ")}`);
}

function wholeNumber(setting: Setting, { max }: { max: number }): number | undefined {
  if (setting.value === undefined) return undefined;
  const value = /^\d{1,10}$/.test(setting.value) ? Number(setting.value) : NaN;
  if (value <= max) return value;
  throw new PurserError(
    "invalid",
    `Cannot use ${setting.source}: it must be a whole number from 0 to ${max}`,
  );
}

function serverUrl({ value = "", source }: Setting): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === "" && url.search === "" && url.hash === "") {
    return url.href.replace(/\/+$/, "");
  }
  throw new PurserError(
    "invalid",
    `Cannot use ${source}: it must be an http:// or https:// URL without user, query or fragment`,
  );
}

async function readConfigText(
  path: string | undefined,
  isNamed: boolean,
  readTextFile: (path: string) => Promise<string>,
): Promise<{ path: string; content: string } | undefined> {
  if (path === undefined) return undefined;
  try {
    return { path, content: await readTextFile(path) };
  } catch (error) {
    const isMissing = error instanceof Error &&
      (error.name === "NotFound" || (error as { code?: unknown }).code === "ENOENT");
    if (isMissing && !isNamed) return undefined;
    const reason = isMissing ? "there is no such file" : messageOf(error);
    throw new PurserError("invalid", `Cannot read the config file ${path}: ${reason}`, { cause: error });
  }
}

function currentPlatform(): Platform {
  // An edge runtime has no Deno and no home directory; what is left of the conventions is harmless there.
  const os = globalThis.Deno?.build?.os;
  return os === "windows" || os === "darwin" ? os : "linux";
}

function isSet(value: string | undefined): value is string {
  return value !== undefined;
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value === "" ? undefined : value;
}
