/**
 * Purser as a library: runs agents, books every model call, stops at the budget, exports and restores sessions.
 *
 * ```ts
 * const purser = await openPurser({ db: ":memory:" });
 * const result = await purser.runAgent({ name: "echo", model: "demo:echo" }, "Hello");
 * console.log(result.output, result.token_usage.cost_usd);
 * await purser.close();
 * ```
 *
 * @module
 */
import { DURABILITIES, type Durability, SEVERITIES, type Severity } from "./contract/values.ts";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ToolSet } from "ai";
import { type Agent, defineAgent, toAgentDefinition } from "./agents/mod.ts";
import type { AlertEvaluator } from "./alerts/mod.ts";
import { type BudgetInCode, listBudgets } from "./budgets/mod.ts";
import type { Bus } from "./bus/mod.ts";
import { openDatabase } from "./client/mod.ts";
import type { WholeBudget } from "./contract/budgets/budgets.ts";
import { checkChannels } from "./delivery/channels/mod.ts";
import type { Clock } from "./kernel/clock.ts";
import { findSpoolFolder, type ProviderSettings, readEnvironment } from "./config/mod.ts";
import { readNamedAgent } from "./contract/agents.ts";
import type { CostRow } from "./contract/costs.ts";
import type { Session } from "./contract/sessions.ts";
import { PurserError } from "./kernel/errors.ts";
import { type App, createApp } from "./http/mod.ts";
import type { Ids } from "./kernel/ids.ts";
import { checkNames, namesOf } from "./kernel/known_names.ts";
import { type Log, silentLog } from "./kernel/log.ts";
import {
  type AgentInput,
  type CloseOptions,
  type CostsOptions,
  type ExportOptions,
  type ImportSessionOptions,
  METER_NAMES,
  type MeterOptions,
  OPTION_NAMES,
  type PriceRow,
  readCosts,
  readSessions,
  type RunOptions,
  type SessionsOptions,
} from "./client/library/mod.ts";
import { meter, runAgent, type RunResult } from "./runner/mod.ts";
import { exportSession, type ImportResult, importSession, type Snapshot } from "./snapshots/mod.ts";
import { bytesOf, readSnapshot } from "./snapshots/document/mod.ts";

export { type ImportResult, type Snapshot } from "./snapshots/mod.ts";
export { readSnapshot, writeSnapshot } from "./snapshots/document/mod.ts";
export { BudgetExceededError, type ErrorCode, PurserError } from "./kernel/errors.ts";
export { createSingleSendFetch } from "./kernel/single_send.ts";
export type { Bus, BusEvent } from "./bus/mod.ts";
export type { CostEvent, TokenUsage } from "./ledger/mod.ts";
export type { RunPart, RunResult, ToolKit } from "./runner/mod.ts";
export type {
  AgentInput,
  CloseOptions,
  CostsOptions,
  ExportOptions,
  ImportSessionOptions,
  MeterOptions as MeterContext,
  PriceRow as PriceOverride,
  RunOptions,
  SessionsOptions,
} from "./client/library/mod.ts";
export type { CostRow } from "./contract/costs.ts";
export type { Session } from "./contract/sessions.ts";
export {
  type AlertDispatcher,
  type AlertEvaluator,
  type AlertRule,
  type ChannelInput,
  createAlertEvaluator,
  createDispatcher,
  type RuleInCode,
} from "./alerts/mod.ts";
export {
  type Channel,
  type ChannelKit,
  type ChannelModule,
  type ChannelPlugin,
  defineChannel,
  type NamedChannel,
  type Notification,
  type SendResult,
} from "./delivery/channels/mod.ts";
export type { Agent } from "./agents/mod.ts";
export type { BudgetInCode } from "./budgets/mod.ts";
export type { WholeBudget as Budget } from "./contract/budgets/budgets.ts";
export type { RefusedBy } from "./contract/budgets/budget_refusals.ts";
export type { BudgetMode, Severity } from "./contract/values.ts";
export type { ProviderSettings } from "./config/mod.ts";
export type { Log } from "./kernel/log.ts";

/** Settings of `openPurser`. */
export interface PurserOptions {
  /** A path, `:memory:`, `libsql://…` or `https://…`; the library has no default. */
  db: string;
  /** The token of a remote database. */
  dbToken?: string;
  /** `full` (the default): every commit is on the disk; `normal`: the last ones may be lost at a power failure. */
  durability?: Durability;
  /** The name of this environment; default `local`. */
  environment?: string;
  /** Models by name, `provider:model` or bare; they precede the built-in providers. */
  models?: Readonly<Record<string, LanguageModelV4>>;
  /** Tools by name; agents name those they use. */
  tools?: ToolSet;
  /** OpenAI-compatible servers by name. */
  providers?: Record<string, ProviderSettings>;
  /** Prices that override the catalog's. */
  prices?: PriceRow[];
  /** The folder of prices that `purser prices update` has updated; the library has no default. */
  pricesFolder?: string;
  /**
   * The folder in which calls wait that could not be booked; default: beside a local database, for a server in the user's data
   * directory.
   */
  spoolFolder?: string;
  /** The size limit of snapshots to restore, in bytes; default 256 MiB. */
  maxSnapshotBytes?: number;
  /** The most bytes of JSON that a run sends to a model, and that one message of a snapshot may have: 6 MiB if not given. */
  maxContextBytes?: number;
  /** Alert rules and the channels that they notify: see `createAlertEvaluator()`. */
  alerts?: AlertEvaluator;
  /**
   * Budgets over agents, sessions, keys or all calls. They are stored like any other, updated to these definitions at each
   * start, and stay when the program no longer names them.
   */
  budgets?: readonly BudgetInCode[];
  /** Private networks (CIDR) that channels may connect to, such as `127.0.0.0/8`. */
  allowPrivateNetworks?: readonly string[];
  /** Absolute paths of modules with further kinds of channels. */
  plugins?: readonly string[];
  /** The minimum severity of anomalies that notify the channels; default: none do. */
  notifyAnomaliesFrom?: Severity;
  /** The environment with the keys of models; default: that of the process. */
  env?: Readonly<Record<string, string | undefined>>;
  /** For measurements: leaves the totals as they are. @internal */
  rollUp?: "never";
  /** Receives the log; default: nothing is logged. */
  log?: Log;
  /** The clock; default: the system's. Tests pass their own. */
  clock?: Clock;
  /** The source of ids; default: random ones that sort by time. Tests pass their own. */
  ids?: Ids;
}

/** An open Purser. */
export interface Purser {
  /**
   * Runs an agent on an input.
   *
   * @throws {BudgetExceededError} with `details.cost_usd_so_far` and `details.budget_usd`
   * @throws {PurserError} see its `code`
   */
  runAgent(agent: AgentInput, input: string, options?: RunOptions): Promise<RunResult>;
  /** Stores the definition of an agent, for the API and the CLI. */
  defineAgent(agent: AgentInput): Promise<Agent>;
  /**
   * Exports a snapshot of a session as of now, also while a run is in progress. Read-only. The snapshot is held in memory;
   * `GET /agents/{session_id}/snapshot` of the app streams it.
   *
   * @throws {PurserError} `not_found`; `conflict` when the session is another agent's
   */
  exportSession(agentId: string, sessionId: string, options?: ExportOptions): Promise<Snapshot>;
  /**
   * Restores a session from a snapshot, atomically; see `ImportResult`.
   *
   * @throws {PurserError} `invalid` with every problem in `details.issues`; `conflict`; `too_large`
   */
  importSession(snapshot: Snapshot, options?: ImportSessionOptions): Promise<ImportResult>;
  /** Wraps any AI SDK language model so that its calls are booked and budgeted. */
  meter(model: LanguageModelV4, context: MeterOptions): LanguageModelV4;
  /** Lists all budgets of the database, oldest first, each with what is spent, reserved and left in its present window. */
  budgets(): Promise<WholeBudget[]>;
  /**
   * Sums spend by agent, model, hour, day, session or run. Agents and models come by cost, the highest first; the others
   * latest first.
   *
   * @throws {PurserError} `invalid`
   */
  costs(options?: CostsOptions): Promise<CostRow[]>;
  /** Lists sessions, the one that was changed last first. */
  sessions(options?: SessionsOptions): Promise<Session[]>;
  /** The HTTP API as a Hono app. It does not authenticate: put it behind your own access control. */
  app: App;
  /** The events of this process, published after their commit. */
  bus: Bus;
  /** Waits for runs in progress, cancels those that exceed `graceMs`, and closes the database. */
  close(options?: CloseOptions): Promise<void>;
  /** Closes it, as `close()` does: `await using purser = await openPurser(…)`. */
  [Symbol.asyncDispose](): Promise<void>;
}

const NAMES = namesOf<PurserOptions>({
  db: true,
  dbToken: true,
  durability: true,
  environment: true,
  models: true,
  tools: true,
  providers: true,
  prices: true,
  pricesFolder: true,
  spoolFolder: true,
  maxSnapshotBytes: true,
  maxContextBytes: true,
  alerts: true,
  budgets: true,
  allowPrivateNetworks: true,
  plugins: true,
  notifyAnomaliesFrom: true,
  env: true,
  rollUp: true,
  log: true,
  clock: true,
  ids: true,
});

const PROVIDER_NAMES = namesOf<ProviderSettings>({
  baseUrl: true,
  apiKey: true,
  headers: true,
  onDisconnect: true,
  statesCost: true,
  passHeaders: true,
});

/**
 * Opens Purser over a database.
 *
 * @throws {PurserError} `invalid` settings; `unavailable` or `conflict` when the database can't be used
 */
export async function openPurser(options: PurserOptions): Promise<Purser> {
  checkOptions(options);
  checkNames("open Purser", options, NAMES);
  for (const [name, settings] of Object.entries(options.providers ?? {})) {
    checkNames(`use the provider ${name}`, settings, PROVIDER_NAMES);
  }
  const env = options.env ?? readEnvironment();
  const { core, close } = await openDatabase({
    ...options,
    env,
    log: options.log ?? silentLog,
    config: {
      dbUrl: options.db,
      dbToken: options.dbToken,
      durability: options.durability,
      environment: options.environment,
      providers: options.providers,
      prices: options.prices,
      pricesFolder: options.pricesFolder,
      spoolFolder: options.spoolFolder ?? findSpoolFolder(options.db, env),
      maxSnapshotBytes: options.maxSnapshotBytes,
      maxContextBytes: options.maxContextBytes,
      allowPrivateNetworks: [...options.allowPrivateNetworks ?? []],
      plugins: [...options.plugins ?? []],
      notifyAnomaliesFrom: options.notifyAnomaliesFrom,
    },
  });
  try {
    const advice = "Correct each where the dispatcher is created";
    if (options.alerts) await checkChannels(core.channels, undefined, advice);
    await core.prices.ready(); // `meter()` is synchronous, and checks that the model has a price
  } catch (error) {
    await close();
    throw error;
  }
  const define = (agent: AgentInput) =>
    toAgentDefinition(agent.name, readNamedAgent(agent), {
      checkModel: (model) => core.models.check(model),
      checkTools: (tools) => core.toolbox.check(tools),
    });
  const app = await createApp(core);
  return {
    async runAgent(agent, input, options = {}) {
      checkNames("run the agent", options, OPTION_NAMES.runAgent);
      const { sessionId, parentRunId, tags, signal, onPart } = options;
      return await runAgent(core, {
        agent: define(agent),
        input,
        sessionId,
        parentRunId,
        tags,
        signal,
        onPart,
      });
    },
    defineAgent: async (agent) => (await defineAgent(core, define(agent))).agent,
    async exportSession(agentId, sessionId, options = {}) {
      checkNames("export the session", options, OPTION_NAMES.exportSession);
      const exported = await exportSession(core, { agentId, sessionId, ...options });
      return await readSnapshot(exported.write());
    },
    async importSession(snapshot, options = {}) {
      checkNames("import the session", options, OPTION_NAMES.importSession);
      return await importSession(core, bytesOf(snapshot), options);
    },
    meter(model, context) {
      checkNames("meter the model", context, METER_NAMES);
      return meter(core, model, context);
    },
    budgets: () => listBudgets(core, { limit: Number.MAX_SAFE_INTEGER }),
    costs: async (options) => await readCosts(app, options),
    sessions: async (options) => await readSessions(app, options),
    app,
    bus: core.bus,
    async close(options = {}) {
      checkNames("close Purser", options, OPTION_NAMES.close);
      await close(options);
    },
    [Symbol.asyncDispose]: async () => await close(),
  };
}

/** Refuses what a program in JavaScript, or one that casts, can pass. Throws `invalid`, naming the option. */
function checkOptions(options: Partial<PurserOptions> | undefined): void {
  const refuse = (reason: string) => new PurserError("invalid", `Cannot open Purser: ${reason}`);
  const { db, durability, notifyAnomaliesFrom } = options ?? {};
  if (typeof db !== "string" || db.trim() === "") {
    throw refuse("the option db is missing; give a path, :memory: or libsql://…");
  }
  const checkValue = (option: string, value: string | undefined, values: readonly string[]) => {
    if (value === undefined || values.includes(value)) return;
    throw refuse(`the option ${option} is ${JSON.stringify(value)}; it must be one of ${values.join(", ")}`);
  };
  checkValue("durability", durability, DURABILITIES);
  checkValue("notifyAnomaliesFrom", notifyAnomaliesFrom, SEVERITIES);
}
