import type { Severity } from "../contract/values.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Query, Store } from "../store/mod.ts";

/** A channel as the outbox knows it: what a row of it needs. */
export interface OutboxChannel {
  name: string;
  kind: string;
  /** The mildest severity that it is notified of. */
  minSeverity: Severity;
}

/** What writing to the outbox and delivering from it need of the process they run in. */
export interface DeliveryContext {
  store: Store;
  query: Query;
  clock: Clock;
  ids: Ids;
  /** This process, as the holder of leases. */
  instanceId: string;
  /** The channels that this process delivers to, and writes outbox rows for. */
  outboxChannels: readonly OutboxChannel[];
  /** Notifies the dispatcher that there may be something to deliver. */
  wakeDispatcher(subjectIds: readonly string[]): void;
}
