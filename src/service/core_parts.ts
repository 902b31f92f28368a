import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ToolSet } from "ai";
import type { AlertEvaluator, KnownRules } from "../alerts/mod.ts";
import type { BookingWriter, RollUps } from "../calls/mod.ts";
import type { CallSpool } from "../calls/spool/mod.ts";
import type { BudgetInCode } from "../budgets/mod.ts";
import type { KnownBudgets } from "../budgets/known/mod.ts";
import type { BudgetGate } from "../budgets/reservations/mod.ts";
import type { Bus, Feed } from "../bus/mod.ts";
import type {
  BillSetting,
  Config,
  Environment,
  ListenAddress,
  ProviderSources,
  Settings,
} from "../config/mod.ts";
import type { BuiltInChannels, Channels, ChannelsOptions } from "../delivery/channels/mod.ts";
import type { OutboxChannel } from "../delivery/mod.ts";
import type { RequestLimitSettings } from "../contract/limits.ts";
import type { GatewayState } from "../gateway/mod.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Turns } from "../kernel/turns.ts";
import type { Monitor } from "../monitor/mod.ts";
import type { KeyCache, SharedKeys } from "../keys/mod.ts";
import type { ModelCall } from "../ledger/mod.ts";
import type { LazyPriceBook } from "../pricing/mod.ts";
import type { Secrets } from "../redaction/values/mod.ts";
import type { ModelResolver } from "../runner/models/mod.ts";
import type { Toolbox } from "../runner/tools/mod.ts";
import type { LiveRun, LogReader } from "../sessions/mod.ts";
import type { GenerationsInUse } from "../snapshots/generations/mod.ts";
import type { SpoolOptions } from "../snapshots/files/mod.ts";
import type { Author, Query, SharedStore, SqliteDriver, Store } from "../store/mod.ts";
import type { LiveReader } from "./live/mod.ts";
import type { Telemetry } from "../telemetry/mod.ts";

/** Options of a core. The environment and defaults fill in the rest. */
export interface CoreOptions {
  /** Those that are left out have their defaults. */
  config: Pick<Config, "dbUrl"> & Partial<Config>;
  /** Rules and channels of a program; its channels come after those of the config. */
  alerts?: AlertEvaluator;
  /** Budgets of a program, which are stored like any other. */
  budgets?: readonly BudgetInCode[];
  /** Keys and base URLs of the model providers. */
  env?: Environment;
  clock?: Clock;
  ids?: Ids;
  log?: Log;
  /** Who makes the changes of this process that are not a request's; default: its code. */
  author?: Author;
  /** The secrets of this process, where a caller has collected them already. */
  secrets?: Secrets;
  fetch?: typeof globalThis.fetch;
  /** Opens local databases; default: the runtime's SQLite. */
  sqlite?: SqliteDriver;
  /** The process only reads: it recovers, delivers and removes nothing, and loads no tools. */
  isReadOnly?: boolean;
  /** True for a server: long queries over a large local file run in threads of their own. */
  isServer?: boolean;
  /** For measurements: leaves the totals as they are. */
  rollUp?: "never";
  /** Models of a library user by name; they come before all others. */
  models?: Readonly<Record<string, LanguageModelV4>>;
  /** Tools of a library user by name. */
  tools?: ToolSet;
  /** Replaces the files, sockets and caches of a machine. */
  runtime?: Runtime;
  /** Receives spans and metrics; default: the OpenTelemetry implementation of this process, if any. */
  telemetry?: Telemetry;
}

/** The replacements of a runtime without files and sockets; see `openRequestCore()`. */
export interface Runtime {
  store: SharedStore;
  keys: SharedKeys;
  prices: LazyPriceBook;
  /** Replace built-in kinds of channels. */
  plugins: BuiltInChannels;
  channels: Pick<ChannelsOptions, "readTextFile" | "loadModule" | "reachOut">;
  spool: SpoolOptions;
  keepAlive(work: Promise<unknown>): void;
}

/**
 * The parts that every process and request has from its start, over one database. A function takes only the parts that it
 * needs, as a `…Context` of its folder.
 */
export interface CoreParts extends Settings {
  // Machine
  clock: Clock;
  /** Divides the event loop among long work. */
  turns: Turns;
  ids: Ids;
  log: Log;
  /** Who makes the changes of this process that are not a request's, for the audit log. */
  author: Author;
  telemetry: Telemetry;
  /** The configured secrets, which are kept and shown nowhere. */
  secrets: Secrets;

  // Database
  store: Store;
  query: Query;
  /** This process, as the holder of leases. */
  instanceId: string;
  bus: Bus;
  bookedCalls: Feed<ModelCall>;

  // What calls are decided on
  prices: LazyPriceBook;
  budgets: KnownBudgets;
  rules: KnownRules;
  /** The channels that the settings name, `log` included. */
  outboxChannels: readonly OutboxChannel[];
  /** Delivers what has fired. */
  wakeDispatcher(subjectIds: readonly string[]): void;
  /** The calls that were made and could not be booked. */
  callSpool: CallSpool;

  // Runs
  models: ModelResolver;
  toolbox: Toolbox;
  /** The runs of this process, by id. */
  liveRuns: Map<string, LiveRun>;
  /** The calls of this process's gateway that are with a provider, by id. */
  gatewayCalls: GatewayState["calls"];
  /** The settings that name the model providers. */
  providerSources: ProviderSources;

  // Snapshots
  spool: SpoolOptions | undefined;
  generationsInUse: GenerationsInUse;

  // HTTP API
  keyCache: KeyCache;
  /** The limits on requests to a server. */
  requestLimits: RequestLimitSettings;
  /** The agents whose exported calls a plan pays for. */
  plans: readonly string[];
  /** The prices of plans in USD a month, by the agent. */
  planPrices: Readonly<Record<string, number>>;
  /** The scopes of telemetry whose sums are booked where no call lies beneath. */
  sums: readonly string[];
  /** The bills that a server imports every day, and the access to their sources. */
  billImports: readonly BillSetting[];
  /** Absolute paths of modules that define channels, importers and sources of bills. */
  plugins: readonly string[];
  /** Makes the requests to the APIs of sources of bills; default: that of the runtime. */
  fetch: typeof globalThis.fetch | undefined;
  /** The config file that the settings come from, if any. */
  configPath: string | undefined;
  /** The address that a server of these settings listens on; null where the settings have none. */
  listenAddress: ListenAddress | null;

  // Lifetime
  /** Aborts when the core is about to close; streams without an end of their own end then. */
  stopping: AbortSignal;
  /** Aborts `stopping`. */
  stop(): void;
  /** Registers work that outlives its request, on platforms that end a process with the request. */
  keepAlive: ((work: Promise<unknown>) => void) | undefined;
}

/** The parts that make calls, book them, watch them and deliver what fires. They open together, on first use. */
export interface WorkParts {
  gate: BudgetGate;
  /** Commits bookings. */
  bookings: BookingWriter;
  rollUps: RollUps;
  channels: Channels;
  gateway: GatewayState;
  /** Detects anomalies in the behavior of agents. */
  monitor: Monitor;
  /** Reads the event log, once for all streams. */
  logReader: LogReader;
  /** Reads the live overview, once for all streams. */
  live: LiveReader;
}
