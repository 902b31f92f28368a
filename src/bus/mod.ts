import type { Log } from "../kernel/log.ts";
import { messageOf } from "../kernel/errors.ts";

/** A committed event. `payload` is in wire form. */
export interface BusEvent<Payload = Record<string, unknown>> {
  /** Its type, such as `model.called`. */
  type: string;
  /** Its time, ISO 8601 UTC. */
  at: string;
  /** The agent that it is about. */
  agent_id: string;
  /** The session that it is about; null outside a session. */
  session_id: string | null;
  /** The run that it is about; null outside a run. */
  run_id: string | null;
  /** Position in the session's log; null outside a session. */
  seq: number | null;
  /** Its facts, which depend on the type. */
  payload: Payload;
}

/** Publishes committed events to the subscribers in this process. Other instances read the event log instead. */
export interface Bus {
  /** Calls every subscriber in turn; the error of one is logged. */
  publish(event: BusEvent): void;
  /** Returns whether events of a type have a subscriber; check it before building one. */
  hasSubscribers(type: string): boolean;
  /** Subscribes to all events, or to those of one type. Returns the function that ends the subscription. */
  subscribe(subscriber: (event: BusEvent) => void, type?: string): () => void;
}

/** Creates the bus of a process. Events are passed through `scrub`, which removes configured secrets. */
export function createBus(log: Log, scrub: <T>(event: T) => T = (event) => event): Bus {
  const ofAll = new Feed<BusEvent>(log);
  const byType = new Map<string, Feed<BusEvent>>();
  return {
    publish(published) {
      const ofType = byType.get(published.type);
      if (!ofAll.hasListeners && !ofType) return;
      const event = scrub(published);
      ofAll.publish(event);
      ofType?.publish(event);
    },
    hasSubscribers: (type) => ofAll.hasListeners || byType.get(type)?.hasListeners === true,
    subscribe(subscriber, type) {
      if (type === undefined) return ofAll.subscribe(subscriber);
      const feed = byType.get(type) ?? new Feed(log);
      byType.set(type, feed);
      return feed.subscribe(subscriber);
    },
  };
}

/** Passes values to the listeners in this process, in turn. */
export class Feed<Value> {
  readonly #listeners = new Set<(value: Value) => void>();

  constructor(private readonly log: Log) {}

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Calls every listener; the error of one is logged. */
  publish(value: Value): void {
    for (const listener of this.#listeners) {
      try {
        listener(value);
      } catch (error) {
        this.log.error("A subscriber of the bus failed", { reason: messageOf(error) });
      }
    }
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: (value: Value) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
