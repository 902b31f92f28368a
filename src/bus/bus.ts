import { type Log } from "../kernel/log.ts";
import { messageOf } from "../kernel/errors.ts";

/** Something that was committed. `payload` is in wire form. */
export interface BusEvent<Payload = Record<string, unknown>> {
  type: string;
  at: string;
  agent_id: string;
  session_id: string | null;
  run_id: string | null;
  /** Position in the session's log; null outside a session. */
  seq: number | null;
  payload: Payload;
}

/** Tells this process's subscribers what was committed. Other instances read the event log instead. */
export interface Bus {
  /** Calls every subscriber in turn; one that throws does not keep it from the others. */
  publish(event: BusEvent): void;
  /** Whether anybody listens; who publishes much asks first. */
  readonly isHeard: boolean;
  /** Returns the function that ends the subscription. */
  subscribe(subscriber: (event: BusEvent) => void): () => void;
}

/** A bus inside this process. */
export function createBus(log: Log): Bus {
  const subscribers = new Set<(event: BusEvent) => void>();
  return {
    publish(event) {
      for (const subscriber of subscribers) {
        try {
          subscriber(event);
        } catch (error) {
          log.error("A subscriber of the bus failed", { type: event.type, reason: messageOf(error) });
        }
      }
    },
    get isHeard() {
      return subscribers.size > 0;
    },
    subscribe(subscriber) {
      subscribers.add(subscriber);
      return () => void subscribers.delete(subscriber);
    },
  };
}
