import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Severity } from "../contract/severity.ts";
import type { Query, Store } from "../store/mod.ts";

/** A channel as the outbox knows it: what a row of it needs. */
export interface OutboxChannel {
  name: string;
  kind: string;
  /** It hears of nothing milder. */
  minSeverity: Severity;
}

/** Whether there may be rules to look at; without any, booking a call doesn't pay for them. */
export interface KnownRules {
  mayExist: boolean;
}

/** What alerts need of the process they run in. */
export interface AlertContext {
  store: Store;
  query: Query;
  clock: Clock;
  ids: Ids;
  /** This process, as the holder of leases. */
  instanceId: string;
  /** What this process knows of the rules that there are. */
  rules: KnownRules;
  /** The channels that this process delivers to, and writes outbox rows for. */
  outboxChannels: readonly OutboxChannel[];
  /** Tells the dispatcher that there may be something to deliver. */
  wakeDispatcher(subjectIds: readonly string[]): void;
}
