import type { Telemetry } from "./telemetry.ts";

/** One attempt to deliver a notification, as it is told. */
export interface DeliveryFacts {
  channel: string;
  kind: string;
  deliveryId: string;
  /** The alert's or anomaly's id; a test of a channel tells of nothing. */
  subjectId?: string;
  attempt: number;
  /** Whether it is a request's work, as a test is, and not the dispatcher's. */
  isInRequest?: boolean;
}

/** What came of an attempt; `retry` where it did not arrive and may be tried again. */
export type AttemptResult = { ok: true } | { ok: false; retry: boolean };

/** Makes an attempt inside a span of its own: `deliver {kind}`. Neither the message nor the address is told. */
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
