import type { Severity } from "../../contract/values.ts";

/** One line of what a notification tells: `Agent`, `researcher`. */
export interface Fact {
  label: string;
  value: string;
}

/** What people are told. Every text in it may hold any Unicode: a channel has to escape and to cut it. */
export interface Notification {
  /** The alert's, the anomaly's or the test's id. */
  id: string;
  /** What it tells of; a webhook's `type`. */
  type: "alert.triggered" | "anomaly.detected" | "channel.test";
  /** Whether somebody only wants to see that the channel works; the text says so too. */
  isTest: boolean;
  severity: Severity;
  /** One line, without a severity: `Daily spend of researcher reached $10.25 (threshold $10)`. */
  title: string;
  /** The facts in the order in which people look at them. */
  facts: readonly Fact[];
  /** When it happened, ISO 8601 UTC. */
  at: string;
  /** The name of the environment it happened in. */
  environment: string;
  /** The same in wire form, for programs: of an alert its history record without deliveries. */
  data: Readonly<Record<string, unknown>>;
}
