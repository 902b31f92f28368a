/** `deno task dashboards`: writes the dashboard of Grafana. A test runs every query of it on a real Prometheus. */
import { join } from "node:path";
import { ROOT } from "./run_deno.ts";

/** The file of the dashboard. */
export const DASHBOARD = "deploy/grafana/purser.json";

interface Panel {
  title: string;
  description?: string;
  type: "timeseries" | "stat" | "bargauge";
  unit: string;
  /** The queries by the names of their series, in which `{{label}}` is the value of a label. */
  queries: Readonly<Record<string, string>>;
}

/** The series of the chosen job. */
const of = (name: string, labels = "") => `${name}{${labels}${labels && ", "}job="$job"}`;
const rate = (name: string, labels?: string) => `rate(${of(name, labels)}[$__rate_interval])`;

/** Metrics from the database are the same from every instance: `max` takes one of them. Those of a process are added up. */
const ofModels = (series: string, more = "") => `max by (provider, model${more}) (${series})`;

const quantiles = (metric: string, by = ""): Panel["queries"] => {
  const buckets = `sum by (le${by && `, ${by}`}) (${rate(`${metric}_bucket`)})`;
  const prefix = by && `{{${by}}} `;
  return Object.fromEntries(
    [0.5, 0.95, 0.99].map((share) => [
      `${prefix}${share * 100} %`,
      `histogram_quantile(${share}, ${buckets})`,
    ]),
  );
};

const ROWS: Readonly<Record<string, readonly Panel[]>> = {
  Spend: [
    {
      title: "Spend, last 24 hours",
      type: "stat",
      unit: "currencyUSD",
      queries: { USD: `sum(${ofModels(`increase(${of("purser_spend_usd_total")}[24h])`)})` },
    },
    {
      title: "Spend an hour, by model",
      type: "timeseries",
      unit: "currencyUSD",
      queries: { "{{model}}": `sum by (model) (${ofModels(rate("purser_spend_usd_total"))}) * 3600` },
    },
    {
      title: "What plans have saved, an hour",
      description: "What calls that a plan pays for would have cost by the API; not in the spend.",
      type: "timeseries",
      unit: "currencyUSD",
      queries: {
        "{{model}}": `sum by (model) (${ofModels(rate("purser_plan_equivalent_usd_total"))}) * 3600`,
      },
    },
    {
      title: "Model calls a minute",
      type: "timeseries",
      unit: "short",
      queries: { "{{model}}": `sum by (model) (${ofModels(rate("purser_model_calls_total"))}) * 60` },
    },
    {
      title: "Tokens a second, by kind",
      type: "timeseries",
      unit: "short",
      queries: { "{{kind}}": `sum by (kind) (${ofModels(rate("purser_tokens_total"), ", kind")})` },
    },
    {
      title: "Calls without a price, last 24 hours",
      description: "The spend leaves them out.",
      type: "stat",
      unit: "short",
      queries: {
        "no price": `sum(${ofModels(`increase(${of("purser_unpriced_calls_total")}[24h])`)})`,
        "a part without": `sum(${ofModels(`increase(${of("purser_partly_priced_calls_total")}[24h])`)})`,
      },
    },
  ],
  Budgets: [
    {
      title: "Spent share of each budget",
      type: "bargauge",
      unit: "percentunit",
      queries: {
        "{{name}}": `max by (name) (${of("purser_budget_spent_usd")} / (${
          of("purser_budget_limit_usd")
        } > 0))`,
      },
    },
    {
      title: "Held for calls in progress",
      type: "timeseries",
      unit: "currencyUSD",
      queries: { "{{name}}": `max by (name) (${of("purser_budget_reserved_usd")})` },
    },
    {
      title: "Refused calls and stopped runs, an hour",
      type: "timeseries",
      unit: "short",
      queries: {
        "{{name}}": `max by (name) (${rate("purser_budget_refusals_total")}) * 3600`,
        "stopped runs": `max(${rate("purser_budget_stops_total")}) * 3600`,
      },
    },
  ],
  "Runs and alerts": [
    {
      title: "Runs an hour, by how they ended",
      type: "timeseries",
      unit: "short",
      queries: {
        "{{status}}": `max by (status) (${rate("purser_runs_total")}) * 3600`,
        "in progress": `sum(${of("purser_runs_in_progress")})`,
      },
    },
    {
      title: "Alerts an hour",
      type: "timeseries",
      unit: "short",
      queries: { "{{severity}}": `max by (severity) (${rate("purser_alerts_total")}) * 3600` },
    },
    {
      title: "Notifications",
      type: "timeseries",
      unit: "short",
      queries: {
        "{{channel}} {{outcome}} an hour": `max by (channel, outcome) (${
          rate("purser_deliveries_total")
        }) * 3600`,
        "{{channel}} waiting": `max by (channel) (${of("purser_deliveries_waiting")})`,
      },
    },
  ],
  "Gateway and database": [
    {
      title: "Time that the gateway adds before a call",
      description:
        "Reading the request and its admission by budgets, with any time for which one made it wait.",
      type: "timeseries",
      unit: "s",
      queries: quantiles("purser_gateway_before_seconds"),
    },
    {
      title: "Time that the gateway adds after the answer",
      description: "Until the commit that has booked the call.",
      type: "timeseries",
      unit: "s",
      queries: quantiles("purser_gateway_booking_seconds"),
    },
    {
      title: "Time of the provider",
      type: "timeseries",
      unit: "s",
      queries: quantiles("purser_gateway_provider_seconds", "provider"),
    },
    {
      title: "Time of a commit",
      type: "timeseries",
      unit: "s",
      queries: quantiles("purser_commit_seconds"),
    },
    {
      title: "Waiting",
      description:
        "Calls with a provider, writes that wait for a commit, and calls that could not be booked yet.",
      type: "timeseries",
      unit: "short",
      queries: {
        "calls with a provider": `sum(${of("purser_gateway_calls_in_progress")})`,
        "writes": `sum(${of("purser_write_queue_waiting")})`,
        "calls in the spool": `sum(${of("purser_spooled_calls_waiting")})`,
      },
    },
    {
      title: "Instances",
      type: "stat",
      unit: "short",
      queries: { "{{version}} on {{database}}": `count by (version, database) (${of("purser_build_info")})` },
    },
  ],
};

/** The width of a dashboard is 24; three panels stand side by side. */
const [WIDTH, HEIGHT] = [8, 8];

/** Returns the dashboard as Grafana imports it. */
export function makeDashboard(): object {
  const source = { type: "prometheus", uid: "${datasource}" };
  const panels: object[] = [];
  let y = 0;
  for (const [title, row] of Object.entries(ROWS)) {
    panels.push({
      id: panels.length + 1,
      type: "row",
      title,
      gridPos: { x: 0, y: y++, w: 24, h: 1 },
      panels: [],
    });
    for (const [index, { title, description, type, unit, queries }] of row.entries()) {
      panels.push({
        id: panels.length + 1,
        type,
        title,
        ...(description && { description }),
        datasource: source,
        gridPos: { x: index % 3 * WIDTH, y: y + Math.floor(index / 3) * HEIGHT, w: WIDTH, h: HEIGHT },
        fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
        targets: Object.entries(queries).map(([legendFormat, expr], at) => ({
          refId: String.fromCharCode("A".charCodeAt(0) + at),
          datasource: source,
          expr,
          legendFormat,
          ...(type !== "timeseries" && { instant: true }),
        })),
      });
    }
    y += Math.ceil(row.length / 3) * HEIGHT;
  }
  return {
    uid: "purser",
    title: "Purser",
    tags: ["purser"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: {
      list: [
        { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
        {
          name: "job",
          label: "Job",
          type: "query",
          datasource: source,
          query: { query: "label_values(purser_build_info, job)", refId: "job" },
          refresh: 1,
        },
      ],
    },
    panels,
  };
}

if (import.meta.main) {
  await Deno.writeTextFile(join(ROOT, DASHBOARD), `${JSON.stringify(makeDashboard(), null, 2)}\n`);
}
