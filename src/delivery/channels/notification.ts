import type { Severity } from "../../contract/values.ts";

/** One line of a notification: `Agent`, `researcher`. */
export interface Fact {
  label: string;
  value: string;
}

/** The events that notifications report. */
export type NotificationType =
  | "alert.triggered"
  | "alert.acknowledged"
  | "alert.resolved"
  | "anomaly.detected"
  | "spending.digest"
  | "channel.test";

/** A message for people and programs. Any text in it may hold any Unicode: a channel has to escape and cut it. */
export interface Notification {
  /** The id of the alert, the anomaly or the test. */
  id: string;
  /** The event it reports; a webhook's `type`. */
  type: NotificationType;
  /** For services that have incidents: the same for an alert, what happens to it later, and its repetitions. Default: the id. */
  incident?: string;
  /** True if it only tests the channel; the text says so too. */
  isTest: boolean;
  /** The severity of the alert or the anomaly. */
  severity: Severity;
  /** One line, without a severity: `Daily spend of researcher reached $10.25 (threshold $10)`. */
  title: string;
  /** The facts in the order in which people read them. */
  facts: readonly Fact[];
  /** The time of the event, ISO 8601 UTC. */
  at: string;
  /** The name of the environment it happened in. */
  environment: string;
  /** The same in wire form, for programs: of an alert its history record without deliveries. */
  data: Readonly<Record<string, unknown>>;
}

/** The result of one attempt. */
export type SendResult =
  | { ok: true }
  | {
    ok: false;
    /** True if a later attempt may succeed. The dispatcher decides whether and when it is retried. */
    retry: boolean;
    /** For people, without a secret: `HTTP 503`. */
    reason: string;
    /** The delay that the receiver requested, in milliseconds. An hour is honored at most. */
    retryAfterMs?: number;
  };

/** A failure to deliver that states whether a retry may succeed; the registry makes a result of it. */
export class DeliveryError extends Error {
  readonly retry: boolean;

  constructor(message: string, options: { retry: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = "DeliveryError";
    this.retry = options.retry;
  }
}

/** One attempt to deliver. */
export interface Delivery {
  /** Aborts when the attempt times out, or the process ends. */
  signal: AbortSignal;
  /** The same in every attempt, so that a receiver can recognize a duplicate. */
  deliveryId: string;
  /** 1, 2, … */
  attempt: number;
}
