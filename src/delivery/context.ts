import type { ChannelHead } from "../config/mod.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Query, Store } from "../store/mod.ts";
import type { Telemetry } from "../telemetry/mod.ts";
import type { Notification } from "./channels/notification.ts";
import type { Channels } from "./channels/create_channels.ts";

/** The properties of a channel that a row of the outbox needs. */
export type OutboxChannel = Pick<ChannelHead, "name" | "kind" | "minSeverity" | "sendResolved" | "digest">;

/** The context of writing to the outbox. */
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

/** The context of delivering from the outbox. */
export interface DispatchContext extends DeliveryContext {
  channels: Channels;
  log: Log;
  telemetry: Telemetry;
  /** Reads the notification of an alert, of what happened to it later, or of an anomaly; undefined if it no longer exists. */
  readNotification(subjectId: string, event: string | null): Promise<Notification | undefined>;
  /** The time zone of the quiet hours of channels that name none. Default: UTC. */
  timeZone?: string;
  /** Returns a number from 0 up to 1. Default: `Math.random`. */
  random?: () => number;
}
