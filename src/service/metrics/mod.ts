import { formatUsd, NANO_PER_USD, type NanoUsd, parseTotalUsd } from "../../kernel/money.ts";
import { Durations } from "../../kernel/clock.ts";
import { indexedBy, type SqlValue, type Statement, type Store } from "../../store/mod.ts";
import { AGENT_STATUSES, DELIVERY_STATUSES, SEVERITIES } from "../../contract/values.ts";
import { listBudgets } from "../../budgets/mod.ts";
import type { WholeBudget } from "../../contract/budgets/budgets.ts";
import { VERSION } from "../../kernel/version.ts";
import type { WholeCore } from "../core.ts";

/*
 * Metrics of the whole service for Prometheus: `readTotals` reads the numbers, `serviceFamilies` names them, and
 * `renderFamilies` writes them in Prometheus' format.
 */

/** The kinds of tokens, which don't overlap, as the totals have them. */
const TOKENS = {
  input: "input_tokens - cache_read_tokens - cache_write_tokens",
  cache_read: "cache_read_tokens",
  cache_write: "cache_write_tokens",
  output: "output_tokens - reasoning_tokens",
  reasoning: "reasoning_tokens",
} as const;

/** The lifetime totals of one model; of one agent if they are grouped by agent. */
interface ModelTotals {
  labels: Record<string, string>;
  calls: bigint;
  unpriced: bigint;
  partlyPriced: bigint;
  tokens: [kind: string, count: bigint][];
  costNanoUsd: NanoUsd;
  planNanoUsd: NanoUsd;
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

const SUMS = [
  "model_calls",
  "unpriced_calls",
  "partly_priced_calls",
  ...Object.values(TOKENS),
  "whole_usd",
  "rest_nano_usd",
  "plan_whole_usd",
  "plan_rest_nano_usd",
].map((amount) => `sum(${amount})`).join(", ");

const BY_MODEL = `SELECT NULL, provider, model, ${SUMS} FROM total_usage GROUP BY provider, model`;
const BY_AGENT =
  `SELECT agent_id, provider, model, ${SUMS} FROM total_usage GROUP BY agent_id, provider, model`;
const TALLIES = "SELECT what, name, outcome, count FROM tallies";
const WAITING = `SELECT channel, count(*) FROM deliveries ${indexedBy("deliveries_due")}
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
  const [calls, unpriced, partlyPriced, ...rest] = sums as bigint[];
  const [wholeUsd, restNanoUsd, planWholeUsd, planRestNanoUsd] = rest.splice(-4);
  return {
    labels: { ...(agentId !== null && { agent_id: agentId }), provider, model } as Record<string, string>,
    calls: calls!,
    unpriced: unpriced!,
    partlyPriced: partlyPriced!,
    tokens: Object.keys(TOKENS).map((kind, index) => [kind, rest[index]!]),
    costNanoUsd: wholeUsd! * NANO_PER_USD + restNanoUsd!,
    planNanoUsd: planWholeUsd! * NANO_PER_USD + planRestNanoUsd!,
  };
}

/** The statuses that a run can end with. */
const ENDS = AGENT_STATUSES.filter((status) => status !== "idle" && status !== "running");
/** The outcomes of settled deliveries. */
const OUTCOMES = DELIVERY_STATUSES.filter((status) => status !== "pending");

/** The end of each HELP text: the scope of the numbers. */
const SHARED = "From the database: the same from every instance, also after a restart.";
const OWN = "Of this process.";

/** Returns the families of `GET /metrics`. Known label values start at 0, so that rate() sees their first increase. */
export function serviceFamilies(core: WholeCore, totals: ServiceTotals): Family[] {
  const channels = core.channels.list.map(({ name }) => name);
  return [...modelFamilies(totals.models), ...countFamilies(totals, channels), ...processFamilies(core)];
}

function modelFamilies(models: readonly ModelTotals[]): Family[] {
  const each = (value: (totals: ModelTotals) => Sample["value"]) =>
    models.map((totals) => ({ labels: totals.labels, value: value(totals) }));
  return [
    counter(
      "purser_spend_usd_total",
      `USD spent on model calls with a known price. ${SHARED}`,
      each(({ costNanoUsd }) => formatUsd(costNanoUsd)),
    ),
    ...models.every(({ planNanoUsd }) => planNanoUsd === 0n) ? [] : [counter(
      "purser_plan_equivalent_usd_total",
      `USD that the model calls that a plan pays for would have cost by the API; not in the spend. ${SHARED}`,
      each(({ planNanoUsd }) => formatUsd(planNanoUsd)),
    )],
    counter(
      "purser_tokens_total",
      "Tokens by kind; the kinds don't overlap: input excludes cache reads and writes, output excludes " +
        `reasoning. ${SHARED}`,
      models.flatMap(({ labels, tokens }) =>
        tokens.map(([kind, value]) => ({ labels: { ...labels, kind }, value }))
      ),
    ),
    counter(
      "purser_model_calls_total",
      `Model calls in the ledger. ${SHARED}`,
      each(({ calls }) => calls),
    ),
    counter(
      "purser_unpriced_calls_total",
      `Model calls in the ledger without a known price, which the spend leaves out. ${SHARED}`,
      each(({ unpriced }) => unpriced),
    ),
    counter(
      "purser_partly_priced_calls_total",
      `Model calls in the ledger with a part that has no known price, which the spend leaves out. ${SHARED}`,
      each(({ partlyPriced }) => partlyPriced),
    ),
  ];
}

function countFamilies(totals: ServiceTotals, channels: readonly string[]): Family[] {
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

/** The stages of a call through the gateway: the first and the last one are the time that it adds. */
const STAGES = {
  before:
    "From the request's body to its sending, with the time for which its budgets made it wait; of booked calls.",
  provider:
    "From the sending to the end of the provider's answer, as fast as its client has read it; of booked calls.",
  booking: "From the end of the answer to the commit that has booked the call.",
};

function processFamilies({ environment, store, liveRuns, gateway, callSpool }: WholeCore): Family[] {
  const one = (name: string, help: string, value: number, labels?: Sample["labels"]) =>
    gauge(name, `${help} ${OWN}`, [{ labels, value }]);
  return [
    one("purser_runs_in_progress", "Runs in progress.", liveRuns.size),
    one(
      "purser_gateway_calls_in_progress",
      "Calls through the gateway that a provider has not answered to their end.",
      gateway.calls.size,
    ),
    one(
      "purser_spooled_calls_waiting",
      "Model calls that were made and could not be booked, and wait in the spool.",
      callSpool.kept().length,
    ),
    one(
      "purser_write_queue_waiting",
      "Units waiting to be written to the database, without those being written.",
      store.writes.waiting,
    ),
    {
      name: "purser_commit_seconds",
      type: "histogram",
      help:
        `Durations of commits to the database, with the time that they waited for other processes. ${OWN}`,
      samples: [{ value: store.writes.commitSeconds }],
    },
    ...(["before", "provider", "booking"] as const).map((stage): Family => ({
      name: `purser_gateway_${stage}_seconds`,
      type: "histogram",
      help: `${STAGES[stage]} ${OWN}`,
      samples: [...gateway.times].map(([provider, times]) => ({ labels: { provider }, value: times[stage] })),
    })),
    one("purser_build_info", "Always 1; the labels identify the build.", 1, {
      version: VERSION,
      environment,
      database: store.kind,
    }),
  ];
}

/** One value of a family; integers and decimal texts are printed unchanged, so that money stays exact. */
interface Sample {
  labels?: Readonly<Record<string, string>>;
  value: bigint | number | string | Durations;
}

/** A metric family of Prometheus: all samples of one name. */
interface Family {
  name: string;
  type: "counter" | "gauge" | "histogram";
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
    return head + samples.map((sample) => renderSample(name, sample)).join("");
  }).join("");
}

function renderSample(name: string, { labels, value }: Sample): string {
  if (!(value instanceof Durations)) return `${name}${renderLabels(labels)} ${value}\n`;
  let count = 0;
  const buckets = value.counts.map((each, index) => {
    const le = String(value.bounds[index] ?? "+Inf");
    return `${name}_bucket${renderLabels({ ...labels, le })} ${count += each}\n`;
  });
  const after = renderLabels(labels);
  return `${buckets.join("")}${name}_sum${after} ${value.sum}\n${name}_count${after} ${count}\n`;
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
  ctx: Pick<WholeCore, "store" | "query" | "clock" | "turns">,
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
