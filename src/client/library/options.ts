import type { AgentBody } from "../../contract/agents.ts";
import type { BudgetMode } from "../../contract/values.ts";
import type { PriceOverride } from "../../config/mod.ts";
import { namesOf } from "../../kernel/known_names.ts";
import type { MeterContext, RunPart } from "../../runner/mod.ts";

/*
 * Options are in camelCase. What is a resource of the API or a row of the config file, such as an agent's definition or a
 * price, has the names that it has there, in snake_case, so that one document serves all of them.
 */

/** The definition of an agent, with the fields of the API. */
export interface AgentInput extends AgentBody {
  /** The agent's id. */
  name: string;
  /** `provider:model`, or a name that one provider alone has. */
  model: string;
  /** The system prompt; default: none. */
  system_prompt?: string;
  /** The budget of one run in USD, at most nine decimals; null or not given: no limit. */
  cost_budget_usd?: number | null;
  /** `stop` (the default): no call is made once the budget is reached; `strict`: no call that could exceed it. */
  budget_mode?: BudgetMode;
  /** Allows a budget on a model without a known price, whose calls count as 0; default false. */
  allow_unpriced?: boolean;
  /** The maximum number of model calls of one run. */
  max_steps?: number;
  /** The maximum number of output tokens of one call; null or not given: the provider's. */
  max_output_tokens?: number | null;
  /** The names of the tools that it may call; default: none. */
  tools?: string[];
}

/** A price that overrides the catalog's, as a row of `prices` in the config file. */
export interface PriceRow extends PriceOverride {
  /** The provider's name. */
  provider: string;
  /** The model's name. */
  model: string;
  /** USD per million input tokens. */
  input_usd_per_million: number;
  /** USD per million output tokens. */
  output_usd_per_million: number;
  /** USD per million cached input tokens; default: the input price. */
  cache_read_usd_per_million?: number;
  /** USD per million tokens written to the cache; default: the input price. */
  cache_write_usd_per_million?: number;
  /** USD per million tokens cached for an hour; default: the price of other cache writes. */
  cache_write_1h_usd_per_million?: number;
  /** USD per million tokens cached for twelve hours; without it such calls are partly priced. */
  cache_write_12h_usd_per_million?: number;
  /** USD per million reasoning tokens; default: the output price. */
  reasoning_usd_per_million?: number;
  /** USD per million tokens of audio input; without it such calls are partly priced. */
  input_audio_usd_per_million?: number;
  /** USD per million cached tokens of audio input. */
  cache_read_audio_usd_per_million?: number;
  /** USD per million tokens of audio output; without it such calls are partly priced. */
  output_audio_usd_per_million?: number;
  /** USD per million tokens of image input; default: the input price. */
  input_image_usd_per_million?: number;
  /** USD per million cached tokens of image input. */
  cache_read_image_usd_per_million?: number;
  /** USD per million tokens of image output; without it such calls are partly priced. */
  output_image_usd_per_million?: number;
  /** USD per million tokens of video input; default: the input price. */
  input_video_usd_per_million?: number;
  /** USD per million tokens of video output; without it such calls are partly priced. */
  output_video_usd_per_million?: number;
  /** USD per thousand web searches; without it such calls are partly priced. */
  web_searches_usd_per_thousand?: number;
  /** USD per thousand file searches; without it such calls are partly priced. */
  file_searches_usd_per_thousand?: number;
  /** USD per thousand code executions; without it such calls are partly priced. */
  code_executions_usd_per_thousand?: number;
  /** USD per thousand requests. */
  requests_usd_per_thousand?: number;
  /** The date, midnight UTC, from which it applies, such as `2026-01-01`; default: at any time. */
  from?: string;
  /** The service tier of the calls that it prices; default: any. */
  service_tier?: string;
}

/** Options of one run. */
export interface RunOptions {
  /** The session to continue or to begin; default: a new one. */
  sessionId?: string;
  /**
   * The run whose tool makes this one, `run.runId` of the tool's options: the budgets of that run and of those above it count
   * its calls too.
   */
  parentRunId?: string;
  /** Tags of the run's calls; they are added to those of the agent, and replace those of the same key. */
  tags?: Readonly<Record<string, string>>;
  /** Cancels the run when it aborts. */
  signal?: AbortSignal;
  /** Receives the answer as it is streamed, and every event after its commit. */
  onPart?: (part: RunPart) => void;
}

/** Options of an export. */
export interface ExportOptions {
  /** Tags to add to those of the session in the snapshot. */
  tags?: Readonly<Record<string, string>>;
  /** Includes the event log of the session. */
  withEvents?: boolean;
}

/** Options of an import. */
export interface ImportSessionOptions {
  /** Reports what would happen, and writes nothing. */
  dryRun?: boolean;
  /** Refuses, with a `conflict`, to replace a session that has more messages than the snapshot. */
  keepLonger?: boolean;
}

/** Options of closing. */
export interface CloseOptions {
  /** The time after which runs in progress are cancelled; default: they are waited for. */
  graceMs?: number;
}

/** The attribution and the budget of a metered model's calls. */
export interface MeterOptions extends MeterContext {
  /** The agent that the calls are booked for; it need not be defined. */
  agentId: string;
  /** The session that the calls are booked in; default: none. */
  sessionId?: string;
  /** The run of the calls: those of one run share its budget; default: a new run for this meter. */
  runId?: string;
  /** The budget of the run in USD, at most nine decimals; default: no limit. */
  costBudgetUsd?: number;
  /** `stop` (the default): no call is made once the budget is reached; `strict`: no call that could exceed it. */
  budgetMode?: BudgetMode;
  /** Allows a budget on a model without a known price, whose calls count as 0; default false. */
  allowUnpriced?: boolean;
  /** The name under which calls are priced and booked; default: the part of `model.provider` before a dot. */
  provider?: string;
}

/** The names of the options of each method. */
export const OPTION_NAMES = {
  runAgent: namesOf<RunOptions>({
    sessionId: true,
    parentRunId: true,
    tags: true,
    signal: true,
    onPart: true,
  }),
  exportSession: namesOf<ExportOptions>({ tags: true, withEvents: true }),
  importSession: namesOf<ImportSessionOptions>({ dryRun: true, keepLonger: true }),
  close: namesOf<CloseOptions>({ graceMs: true }),
} as const;

/** The names of `MeterOptions`. */
export const METER_NAMES: readonly string[] = namesOf<MeterContext>({
  agentId: true,
  sessionId: true,
  runId: true,
  costBudgetUsd: true,
  budgetMode: true,
  tags: true,
  allowUnpriced: true,
  provider: true,
});
