import type { Durability, Severity } from "./contract/values.ts";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ToolSet } from "ai";
import { type Agent, defineAgent, toAgentDefinition } from "./agents/mod.ts";
import type { AlertEvaluator } from "./alerts/mod.ts";
import type { Bus } from "./bus/mod.ts";
import { openDatabase } from "./client/mod.ts";
import type { Clock } from "./kernel/clock.ts";
import { type PriceOverride, type ProviderSettings, readEnvironment } from "./config/mod.ts";
import { type AgentBody, readNamedAgent } from "./contract/agents.ts";
import { type App, createApp } from "./http/mod.ts";
import type { Ids } from "./kernel/ids.ts";
import { type Log, silentLog } from "./kernel/log.ts";
import { meter, type MeterContext, runAgent, type RunPart, type RunResult } from "./runner/mod.ts";
import {
  bytesOf,
  exportSession,
  type ImportResult,
  importSession,
  readSnapshot,
  type Snapshot,
} from "./snapshots/mod.ts";

/** Settings of `openPurser`. */
export interface PurserOptions {
  /** A path, `:memory:`, `libsql://…` or `https://…`; the library has no default place. */
  db: string;
  dbToken?: string;
  durability?: Durability;
  /** The name of this environment; default `local`. */
  environment?: string;
  /** Models by name, `provider:model` or bare; they come before the built-in providers. */
  models?: Readonly<Record<string, LanguageModelV4>>;
  /** Tools by name; agents name those they use. */
  tools?: ToolSet;
  /** OpenAI-compatible servers by name. */
  providers?: Record<string, ProviderSettings>;
  /** Prices that come before the catalog's. */
  prices?: PriceOverride[];
  /** The largest snapshot that is restored, in bytes; default 256 MiB. */
  maxSnapshotBytes?: number;
  /** Alert rules and the channels that hear of them: see `createAlertEvaluator`. */
  alerts?: AlertEvaluator;
  /** Private networks (CIDR) that channels may reach, as `127.0.0.0/8`. */
  allowPrivateNetworks?: readonly string[];
  /** Absolute paths of modules with further kinds of channels. */
  plugins?: readonly string[];
  /** From which severity anomalies are told to the channels; default: never. */
  notifyAnomaliesFrom?: Severity;
  /** Where model keys come from; default: the process's environment. */
  env?: Readonly<Record<string, string | undefined>>;
  /** @internal For measurements: leaves the totals as they are. */
  rollUp?: "never";
  log?: Log;
  clock?: Clock;
  ids?: Ids;
}

/** An agent as a library user writes it; fields are those of the API. */
export interface AgentInput extends AgentBody {
  name: string;
}

/** Options of one run. */
export interface RunOptions {
  sessionId?: string;
  signal?: AbortSignal;
  /** Hears the answer as it comes and every event after its commit. */
  onPart?: (part: RunPart) => void;
}

/** Options of an export. */
export interface ExportOptions {
  /** Added to the session's own tags in the snapshot. */
  tags?: Readonly<Record<string, string>>;
  /** Whether the session's event log goes with it. */
  withEvents?: boolean;
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
  /** Keeps an agent's definition, for the API and the CLI. */
  defineAgent(agent: AgentInput): Promise<Agent>;
  /**
   * Takes a snapshot of a session as it is at this moment, also while a run is in progress. Only reads. It is
   * held in memory whole; `GET /agents/{session_id}/snapshot` of the app streams it.
   *
   * @throws {PurserError} `not_found`; `conflict` when the session is another agent's
   */
  exportSession(agentId: string, sessionId: string, options?: ExportOptions): Promise<Snapshot>;
  /**
   * Restores a session from a snapshot, whole or not at all; see `ImportResult`.
   *
   * @throws {PurserError} `invalid` with every problem in `details.issues`; `conflict`; `too_large`
   */
  importSession(snapshot: Snapshot, options?: { dryRun?: boolean }): Promise<ImportResult>;
  /** Wraps any AI SDK language model so that its calls are booked and budgeted. */
  meter(model: LanguageModelV4, context: MeterContext): LanguageModelV4;
  /** The HTTP API as a Hono app. It asks for no key: put it behind your own door. */
  app: App;
  bus: Bus;
  /** Waits for runs in progress, at most `graceMs` where given, and closes the database. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/**
 * Opens Purser over a database.
 *
 * @throws {PurserError} `invalid` settings; `unavailable` or `conflict` when the database can't be used
 */
export async function openPurser(options: PurserOptions): Promise<Purser> {
  const { core, close } = await openDatabase({
    ...options,
    env: options.env ?? readEnvironment(),
    log: options.log ?? silentLog,
    config: {
      dbUrl: options.db,
      dbToken: options.dbToken,
      durability: options.durability ?? "full",
      environment: options.environment ?? "local",
      remoteTimeoutMs: 10_000,
      maxBodyBytes: 8 * 1024 * 1024,
      providers: options.providers,
      prices: options.prices,
      maxSnapshotBytes: options.maxSnapshotBytes,
      allowPrivateNetworks: [...options.allowPrivateNetworks ?? []],
      plugins: [...options.plugins ?? []],
      notifyAnomaliesFrom: options.notifyAnomaliesFrom,
    },
  });
  await core.prices.ready?.(); // `meter` has to know at once whether a model has a price
  const define = (agent: AgentInput) =>
    toAgentDefinition(agent.name, readNamedAgent(agent), {
      checkModel: (model) => core.models.check(model),
      checkTools: (tools) => core.toolbox.check(tools),
    });
  return {
    runAgent: async (agent, input, { sessionId, signal, onPart } = {}) =>
      await runAgent(core, { agent: define(agent), input, sessionId, signal, onPart }),
    defineAgent: async (agent) => (await defineAgent(core, define(agent))).agent,
    async exportSession(agentId, sessionId, options = {}) {
      const taken = await exportSession(core, { agentId, sessionId, ...options });
      return await readSnapshot(taken.write());
    },
    importSession: async (snapshot, options) => await importSession(core, bytesOf(snapshot), options),
    meter: (model, context) => meter(core, model, context),
    app: await createApp(core),
    bus: core.bus,
    close,
  };
}
