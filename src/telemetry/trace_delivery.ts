import type { Telemetry } from "./telemetry.ts";

/** The facts of one attempt to deliver a notification, for its span. */
export interface DeliveryFacts {
  channel: string;
  kind: string;
  deliveryId: string;
  /** The id of the alert or anomaly; undefined for a test of a channel. */
  subjectId?: string;
  attempt: number;
  /** True for an attempt of a request, such as a test; false for the dispatcher's. */
  isInRequest?: boolean;
}

/** The result of an attempt; `retry` if it has failed and may be retried. */
export type AttemptResult = { ok: true } | { ok: false; retry: boolean };

/** Makes an attempt inside a span `deliver {kind}`, which has neither the message nor the address. */
export async function traceDelivery<T extends AttemptResult>(
  telemetry: Telemetry,
  facts: DeliveryFacts,
  attempt: () => Promise<T>,
): Promise<T> {
  if (!telemetry.isOn) return await attempt();
  const span = telemetry.startSpan({
    name: `deliver ${facts.kind}`,
    kind: "client",
    durationMetric: "purser.delivery.duration",
    parent: facts.isInRequest ? undefined : null,
    attributes: {
      "purser.channel.name": facts.channel,
      "purser.channel.kind": facts.kind,
      "purser.delivery.id": facts.deliveryId,
      "purser.delivery.attempt": facts.attempt,
      "purser.delivery.subject_id": facts.subjectId,
    },
  });
  const result = await span.run(attempt);
  span.set({ "purser.delivery.outcome": result.ok ? "delivered" : "not_delivered" });
  span.end(result.ok ? undefined : result.retry ? "passing" : "permanent");
  return result;
}
