import type { Alert, AlertDelivery } from "../../../contract/alerts/alerts.ts";
import { counterText } from "../../../contract/budgets/subjects.ts";
import { nameFieldOf, nameIn } from "../../../contract/costs/dimensions.ts";
import type { AlertResend } from "../../../contract/alerts/sent_alerts.ts";
import { arg, type Command, type CommandContext, option } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { formatMeasured, paintSeverity } from "../../render/format_spent.ts";
import { countOf, formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import type { Paint, Style } from "../../terminal/style.ts";
import { textWidth } from "../../terminal/text_width.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 500;
/** Below this width, times are shown without seconds, to leave room for the deliveries. */
const NARROW_COLUMNS = 100;
/** The width up to which CHANNELS takes room from a long RULE: `10 failed, 10 pending, 10 ok`. */
const ROOM_FOR_CHANNELS = 28;

/** `purser alerts history [--limit N]` */
export const alertsHistory: Command = {
  name: "alerts history",
  args: [],
  summary: "List the latest alerts and their deliveries",
  options: { limit: option("N", "Maximum number of alerts, 1 to 500 (default 20)") },
  examples: [["purser alerts history --limit 5", ""]],
  isReadOnly: true,
  run: listAlerts,
};

async function listAlerts(ctx: CommandContext): Promise<void> {
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: MAX_LIMIT }) ?? DEFAULT_LIMIT;
  const { api } = await ctx.connect();
  const answer = await api.alerts.history.$get({ query: { limit: String(limit) } });
  let warnings: string[] = [];
  await printAnswer(ctx, answer, (alerts) => {
    if (alerts.length === 0) return "No alerts yet";
    warnings = failureWarnings(alerts);
    const { columns } = ctx.terminal.stdout;
    const isNarrow = columns !== undefined && columns < NARROW_COLUMNS;
    const { shortest, longest } = measureDeliveries(alerts);
    return renderTable(alerts, [
      {
        title: "WHEN (UTC)",
        cell: (alert) =>
          formatTime(alert.triggered_at).slice(0, isNarrow ? "2026-11-21 09:30".length : undefined),
      },
      { title: "SEVERITY", cell: (alert) => alert.severity, paint: paintSeverity, drop: 2 },
      { title: "STATE", cell: ({ state, test }) => test ? "-" : state, drop: 4 },
      // In front, so that cutting a long name keeps it.
      { title: "RULE", cell: nameSource, cutTo: 12 },
      {
        title: "SPENT",
        cell: (alert) => formatMeasured(alert.test ? { ...alert, value_usd: null, value_pct: null } : alert),
        drop: 0,
      },
      { title: "SOURCE", cell: sourceOf, cutTo: 8, drop: 0.5 },
      { title: "ALERT", cell: (alert) => alert.alert_id, drop: 3 },
      {
        title: "CHANNELS",
        cell: (alert) => describeDeliveries(alert),
        paint: paintDeliveries,
        stretch: {
          min: isNarrow ? Math.min(shortest, "1 failed, 10 ok".length) : Math.min(longest, ROOM_FOR_CHANNELS),
          max: longest,
          draw: describeDeliveries,
        },
      },
    ], ctx.layout);
  });
  for (const warning of warnings) ctx.warn(warning);
}

/** Names the rule or the budget of an alert: `[test] Daily limit`, `budget Day`. */
function nameSource({ test, threshold_type, rule_name }: Alert): string {
  return (test ? "[test] " : "") + (threshold_type.startsWith("budget_") ? "budget " : "") + rule_name;
}

/** Names the agent and the key of the call, and the counter of the budget or rule: `researcher run_42`, `coder key laptop`. */
function sourceOf(alert: Alert): string {
  const { threshold_type, agent_id, session_id, run_id, counter } = alert;
  const key = counter?.kind === "key" ? undefined : nameIn(alert, "key");
  const scope = counter && (nameFieldOf(counter.kind) || counter.kind.startsWith("tag:"))
    ? counterText(counter, alert)
    : counter && counter.kind !== "agent"
    ? counter.id
    : threshold_type === "per_run_usd"
    ? run_id
    : threshold_type === "per_session_usd"
    ? session_id
    : null;
  // Calls that name no agent have the name of their key.
  const isNamedByKey = agent_id !== null && (key === agent_id || key?.startsWith(`${agent_id} (`));
  const parts = [isNamedByKey ? null : agent_id, scope, key === undefined ? null : `key ${key}`];
  return parts.filter((part) => part !== null).join(" ") || "-";
}

type Delivered = Pick<Alert, "deliveries">;

/** The statuses, most urgent first, and the word for a count of them. */
const BY_URGENCY = [["failed", "failed"], ["pending", "pending"], ["delivered", "ok"]] as const;

/**
 * Describes the deliveries of an alert by channel: `mail failed, slack retrying (2), ops ok`. Where that is wider than
 * `width`, channels are counted, successful ones first: `mail failed, 1 pending, 1 ok`.
 */
export function describeDeliveries(delivered: Delivered, width = Infinity): string {
  const levels = describeLevels(delivered);
  return levels.find((text) => textWidth(text) <= width) ?? levels.at(-1)!;
}

/** Returns the widths of the deliveries of some alerts: fully shortened, and in full. */
function measureDeliveries(alerts: readonly Delivered[]): { shortest: number; longest: number } {
  const widths = alerts.map((alert) => describeLevels(alert).map(textWidth));
  return {
    shortest: Math.max(0, ...widths.map((each) => each.at(-1)!)),
    longest: Math.max(0, ...widths.map((each) => each[0]!)),
  };
}

/** Returns the description in full, then with delivered channels counted, with pending ones too, and with all. */
function describeLevels({ deliveries }: Delivered): string[] {
  if (deliveries.length === 0) return ["no channel"];
  return [3, 2, 1, 0].map((named) =>
    BY_URGENCY.flatMap(([status, word], index) => {
      const members = deliveries.filter((delivery) => delivery.status === status);
      if (index >= named) return members.length > 0 ? [`${members.length} ${word}`] : [];
      return members.map((delivery) => escapeText(`${nameOf(delivery)} ${outcomeOf(delivery)}`));
    }).join(", ")
  );
}

/** Returns the name of a delivery's channel; its kind for a key of one agent, which doesn't get the name. */
function nameOf({ channel, kind }: AlertDelivery): string {
  return channel || kind;
}

function outcomeOf({ status, attempts, last_error }: AlertDelivery): string {
  if (status === "delivered") return "ok";
  if (status === "failed") return "failed";
  if (attempts === 0) return "waiting";
  // The first attempt is in progress.
  return last_error === null ? "sending" : `retrying (${attempts})`;
}

/** Red if a delivery has failed, yellow if one is pending. */
function paintDeliveries(
  { deliveries }: Pick<Alert, "deliveries">,
  style: Style,
): Paint | undefined {
  const has = (wanted: AlertDelivery["status"]) => deliveries.some(({ status }) => status === wanted);
  return has("failed") ? style.red : has("pending") ? style.yellow : undefined;
}

/** Returns a line for each channel with failed deliveries in a history (newest first), with the latest error. */
export function failureWarnings(
  history: readonly Pick<Alert, "deliveries" | "test">[],
): string[] {
  const failures = new Map<string, { count: number; reason: string | null }>();
  for (const { deliveries, test } of history) {
    for (const delivery of test ? [] : deliveries) {
      if (delivery.status !== "failed") continue;
      const known = failures.get(nameOf(delivery));
      if (known) known.count++;
      else failures.set(nameOf(delivery), { count: 1, reason: delivery.last_error });
    }
  }
  return [...failures].map(([channel, { count, reason }]) =>
    `Channel ${channel} failed to deliver ${countOf(count, "alert")}${reason === null ? "" : `: ${reason}`}`
  );
}

/** `purser alerts ack ALERT_ID` */
export const alertsAck: Command = {
  name: "alerts ack",
  args: [arg("ALERT_ID", { live: "alert" })],
  summary: "Acknowledge an alert: it isn't repeated",
  detail:
    "Its rule doesn't fire again for the same run, session, day or month, or for the hour until its spending has " +
    "fallen below the threshold. Channels with send_resolved are told.",
  options: { note: option("TEXT", "For those that read it later") },
  examples: [['purser alerts ack alert_42 --note "a planned run"', ""]],
  needsDatabase: true,
  async run(ctx) {
    const note = ctx.options.text("note");
    const { api } = await ctx.connect();
    const answer = await api.alerts.history[":alert_id"].ack.$post({
      param: { alert_id: idInPath(readId(ctx)) },
      json: note === undefined ? {} : { note },
    });
    await printAnswer(ctx, answer, ({ alert_id }) => `Acknowledged alert ${alert_id}`);
  },
};

/** `purser alerts resend ALERT_ID` */
export const alertsResend: Command = {
  name: "alerts resend",
  args: [arg("ALERT_ID", { live: "alert" })],
  summary: "Send an alert of the history once more",
  detail:
    "The alert is sent once to every channel whose min_severity it reaches today. Exit code 1 if any channel " +
    "fails. The id is in the notification, and in purser alerts history.",
  options: {},
  examples: [["purser alerts resend alert_42", ""]],
  needsDatabase: true,
  run: resendAlert,
};

async function resendAlert(ctx: CommandContext): Promise<number> {
  const alertId = readId(ctx);
  const connection = await ctx.connect();
  const url = connection.api.alerts.history[":alert_id"].resend.$url({
    param: { alert_id: idInPath(alertId) },
  });
  const { postTest } = await import("../channels/post_notification.ts");
  return await postTest<AlertResend>(ctx, connection, url, ({ results }) => results);
}
