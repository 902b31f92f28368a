import { AGENT_STATUSES, ANOMALY_KINDS, SESSION_EVENT_TYPES, type Severity } from "../contract/values.ts";
import { isPostgresUrl, POSTGRES_PARAMETERS } from "../kernel/database_url.ts";
import type { StatesCost } from "../contract/costs/stated_costs.ts";
import type { RequestLimitSettings } from "../contract/limits.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import type { ChannelConfig } from "./channels.ts";
import type { Settings } from "./settings.ts";

/** An OpenAI-compatible server of the config, as `providers.<name>`. */
export interface ProviderSettings {
  /** The base URL of its API, such as `http://127.0.0.1:11434/v1`. */
  baseUrl: string;
  /** Its API key; default: none is sent. */
  apiKey?: string;
  /** Headers to add to each request. */
  headers?: Record<string, string>;
  /** The form in which its answers state the bill of a call; default: that of its address or its name, if one is known. */
  statesCost?: StatesCost;
  /** The treatment of a stream through the gateway whose client has left; default: `drain`, it is read to its end. */
  onDisconnect?: "abort" | "drain";
  /**
   * Headers of clients that the gateway passes on, besides those that it always does; `x-team-*` stands for all that begin so.
   */
  passHeaders?: string[];
}

/** A source of bills of the config, as an entry of `bill_imports`. */
export interface BillSetting {
  source: string;
  /** The provider's account. */
  account?: string;
  /** The environment variable that has the key; default: that of the source. */
  keyEnv?: string;
  /** The absolute path of a file that has the key instead. */
  keyFile?: string;
  /** The address of the API, such as that of a proxy; default: the source's own. */
  baseUrl?: string;
  /** True for usage by the minute. */
  isByMinute?: boolean;
}

/**
 * Every setting of a Purser process, after precedence: those with one value, and those that have a form of their own. Secrets
 * are in plaintext: never log all of it.
 */
export interface Config extends Settings {
  /** As `parseDatabaseUrl` reads it. Empty only if a server is used and no data directory is known. */
  dbUrl: string;
  /** The setting that names the database, such as `--db`. Undefined: it is the default one. */
  dbSource?: string;
  /** The token for a remote database. */
  dbToken?: string;
  /** Base URL of the Purser server to use, without a trailing slash. Undefined: use `dbUrl`. */
  server?: string;
  /** The setting that names the server. */
  serverSource?: string;
  /** The API key for that server. */
  apiKey?: string;
  /** A file that holds the API key, read when the key is needed; see `readKeyFile`. */
  apiKeyFile?: string;
  /** The profile of the config file that named the server or the database. */
  profile?: string;
  /** The limits on requests, as in `limits` of the file; a missing one has its default. */
  requestLimits: RequestLimitSettings;
  providers: Record<string, ProviderSettings>;
  prices: PriceOverride[];
  /**
   * The folder in which calls that can't be booked wait. Undefined: beside a local database, and for a server in the user's
   * data directory, where that is known.
   */
  spoolFolder?: string;
  /** The folder of updated prices, in the user's data directory. Undefined where no data directory is known. */
  pricesFolder?: string;
  /** Absolute paths of TypeScript modules with tools. */
  tools: string[];
  /** The notification channels, besides the `log` channel that always exists. */
  channels: ChannelConfig[];
  /** Absolute paths of TypeScript modules that define channel kinds. */
  plugins: string[];
  /** The private networks that channels may connect to, such as `10.0.0.0/8`. */
  allowPrivateNetworks: string[];
  /** The networks of the proxies whose `Forwarded` and `X-Forwarded-For` headers name the client. */
  trustedProxies: string[];
  limits: Limits;
  /** The agents whose imported and exported calls a plan pays for, by the names of their importers. */
  importPlans?: string[];
  /** The prices of such plans in USD a month, by the agent, where the config has them. */
  planPrices?: Readonly<Record<string, number>>;
  /** The scopes of telemetry whose sums are booked where no call lies beneath. */
  importSums?: string[];
  /** The bills that a server imports every day, and the access to their sources. */
  billImports?: BillSetting[];
  /** The lowest severity of anomalies that channels are notified of. Undefined: none. */
  notifyAnomaliesFrom?: Severity;
  /** The keys and tokens of profiles that are not selected; they are never sent, and never shown either. */
  otherSecrets?: string[];
  /** The absolute path of the config file that was read. */
  configPath?: string;
  /** The keys that the config file has. */
  fileKeys?: string[];
}

/** The limits that protect a server from its clients; a missing one has the server's default. */
export interface Limits {
  connections?: number;
  connectionsPerAddress?: number;
  headersSeconds?: number;
  idleSeconds?: number;
  minBodyBytesPerSecond?: number;
  unreadSeconds?: number;
  /** The time in which a server ends after a signal. */
  shutdownSeconds: number;
}

/** Settings from the command line; they override the environment and the config file. */
export interface ConfigOptions extends Partial<Settings> {
  configPath?: string;
  dbUrl?: string;
  server?: string;
  apiKey?: string;
  /** A profile of the config file; excludes `dbUrl` and `server`. */
  profile?: string;
}

/** The environment variables whose whole value is a secret. */
const SECRET_VARIABLES = [
  "OPENAI_API_KEY",
  "ANTHROPIC_API_KEY",
  "GOOGLE_GENERATIVE_AI_API_KEY",
  "PURSER_API_KEY",
  "PURSER_DB_TOKEN",
];

/** The variables of URLs, and of the headers of telemetry (`name=value,…`), which may contain secrets. */
const URL_VARIABLES =
  /^(?:OPENAI_BASE_URL|ANTHROPIC_BASE_URL|GOOGLE_GENERATIVE_AI_BASE_URL|PURSER_DB|(?:HTTPS?|ALL)_PROXY)$/i;
const HEADER_VARIABLES = /^OTEL_EXPORTER_OTLP_(?:\w+_)?HEADERS$/;

/** Headers of providers that contain no secret: everyone may know the application, the API and its version. */
const ORDINARY_HEADER =
  /^(?:accept(?:-.*)?|content-type|user-agent|(?:http-)?referer|origin|x-title|.*-(?:version|beta|organization|project))$/i;

/** Names of channel settings that are secret, until the channel opens and its plugin says exactly which are. */
const SECRET_SETTING = /url|pass|secret|token|key|auth|credential|header/i;

/**
 * Lists the values that are configured as secrets, and the names beside them, which are shown: a provider whose key equals its
 * name has no secret key.
 */
export function secretsOf(
  config: Partial<Config>,
  env: Readonly<Record<string, string | undefined>>,
): { values: string[]; names: string[] } {
  const { providers = {}, channels = [] } = config;
  const values = [config.dbToken, config.apiKey, ...SECRET_VARIABLES.map((name) => env[name])];
  for (const [name, text = ""] of Object.entries(env)) {
    if (URL_VARIABLES.test(name)) values.push(...secretsInUrl(text));
    if (HEADER_VARIABLES.test(name)) {
      values.push(...text.split(",").map((pair) => pair.replace(/^[^=]*=/, "")));
    }
  }
  values.push(...config.otherSecrets ?? [], ...secretsInUrl(config.dbUrl ?? ""));
  for (const { baseUrl, apiKey, headers = {} } of Object.values(providers)) {
    values.push(apiKey, ...secretsInUrl(baseUrl));
    values.push(
      ...Object.entries(headers).flatMap(([name, value]) => ORDINARY_HEADER.test(name) ? [] : value),
    );
  }
  for (const { settings } of channels.filter((channel) => "settings" in channel)) {
    for (const [name, setting] of Object.entries(settings)) {
      if (SECRET_SETTING.test(name)) values.push(...textsIn(setting));
    }
  }
  const names = [
    ...Object.keys(providers),
    ...channels.map(({ name }) => name),
    ...(config.environment === undefined ? [] : [config.environment]),
    ...[...AGENT_STATUSES, ...ANOMALY_KINDS, ...SESSION_EVENT_TYPES, "assistant", "tool-call", "tool-result"],
  ];
  return { values: values.filter((value) => value !== undefined), names };
}

/** Returns the texts of a setting; of a URL the parts after the host, and its user. */
function textsIn(setting: unknown): string[] {
  if (typeof setting === "string") return isUrl(setting) ? secretsInUrl(setting, true) : [setting];
  if (typeof setting !== "object" || setting === null) return [];
  return Object.entries(setting).flatMap(([key, part]) => key === "file" ? [] : textsIn(part));
}

const isUrl = (text: string) => /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text);

function secretsInUrl(text: string, isPathSecret = false): string[] {
  if (!isUrl(text)) return [];
  const { password, searchParams, pathname, hash } = new URL(text);
  const path = isPathSecret ? [pathname, hash] : [];
  const isOrdinary = (name: string) => isPostgresUrl(text) && POSTGRES_PARAMETERS.includes(name);
  const parameters = [...searchParams].flatMap(([name, value]) => isOrdinary(name) ? [] : value);
  return [password, ...parameters, ...path]; // a password is decoded by what searches for it
}
