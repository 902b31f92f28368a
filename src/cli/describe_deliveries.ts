import type { AlertHistoryRecord, DeliveryRecord } from "../alerts/mod.ts";
import { countOf } from "./format_values.ts";
import type { Paint, Style } from "./style.ts";

/** What became of an alert, channel by channel: `ops ok, slack retrying (2), mail failed`. */
export function describeDeliveries({ deliveries }: Pick<AlertHistoryRecord, "deliveries">): string {
  if (deliveries.length === 0) return "no channel";
  return deliveries.map((delivery) => `${delivery.channel} ${outcomeOf(delivery)}`).join(", ");
}

function outcomeOf({ status, attempts, last_error }: DeliveryRecord): string {
  if (status === "delivered") return "ok";
  if (status === "failed") return "failed";
  if (attempts === 0) return "waiting";
  // The first attempt is being made.
  return last_error === null ? "sending" : `retrying (${attempts})`;
}

/** Red where a channel has given up, yellow where one is at it. */
export function paintDeliveries(
  { deliveries }: Pick<AlertHistoryRecord, "deliveries">,
  style: Style,
): Paint | undefined {
  const has = (wanted: DeliveryRecord["status"]) => deliveries.some(({ status }) => status === wanted);
  return has("failed") ? style.red : has("pending") ? style.yellow : undefined;
}

/** A line for each channel that gave up alerts of a history (newest first), with why it did the last time. */
export function failureWarnings(
  history: readonly Pick<AlertHistoryRecord, "deliveries" | "test">[],
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
