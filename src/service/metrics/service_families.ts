import { AGENT_STATUSES, DELIVERY_STATUSES, SEVERITIES } from "../../contract/values.ts";
import { formatUsd } from "../../kernel/money.ts";
import type { ModelTotals, ServiceTotals } from "./read_totals.ts";
import type { Family, Sample } from "./render_families.ts";

/** The state of this process. */
export interface ProcessState {
  version: string;
  environment: string;
  /** `file`, `memory` or `remote`. */
  database: string;
  runsInProgress: number;
  waitingWrites: number;
  /** The names of its channels. */
  channels: readonly string[];
}

/** The statuses that a run can end with. */
const ENDS = AGENT_STATUSES.filter((status) => status !== "idle" && status !== "running");
/** The outcomes of settled deliveries. */
const OUTCOMES = DELIVERY_STATUSES.filter((status) => status !== "pending");

/** The end of each HELP text: the scope of the numbers. */
const SHARED = "From the database: the same from every instance, also after a restart.";
const OWN = "Of this process.";

/** Returns the families of `GET /metrics`. Known label values start at 0, so that rate() sees their first increase. */
export function serviceFamilies(totals: ServiceTotals, state: ProcessState): Family[] {
  return [...modelFamilies(totals.models), ...countFamilies(totals, state), ...processFamilies(state)];
}

function modelFamilies(models: readonly ModelTotals[]): Family[] {
  const labelsOf = ({ agentId, provider, model }: ModelTotals) => ({
    ...(agentId !== undefined && { agent_id: agentId }),
    provider,
    model,
  });
  const each = (value: (totals: ModelTotals) => Sample["value"]) =>
    models.map((totals) => ({ labels: labelsOf(totals), value: value(totals) }));
  return [
    {
      name: "purser_spend_usd_total",
      type: "counter",
      help: `USD spent on model calls with a known price. ${SHARED}`,
      samples: each(({ costNanoUsd }) => formatUsd(costNanoUsd)),
    },
    {
      name: "purser_tokens_total",
      type: "counter",
      help:
        "Tokens by kind; the kinds don't overlap: input excludes cache reads and writes, output excludes " +
        `reasoning. ${SHARED}`,
      samples: models.flatMap((totals) =>
        tokenKinds(totals).map(([kind, value]) => ({ labels: { ...labelsOf(totals), kind }, value }))
      ),
    },
    {
      name: "purser_model_calls_total",
      type: "counter",
      help: `Model calls in the ledger. ${SHARED}`,
      samples: each(({ modelCalls }) => modelCalls),
    },
    {
      name: "purser_unpriced_calls_total",
      type: "counter",
      help: `Model calls in the ledger without a known price, which the spend leaves out. ${SHARED}`,
      samples: each(({ unpricedCalls }) => unpricedCalls),
    },
  ];
}

function tokenKinds(totals: ModelTotals): [kind: string, value: bigint][] {
  return [
    ["input", totals.inputTokens],
    ["cache_read", totals.cacheReadTokens],
    ["cache_write", totals.cacheWriteTokens],
    ["output", totals.outputTokens],
    ["reasoning", totals.reasoningTokens],
  ];
}

function countFamilies(totals: ServiceTotals, { channels }: ProcessState): Family[] {
  const counted = new Map(
    totals.deliveries.map(({ channel, outcome, count }) => [`${outcome} ${channel}`, count]),
  );
  const allChannels = [...new Set([...channels, ...totals.deliveries.map(({ channel }) => channel)])];
  const waitingChannels = [...new Set([...channels, ...totals.waiting.keys()])];
  return [
    {
      name: "purser_runs_total",
      type: "counter",
      help: `Runs that have ended, by status. ${SHARED}`,
      samples: ENDS.map((status) => ({ labels: { status }, value: totals.runs.get(status) ?? 0n })),
    },
    {
      name: "purser_budget_stops_total",
      type: "counter",
      help: `Runs that were stopped by their budget. ${SHARED}`,
      samples: [{ value: totals.runs.get("budget_exceeded") ?? 0n }],
    },
    {
      name: "purser_alerts_total",
      type: "counter",
      help: `Alerts that fired, tests excluded. ${SHARED}`,
      samples: SEVERITIES.map((severity) => ({
        labels: { severity },
        value: totals.alerts.get(severity) ?? 0n,
      })),
    },
    {
      name: "purser_deliveries_total",
      type: "counter",
      help: `Notifications delivered or given up, by channel, without tests. ${SHARED}`,
      samples: allChannels.flatMap((channel) =>
        OUTCOMES.map((outcome) => ({
          labels: { channel, outcome },
          value: counted.get(`${outcome} ${channel}`) ?? 0n,
        }))
      ),
    },
    {
      name: "purser_deliveries_waiting",
      type: "gauge",
      help: `Notifications waiting for delivery, by channel. ${SHARED}`,
      samples: waitingChannels.map((channel) => ({
        labels: { channel },
        value: totals.waiting.get(channel) ?? 0n,
      })),
    },
  ];
}

function processFamilies(state: ProcessState): Family[] {
  const { version, environment, database } = state;
  return [
    {
      name: "purser_runs_in_progress",
      type: "gauge",
      help: `Runs in progress. ${OWN}`,
      samples: [{ value: state.runsInProgress }],
    },
    {
      name: "purser_write_queue_waiting",
      type: "gauge",
      help: `Units waiting to be written to the database, without those being written. ${OWN}`,
      samples: [{ value: state.waitingWrites }],
    },
    {
      name: "purser_build_info",
      type: "gauge",
      help: `Always 1; the labels identify the build. ${OWN}`,
      samples: [{ labels: { version, environment, database }, value: 1 }],
    },
  ];
}
