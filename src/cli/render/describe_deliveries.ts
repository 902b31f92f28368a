import type { Alert, AlertDelivery } from "../../contract/alerts.ts";
import { escapeText } from "../terminal/escape_text.ts";
import { countOf } from "./format_values.ts";
import type { Paint, Style } from "../terminal/style.ts";
import { textWidth } from "../terminal/text_width.ts";

type Delivered = Pick<Alert, "deliveries">;

/** What people have to know first, and the word for several. */
const BY_URGENCY = [["failed", "failed"], ["pending", "pending"], ["delivered", "ok"]] as const;

/**
 * What became of an alert, channel by channel: `mail failed, slack retrying (2), ops ok`. Where that is wider than
 * `width`, channels are counted, those that are well first: `mail failed, 1 pending, 1 ok`.
 */
export function describeDeliveries(delivered: Delivered, width = Infinity): string {
  const levels = describeLevels(delivered);
  return levels.find((text) => textWidth(text) <= width) ?? levels.at(-1)!;
}

/** How much room the deliveries of some alerts take when nothing is shortened, and when all is. */
export function measureDeliveries(alerts: readonly Delivered[]): { shortest: number; longest: number } {
  const widths = alerts.map((alert) => describeLevels(alert).map(textWidth));
  return {
    shortest: Math.max(0, ...widths.map((each) => each.at(-1)!)),
    longest: Math.max(0, ...widths.map((each) => each[0]!)),
  };
}

/** The same at length; then with those that are well counted, with those that are at it, and with all. */
function describeLevels({ deliveries }: Delivered): string[] {
  if (deliveries.length === 0) return ["no channel"];
  return [3, 2, 1, 0].map((named) =>
    BY_URGENCY.flatMap(([status, word], index) => {
      const members = deliveries.filter((delivery) => delivery.status === status);
      if (index >= named) return members.length > 0 ? [`${members.length} ${word}`] : [];
      return members.map((delivery) => escapeText(`${delivery.channel} ${outcomeOf(delivery)}`));
    }).join(", ")
  );
}

function outcomeOf({ status, attempts, last_error }: AlertDelivery): string {
  if (status === "delivered") return "ok";
  if (status === "failed") return "failed";
  if (attempts === 0) return "waiting";
  // The first attempt is being made.
  return last_error === null ? "sending" : `retrying (${attempts})`;
}

/** Red where a channel has given up, yellow where one is at it. */
export function paintDeliveries(
  { deliveries }: Pick<Alert, "deliveries">,
  style: Style,
): Paint | undefined {
  const has = (wanted: AlertDelivery["status"]) => deliveries.some(({ status }) => status === wanted);
  return has("failed") ? style.red : has("pending") ? style.yellow : undefined;
}

/** A line for each channel that gave up alerts of a history (newest first), with why it did the last time. */
export function failureWarnings(
  history: readonly Pick<Alert, "deliveries" | "test">[],
): string[] {
  const failures = new Map<string, { count: number; reason: string | null }>();
  for (const { deliveries, test } of history) {
    for (const { channel, status, last_error } of test ? [] : deliveries) {
      if (status !== "failed") continue;
      const known = failures.get(channel);
      if (known) known.count++;
      else failures.set(channel, { count: 1, reason: last_error });
    }
  }
  return [...failures].map(([channel, { count, reason }]) =>
    `Channel ${channel} failed to deliver ${countOf(count, "alert")}${reason === null ? "" : `: ${reason}`}`
  );
}
