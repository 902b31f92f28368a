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
export {
  type AgentInput,
  type ExportOptions,
  openPurser,
  type Purser,
  type PurserOptions,
  type RunOptions,
} from "./open_purser.ts";
export { type ImportResult, readSnapshot, type Snapshot, writeSnapshot } from "./snapshots/mod.ts";
export { BudgetExceededError, type ErrorCode, PurserError } from "./kernel/errors.ts";
export { createSingleSendFetch } from "./kernel/single_send.ts";
export type { Bus, BusEvent } from "./bus/mod.ts";
export type { CostEvent, TokenUsage } from "./ledger/mod.ts";
export type { MeterContext, RunPart, RunResult, ToolKit } from "./runner/mod.ts";
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
export type { BudgetMode, Severity } from "./contract/values.ts";
export type { PriceOverride, ProviderSettings } from "./config/mod.ts";
export type { Log } from "./kernel/log.ts";
