import { formatUsd, NANO_PER_USD, type NanoUsd, parseTotalUsd } from "../../kernel/money.ts";
import type { SqlValue, Statement, Store } from "../../store/mod.ts";
import { AGENT_STATUSES, DELIVERY_STATUSES, SEVERITIES } from "../../contract/values.ts";
import { listBudgets } from "../../budgets/mod.ts";
import type { WholeBudget } from "../../contract/budgets/budgets.ts";
import type { Core } from "../core.ts";

/*
 * Metrics of the whole service for Prometheus: `readTotals` reads the numbers, `serviceFamilies` names them, and
 * `renderFamilies` writes them in Prometheus' format.
 */

/** The lifetime totals of one model. The kinds of tokens don't overlap. */
interface ModelTotals {
  /** Set if totals are grouped by agent. */
  agentId?: string;
  provider: string;
  model: string;
  modelCalls: bigint;
  unpricedCalls: bigint;
  partlyPricedCalls: bigint;
  /** Without cache reads and writes. */
  inputTokens: bigint;
  cacheReadTokens: bigint;
  cacheWriteTokens: bigint;
  /** Without reasoning. */
  outputTokens: bigint;
  reasoningTokens: bigint;
  costNanoUsd: NanoUsd;
}

/** The totals of the whole service at one moment. */
interface ServiceTotals {
  models: ModelTotals[];
  /** Runs that have ended, by status. */
  runs: ReadonlyMap<string, bigint>;
  /** Alerts that have fired, by severity. */
  alerts: ReadonlyMap<string, bigint>;
  /** Settled deliveries by channel and outcome. */
  deliveries: { channel: string; outcome: string; count: bigint }[];
  /** Pending deliveries by channel. */
  waiting: ReadonlyMap<string, bigint>;
}

const SUMS = `sum(model_calls), sum(unpriced_calls), sum(partly_priced_calls),
  sum(input_tokens - cache_read_tokens - cache_write_tokens), sum(cache_read_tokens), sum(cache_write_tokens),
  sum(output_tokens - reasoning_tokens), sum(reasoning_tokens),
  sum(whole_usd), sum(rest_nano_usd)`;

const BY_MODEL = `SELECT NULL, provider, model, ${SUMS} FROM total_usage GROUP BY provider, model`;
const BY_AGENT =
  `SELECT agent_id, provider, model, ${SUMS} FROM total_usage GROUP BY agent_id, provider, model`;
const TALLIES = "SELECT what, name, outcome, count FROM tallies";
const WAITING = `SELECT channel, count(*) FROM deliveries INDEXED BY deliveries_due
WHERE status = 'pending' GROUP BY channel`;

/** Returns the statements of `readTotals`: they read rollups, the few calls after them, and pending deliveries. */
export function totalsStatements({ byAgent }: { byAgent: boolean }): Statement[] {
  return [{ sql: byAgent ? BY_AGENT : BY_MODEL }, { sql: TALLIES }, { sql: WAITING }];
}

/** Reads the totals of all calls, runs, alerts and deliveries. */
export async function readTotals(
  store: Pick<Store, "readAll">,
  options: { byAgent: boolean },
): Promise<ServiceTotals> {
  const [models, tallies, waiting] = await store.readAll(totalsStatements(options));
  const rows = tallies!.rows as [what: string, name: string, outcome: string, count: bigint][];
  const counted = (what: string) => rows.filter(([each]) => each === what);
  return {
    models: models!.rows.map(toModelTotals),
    runs: new Map(counted("run").map(([, status, , count]) => [status, count])),
    alerts: new Map(counted("alert").map(([, severity, , count]) => [severity, count])),
    deliveries: counted("delivery").map(([, channel, outcome, count]) => ({ channel, outcome, count })),
    waiting: new Map(waiting!.rows.map(([channel, count]) => [channel as string, count as bigint])),
  };
}

function toModelTotals([agentId, provider, model, ...sums]: SqlValue[]): ModelTotals {
  const [calls, unpriced, partly, input, cacheRead, cacheWrite, output, reasoning, usd, rest] =
    sums as bigint[];
  return {
    ...(agentId !== null && { agentId: agentId as string }),
    provider: provider as string,
    model: model as string,
    modelCalls: calls!,
    unpricedCalls: unpriced!,
    partlyPricedCalls: partly!,
    inputTokens: input!,
    cacheReadTokens: cacheRead!,
    cacheWriteTokens: cacheWrite!,
    outputTokens: output!,
    reasoningTokens: reasoning!,
    costNanoUsd: usd! * NANO_PER_USD + rest!,
  };
}

/** The state of this process. */
interface ProcessState {
  version: string;
  environment: string;
  /** `file`, `memory` or `remote`. */
  database: string;
  runsInProgress: number;
  /** Calls of the gateway that are with a provider. */
  callsInProgress: number;
  /** Calls that could not be booked yet. */
  spooledCalls: number;
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
    counter(
      "purser_spend_usd_total",
      `USD spent on model calls with a known price. ${SHARED}`,
      each(({ costNanoUsd }) => formatUsd(costNanoUsd)),
    ),
    counter(
      "purser_tokens_total",
      "Tokens by kind; the kinds don't overlap: input excludes cache reads and writes, output excludes " +
        `reasoning. ${SHARED}`,
      models.flatMap((totals) =>
        tokenKinds(totals).map(([kind, value]) => ({ labels: { ...labelsOf(totals), kind }, value }))
      ),
    ),
    counter(
      "purser_model_calls_total",
      `Model calls in the ledger. ${SHARED}`,
      each(({ modelCalls }) => modelCalls),
    ),
    counter(
      "purser_unpriced_calls_total",
      `Model calls in the ledger without a known price, which the spend leaves out. ${SHARED}`,
      each(({ unpricedCalls }) => unpricedCalls),
    ),
    counter(
      "purser_partly_priced_calls_total",
      `Model calls in the ledger with a part that has no known price, which the spend leaves out. ${SHARED}`,
      each(({ partlyPricedCalls }) => partlyPricedCalls),
    ),
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
    counter(
      "purser_runs_total",
      `Runs that have ended, by status. ${SHARED}`,
      ENDS.map((status) => ({ labels: { status }, value: totals.runs.get(status) ?? 0n })),
    ),
    counter("purser_budget_stops_total", `Runs that were stopped by their budget. ${SHARED}`, [{
      value: totals.runs.get("budget_exceeded") ?? 0n,
    }]),
    counter(
      "purser_alerts_total",
      `Alerts that fired, tests excluded. ${SHARED}`,
      SEVERITIES.map((severity) => ({
        labels: { severity },
        value: totals.alerts.get(severity) ?? 0n,
      })),
    ),
    counter(
      "purser_deliveries_total",
      `Notifications delivered or given up, by channel, without tests. ${SHARED}`,
      allChannels.flatMap((channel) =>
        OUTCOMES.map((outcome) => ({
          labels: { channel, outcome },
          value: counted.get(`${outcome} ${channel}`) ?? 0n,
        }))
      ),
    ),
    gauge(
      "purser_deliveries_waiting",
      `Notifications waiting for delivery, by channel. ${SHARED}`,
      waitingChannels.map((channel) => ({
        labels: { channel },
        value: totals.waiting.get(channel) ?? 0n,
      })),
    ),
  ];
}

function processFamilies(state: ProcessState): Family[] {
  const { version, environment, database } = state;
  return [
    gauge("purser_runs_in_progress", `Runs in progress. ${OWN}`, [{ value: state.runsInProgress }]),
    gauge(
      "purser_gateway_calls_in_progress",
      `Calls through the gateway that a provider has not answered to their end. ${OWN}`,
      [{ value: state.callsInProgress }],
    ),
    gauge(
      "purser_spooled_calls_waiting",
      `Model calls that were made and could not be booked, and wait in the spool. ${OWN}`,
      [{ value: state.spooledCalls }],
    ),
    gauge(
      "purser_write_queue_waiting",
      `Units waiting to be written to the database, without those being written. ${OWN}`,
      [{ value: state.waitingWrites }],
    ),
    gauge("purser_build_info", `Always 1; the labels identify the build. ${OWN}`, [{
      labels: { version, environment, database },
      value: 1,
    }]),
  ];
}

/** One value of a family; integers and decimal texts are printed unchanged, so that money stays exact. */
interface Sample {
  labels?: Readonly<Record<string, string>>;
  value: bigint | number | string;
}

/** A metric family of Prometheus: all samples of one name. */
interface Family {
  name: string;
  type: "counter" | "gauge";
  help: string;
  samples: readonly Sample[];
}

const family =
  (type: Family["type"]) => (name: string, help: string, samples: readonly Sample[]): Family => ({
    name,
    type,
    help,
    samples,
  });
const counter = family("counter");
const gauge = family("gauge");

/** The media type of `renderFamilies`. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Renders families in Prometheus' text format 0.0.4.
 *
 * Format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
export function renderFamilies(families: readonly Family[]): string {
  return families.map(({ name, type, help, samples }) => {
    const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    return head + samples.map((sample) => `${name}${renderLabels(sample.labels)} ${sample.value}\n`).join("");
  }).join("");
}

function renderLabels(labels: Sample["labels"] = {}): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escapeValue(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeValue(text: string): string {
  return escapeHelp(text.toWellFormed()).replaceAll('"', '\\"');
}

/** The number of budgets of which there are metrics: the oldest enabled ones. */
const MEASURED = 100;

const OF_BUDGETS = `From the database: the same from every instance. The oldest ${MEASURED} enabled budgets.`;
const MEANT = `Of a budget with many counters, the one with the most spending. ${OF_BUDGETS}`;

/** Reads the budgets of which there are metrics. */
export function readMeasuredBudgets(
  ctx: Pick<Core, "store" | "query" | "clock" | "turns">,
): Promise<WholeBudget[]> {
  return listBudgets(ctx, { isEnabled: true, limit: MEASURED });
}

/** Returns the metric families of budgets: limits, spending, reservations and refusals. */
export function budgetFamilies(budgets: readonly WholeBudget[]): Family[] {
  const usd = (name: string, help: string, value: (budget: WholeBudget) => NanoUsd) =>
    gauge(name, `${help} ${MEANT}`, each(budgets, (budget) => formatUsd(value(budget))));
  return [
    usd(
      "purser_budget_limit_usd",
      "Limit in USD, with the raises that hold.",
      ({ limit_usd, extra_usd }) => parseTotalUsd(limit_usd) + parseTotalUsd(extra_usd),
    ),
    usd(
      "purser_budget_spent_usd",
      "USD spent in the present window.",
      ({ spent_usd }) => parseTotalUsd(spent_usd),
    ),
    usd(
      "purser_budget_reserved_usd",
      "USD held for calls in progress.",
      ({ reserved_usd }) => parseTotalUsd(reserved_usd),
    ),
    counter(
      "purser_budget_refusals_total",
      `Calls that the budget refused, or with the action watch would have refused. ${OF_BUDGETS}`,
      each(budgets, ({ refused_calls }) => refused_calls),
    ),
  ];
}

function each(budgets: readonly WholeBudget[], value: (budget: WholeBudget) => Sample["value"]): Sample[] {
  return budgets.map((budget) => ({
    labels: { budget_id: budget.budget_id, name: budget.name, per: budget.per },
    value: value(budget),
  }));
}
