import { timeIn } from "../contract/calendars/zones.ts";
import type { AlertPlanWindow } from "../contract/alerts/alerts.ts";
import { counterText } from "../contract/budgets/subjects.ts";
import { NAMED, nameIn } from "../contract/costs/dimensions.ts";
import {
  type AlertEvent,
  ASK_THRESHOLD,
  type BudgetThreshold,
  isOfCalls,
  PLAN_THRESHOLD,
  type ThresholdType,
} from "../contract/values.ts";
import type { Fact, Notification } from "../delivery/channels/mod.ts";
import { formatUsd, parseTotalUsd } from "../kernel/money.ts";
import type { AlertRecord } from "./alerts.ts";

/* The texts of notifications: of a rule or a budget, of a plan, and of a ticket. */

const SPENT: Record<ThresholdType | BudgetThreshold, string> = {
  budget_per_run_usd: "spent in one run",
  budget_per_session_usd: "spent in one session",
  budget_per_tree_usd: "spent in one session with its sub-agents",
  budget_per_hour_usd: "spent in the last hour",
  budget_per_day_usd: "spent today (UTC)",
  budget_per_week_usd: "spent this week (UTC)",
  budget_per_month_usd: "spent this month (UTC)",
  budget_per_quarter_usd: "spent this quarter (UTC)",
  budget_per_30d_usd: "spent in the last 30 days",
  budget_per_lifetime_usd: "spent in all",
  per_run_usd: "spent in one run",
  per_session_usd: "spent in one session",
  per_hour_usd: "spent in the last hour",
  per_day_usd: "spent today (UTC)",
  per_month_usd: "spent this month (UTC)",
};

/** Names the counter of a budget or a rule: `, key bob`; nothing where it has one over all calls. */
function nameCounter(record: AlertRecord): string {
  const { counter, threshold_type } = record;
  if (!counter) return "";
  if (counter.kind === "calls") return `, ${counter.id}`;
  const isOneOfMany = threshold_type === "budget_per_run_usd" || threshold_type === "budget_per_session_usd";
  if (isOneOfMany && (counter.kind === "run" || counter.kind === "session")) return "";
  return `, ${counterText(counter, record)}`;
}

/** The facts of an alert besides its record. */
interface Told {
  largest?: Largest | undefined;
  incident?: string;
  /** The change that it reports. */
  event?: AlertEvent | null;
}

/** Returns the notification of a rule that fired, or is tested, or of what has happened to its alert since. */
export function describeAlert(
  record: AlertRecord,
  environment: string,
  { largest, incident = record.alert_id, event }: Told = {},
): Notification {
  const { title, facts } = record.threshold_type === PLAN_THRESHOLD
    ? describePlanAlert(record)
    : record.threshold_type === ASK_THRESHOLD
    ? describeAsking(record)
    : !isOfCalls(record.threshold_type)
    ? describeUnexplained(record)
    : record.reaches_at !== undefined
    ? describeForecast(record, record.threshold_type, largest)
    : describeSpending(record, record.threshold_type);
  facts.push({ label: "Alert", value: record.alert_id });
  const fired = {
    id: record.alert_id,
    incident,
    isTest: record.test,
    facts,
    environment,
    data: { ...record, environment },
  };
  if (!event) {
    return { ...fired, type: "alert.triggered", severity: record.severity, title, at: record.triggered_at };
  }
  const { acknowledged_by: by, note } = record;
  if (note !== undefined) facts.unshift({ label: "Note", value: note });
  const isResolved = event === "resolved";
  return {
    ...fired,
    type: `alert.${event}`,
    severity: "info",
    title: `${isResolved ? "Resolved" : `Acknowledged${by === undefined ? "" : ` by ${by}`}`}: ${title}`,
    at: (isResolved ? record.resolved_at : record.acknowledged_at) ?? record.triggered_at,
  };
}

function describeSpending(
  record: AlertRecord,
  type: ThresholdType | BudgetThreshold,
): Pick<Notification, "title"> & { facts: Fact[] } {
  const spent = SPENT[type].replace("UTC", record.time_zone ?? "UTC");
  const { limit_usd: limit, threshold_usd, value_usd } = record;
  const value = `$${usd(value_usd!)}`;
  const threshold = limit === undefined
    ? `$${usd(threshold_usd!)}`
    : `${share(threshold_usd!, limit)}% of $${usd(limit)}`;
  const title = record.test
    ? `Test of alert rule ${record.rule_name}: nothing was spent`
    : limit === undefined
    ? `${record.rule_name}${nameCounter(record)}: ${value} ${spent}, threshold ${threshold}`
    : `Budget ${record.rule_name}${nameCounter(record)}: ${value} ${spent}, ${threshold} reached`;
  const facts: Fact[] = [{ label: limit === undefined ? "Rule" : "Budget", value: record.rule_name }];
  const add = (label: string, fact: string | null) => {
    if (fact !== null) facts.push({ label, value: fact });
  };
  if (record.test) add("Test", "this checks that the channel works");
  else add("Spent", `${value} ${spent.replace(/^spent /, "")}`);
  add(limit === undefined ? "Threshold" : "Warning at", threshold);
  const { time_zone: zone = "UTC", window_start: start } = record;
  add("Since", start === null || zone === "UTC" ? start : timeIn(zone, Date.parse(start)));
  // The agent of the call that crossed the threshold; the spend of a time window may be that of all agents.
  add("Last call by", record.agent_id);
  for (const kind of NAMED) add(kind[0]!.toUpperCase() + kind.slice(1), nameIn(record, kind) ?? null);
  add("Session", record.session_id);
  add("Run", record.run_id);
  return { title, facts };
}

/** The subject with the most spending in the window of a forecast. */
export interface Largest {
  kind: string;
  name: string;
  costUsd: number;
}

/** Returns the title and the facts of a forecast: when a limit will be reached, and who spends the most. */
function describeForecast(
  record: AlertRecord,
  type: ThresholdType | BudgetThreshold,
  largest: Largest | undefined,
): Pick<Notification, "title"> & { facts: Fact[] } {
  const { rule_name, limit_usd, value_usd, window_start, reaches_at } = record;
  const most = largest && `${largest.kind} ${largest.name}`;
  const spent = `$${usd(value_usd!)} ${SPENT[type].replace(/^spent /, "")}`;
  return {
    title: `Budget ${rule_name}${nameCounter(record)}: at this rate its $${
      usd(limit_usd!)
    } are spent at ${reaches_at}, before its window ends${most ? `; most by ${most}` : ""}`,
    facts: [
      { label: "Budget", value: rule_name },
      { label: "Spent", value: spent },
      { label: "Limit", value: `$${usd(limit_usd!)}` },
      { label: "Reached at", value: reaches_at! },
      { label: "Since", value: window_start! },
      ...largest ? [{ label: "Most by", value: `${most}: $${usd(largest.costUsd)}` }] : [],
    ],
  };
}

/** Returns the title and the facts of a ticket: what is asked, by whom, for what, and how to answer. */
function describeAsking(record: AlertRecord): Pick<Notification, "title"> & { facts: Fact[] } {
  const { rule_name, approval, limit_usd, value_usd } = record;
  const key = nameIn(record, "key") ?? null;
  const more = approval ? `$${usd(approval.asked_usd)} more` : "more"; // its budget may have been removed
  const facts = {
    "Budget": rule_name,
    "Asked for": `${more} than $${usd(limit_usd!)}`,
    "Spent": `$${usd(value_usd!)}`,
    "Key": key,
    "Agent": record.agent_id,
    "Session": record.session_id,
    "Run": record.run_id,
    ...(approval && {
      "Model": approval.model === null ? null : `${approval.provider}:${approval.model}`,
      "The call may cost": `$${usd(approval.cost_usd)}`,
      "Answer before": approval.expires_at,
      "Answer with": `purser approvals approve ${approval.ticket_id} --reason TEXT`,
    }),
  };
  return {
    title: `Budget ${rule_name}${nameCounter(record)}: ${key ?? record.agent_id} asks for ${more}`,
    facts: Object.entries(facts).flatMap(([label, value]) => value === null ? [] : [{ label, value }]),
  };
}

/** Returns the title and the facts of an alert about a plan. */
function describePlanAlert(
  { rule_name, value_pct, threshold_pct, plan_window: plan, test }: {
    rule_name: string;
    value_pct?: number | undefined;
    threshold_pct?: number | undefined;
    plan_window?: AlertPlanWindow | undefined;
    test: boolean;
  },
): { title: string; facts: Fact[] } {
  const facts: Fact[] = [{ label: "Rule", value: rule_name }];
  const threshold = { label: "Threshold", value: `${threshold_pct}%` };
  if (test || !plan) {
    facts.push({ label: "Test", value: "this checks that the channel works" }, threshold);
    return { title: `Test of alert rule ${rule_name}: nothing was measured`, facts };
  }
  facts.push({ label: "Used", value: `${value_pct}%` }, threshold, { label: "Plan", value: plan.agent_id });
  if (plan.machine !== null) facts.push({ label: "Machine", value: plan.machine });
  if (plan.provider !== null) facts.push({ label: "Provider", value: plan.provider });
  facts.push({ label: "Window", value: plan.window }, { label: "Resets at", value: plan.resets_at });
  return {
    title:
      `${rule_name}: ${value_pct}% of the ${plan.window} window of the ${plan.agent_id} plan used, threshold ${threshold_pct}%`,
    facts,
  };
}

/** Returns the title and the facts of an alert about a bill. */
function describeUnexplained(
  { rule_name, bill, value_usd, threshold_usd }: AlertRecord,
): { title: string; facts: Fact[] } {
  const threshold = `$${usd(threshold_usd!)}`;
  const facts: Fact[] = [{ label: "Rule", value: rule_name }, { label: "Threshold", value: threshold }];
  if (!bill) {
    facts.push({ label: "Test", value: "this checks that the channel works" });
    return { title: `Test of alert rule ${rule_name}: nothing was compared`, facts };
  }
  const { source, month, account, reconciliation_id: id } = bill;
  const name = `${source}${account === null ? "" : ` ${account}`}`;
  facts.push({ label: "Bill", value: `${name}, ${month}` }, {
    label: "See",
    value: `purser reconcile show ${id}`,
  });
  const unexplained = `$${usd(value_usd!)} of the bill of ${name} for ${month} are unexplained`;
  return { title: `${rule_name}: ${unexplained}, more than ${threshold}`, facts };
}

/** Returns the share of a limit in percent, rounded to a tenth. */
function share(threshold: number, limit: number): number {
  return limit === 0 ? 100 : Math.round(threshold / limit * 1000) / 10;
}

function usd(value: number): string {
  return formatUsd(parseTotalUsd(value));
}
