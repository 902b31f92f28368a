import type { Durability, PriceUpdates, Severity } from "../contract/values.ts";
import type { RequestLimitSettings } from "../contract/limits.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import type { LogFormat, LogLevel } from "../kernel/log.ts";
import type { ChannelConfig } from "./channels.ts";

/** An OpenAI-compatible server of the config, as `providers.<name>`. */
export interface ProviderSettings {
  /** The base URL of its API, such as `http://127.0.0.1:11434/v1`. */
  baseUrl: string;
  /** Its API key; default: none is sent. */
  apiKey?: string;
  /** Headers to add to each request. */
  headers?: Record<string, string>;
  /** The treatment of a stream through the gateway whose client has left; default: `drain`, it is read to its end. */
  onDisconnect?: "abort" | "drain";
}

/** Every setting of a Purser process, after precedence. Secrets are in plaintext: never log all of it. */
export interface Config {
  /** The name of this environment; snapshots carry it. */
  environment: string;
  /** As `parseDatabaseUrl` reads it. Empty only if a server is used and no data directory is known. */
  dbUrl: string;
  /** The setting that names the database, such as `--db`. Undefined: it is the default one. */
  dbSource?: string;
  /** The token for a remote database. */
  dbToken?: string;
  durability: Durability;
  /** Base URL of the Purser server to use, without a trailing slash. Undefined: use `dbUrl`. */
  server?: string;
  /** The API key for that server. */
  apiKey?: string;
  /** A file that holds the API key, read when the key is needed; see `readKeyFile`. */
  apiKeyFile?: string;
  /** The profile of the config file that named the server or the database. */
  profile?: string;
  host: string;
  port: number;
  logLevel: LogLevel;
  /** The form of log lines; `auto`: for people on a terminal, else JSON. */
  logFormat: LogFormat;
  /** The timeout of one request to a remote database or server. */
  remoteTimeoutMs: number;
  /** The largest request body that the server reads. */
  maxBodyBytes: number;
  /** The limits on requests, as in `limits` of the file; a missing one has its default. */
  requestLimits: RequestLimitSettings;
  /** The largest snapshot that is read, uncompressed. */
  maxSnapshotBytes: number;
  providers: Record<string, ProviderSettings>;
  prices: PriceOverride[];
  /** The folder of updated prices, in the user's data directory. Undefined where no data directory is known. */
  pricesFolder?: string;
  /** `daily`: a server updates the prices by itself. */
  priceUpdates: PriceUpdates;
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
  /** The lowest severity of anomalies that channels are notified of. Undefined: none. */
  notifyAnomaliesFrom?: Severity;
  /** The keys and tokens of profiles that are not selected; they are never sent, and never shown either. */
  otherSecrets?: string[];
  /** The absolute path of the config file that was read. */
  configPath?: string;
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

/** The default of `max_snapshot_bytes`: 256 MiB. */
export const DEFAULT_MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024;

/** Settings from the command line; they override the environment and the config file. */
export interface ConfigOptions {
  configPath?: string;
  dbUrl?: string;
  server?: string;
  apiKey?: string;
  /** A profile of the config file; excludes `dbUrl` and `server`. */
  profile?: string;
  host?: string;
  port?: number;
  logLevel?: LogLevel;
  logFormat?: LogFormat;
}
