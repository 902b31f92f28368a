import type { Durability, Severity } from "../contract/values.ts";
import type { ConfigFile } from "./file/schema.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import { findConfigFile, findDataFile, type Platform } from "./directories.ts";
import { PurserError } from "../kernel/errors.ts";
import { LOG_LEVELS, type LogLevel } from "../kernel/log.ts";
import { readTextFile } from "../kernel/files.ts";
import { choosePlace } from "./choose_place.ts";
import { type ChannelConfig, nameChannels } from "./file/name_channels.ts";
import { oneOf, pickSetting, wholeNumber } from "./pick_setting.ts";
import { readConfigText } from "./file/read_config_text.ts";
import type { ListedProfile, ProfilesFile } from "./profiles/profiles_file.ts";

export { BUILT_IN_PROVIDERS } from "./built_in_providers.ts";
export { readKeyFile } from "./read_key_file.ts";
export { CHANNEL_NAME, DEFAULT_CHANNEL_TIMEOUT_MS, nameChannels } from "./file/name_channels.ts";
export { describeIssue } from "./file/describe_issue.ts";
export type { ChannelConfig, ListedProfile, PriceOverride, ProfilesFile };

/** Environment variables by name. Handed in everywhere, so that an edge entry can pass its own record. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** An OpenAI-compatible server of the config, as `providers.<name>`. */
export interface ProviderSettings {
  baseUrl: string;
  apiKey?: string;
  headers?: Record<string, string>;
}

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
  /** A file that holds the key, read when it is needed; see `readKeyFile`. */
  apiKeyFile?: string;
  /** The profile of the config file that named the server or the database. */
  profile?: string;
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

/** The largest snapshot that is read where the config says nothing: 256 MiB. */
export const DEFAULT_MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024;

/** What the command line may set; each wins over the environment and the file. */
export interface ConfigOptions {
  configPath?: string;
  dbUrl?: string;
  server?: string;
  apiKey?: string;
  /** A place that the config file names; not together with `dbUrl` or `server`. */
  profile?: string;
  host?: string;
  port?: number;
  logLevel?: LogLevel;
}

/** The process's environment. The only place in Purser that reads it. */
export function readEnvironment(): Record<string, string> {
  // Deno's own where there is one: Node's `process` takes Deno as long to load as all of a short command.
  return globalThis.Deno?.env.toObject() ?? { ...globalThis.process.env };
}

/**
 * Settles every setting: option > environment > profile > config file > default. A profile that an option names is
 * an option itself. The config file comes from
 * `--config`, `PURSER_CONFIG` or the user's config directory, never from the working directory, because it
 * can name code to load. `PURSER_CONFIG_JSON` is the document itself, in place of a file. Throws `invalid`, naming
 * the option, variable or path in the file that is wrong.
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
  const { path, isNamed } = findConfig(env, options.configPath, platform);
  const inline = options.configPath ? undefined : env.PURSER_CONFIG_JSON || undefined;
  if (inline !== undefined && isNamed) {
    throw new PurserError(
      "invalid",
      "Cannot use PURSER_CONFIG_JSON together with PURSER_CONFIG: give one of them",
    );
  }
  const text = inline === undefined
    ? await readConfigText(path, isNamed, input.readTextFile ?? readTextFile)
    : { path: undefined, content: inline };
  let file: ConfigFile = {};
  let configPath: string | undefined;
  if (text) {
    // Late: a machine without a config file starts without zod and the JSON parser.
    const { parseConfigFile } = await import("./file/parse_config_file.ts");
    ({ file, configPath } = parseConfigFile(text.content, {
      path: text.path,
      env,
      profile: options.profile ?? env.PURSER_PROFILE,
    }));
  }

  const { dbUrl, ...place } = choosePlace({ options, env, file, configPath });
  const pick = (
    option: string,
    fromOption: string | undefined,
    variable: string,
    fromFile: string | undefined,
  ) => pickSetting(option, fromOption, env[variable], variable, fromFile);
  const config: Config = {
    environment: pick("environment", undefined, "PURSER_ENVIRONMENT", file.environment).value ?? "local",
    dbUrl: dbUrl ?? findDataFile(env, platform) ?? "",
    ...place,
    durability: oneOf(pick("durability", undefined, "PURSER_DURABILITY", file.durability), [
      "full",
      "normal",
    ]) ?? "full",
    host: pick("--host", options.host, "PURSER_HOST", file.host).value ?? "127.0.0.1",
    port: wholeNumber(pick("--port", options.port?.toString(), "PURSER_PORT", file.port?.toString()), {
      max: 65_535,
    }) ?? 8420,
    logLevel: oneOf(pick("--log-level", options.logLevel, "PURSER_LOG_LEVEL", file.log_level), LOG_LEVELS) ??
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
  const notifyFrom = file.anomalies?.notify_from;
  if (notifyFrom !== undefined) config.notifyAnomaliesFrom = notifyFrom;
  if (configPath !== undefined) config.configPath = configPath;
  if (config.dbUrl === "" && config.server === undefined) {
    throw new PurserError(
      "invalid",
      "Cannot choose a database: the home directory is not known; give --db or set PURSER_DB",
    );
  }
  return config;
}

/** Which file is the config: the one that is named, or the user's own, which need not be there. */
function findConfig(env: Environment, option: string | undefined, platform: Platform) {
  const named = option || env.PURSER_CONFIG || undefined;
  return { path: named ?? findConfigFile(env, platform), isNamed: named !== undefined };
}

/**
 * The profiles of the config file, to be listed and changed; nothing else of the file needs to be right. Late: it needs
 * zod and the JSON editor, which most commands don't.
 *
 * @throws {PurserError} `invalid` where no place for a config file is known
 */
export async function openProfiles({ env, configPath }: {
  env: Environment;
  configPath?: string;
}): Promise<ProfilesFile> {
  const { path } = findConfig(env, configPath, currentPlatform());
  if (path === undefined) {
    throw new PurserError(
      "invalid",
      "Cannot find the config file: the home directory is not known; give --config or set PURSER_CONFIG",
    );
  }
  const module = await import("./profiles/profiles_file.ts");
  return module.openProfilesFile(path);
}

function currentPlatform(): Platform {
  // An edge runtime has no home directory; what is left of the conventions is harmless there.
  const os: string | undefined = globalThis.Deno?.build.os ?? globalThis.process?.platform;
  return os === "windows" || os === "win32" ? "windows" : os === "darwin" ? "darwin" : "linux";
}
