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
  readonly payload: Payload;
}

/** Publishes committed events to the subscribers in this process. Other instances read the event log instead. */
export interface Bus {
  /** Calls every subscriber in turn; the error of one is logged. */
  publish(event: BusEvent): void;
  /** The same for an event whose payload is made of its facts when a subscriber reads it: few read that of a booked call. */
  publishFacts<Facts extends object>(
    head: Omit<BusEvent, "payload">,
    facts: Facts,
    toPayload: (facts: Facts) => object,
  ): void;
  /** True while there are subscribers; check it before building many events. */
  readonly hasSubscribers: boolean;
  /** Returns the function that ends the subscription. */
  subscribe(subscriber: (event: BusEvent) => void): () => void;
}

const factsOfEvents = new WeakMap<BusEvent, object>();

/** Returns the facts of which the payload of an event is made, for a subscriber that needs no wire form. */
export const factsOf = (event: BusEvent): object | undefined => factsOfEvents.get(event);

/** Creates the bus of a process. Events are passed through `scrub`, which removes configured secrets. */
export function createBus(log: Log, scrub: <T>(event: T) => T = (event) => event): Bus {
  const subscribers = new Set<(event: BusEvent) => void>();
  const send = (event: BusEvent) => {
    for (const subscriber of subscribers) {
      try {
        subscriber(event);
      } catch (error) {
        log.error("A subscriber of the bus failed", { type: event.type, reason: messageOf(error) });
      }
    }
  };
  return {
    publish(event) {
      if (subscribers.size > 0) send(scrub(event));
    },
    publishFacts(head, facts, toPayload) {
      if (subscribers.size === 0) return;
      let payload: Record<string, unknown> | undefined;
      const event = {
        ...scrub(head),
        get payload() {
          return payload ??= scrub({ ...toPayload(facts) });
        },
      };
      factsOfEvents.set(event, facts);
      send(event);
    },
    get hasSubscribers() {
      return subscribers.size > 0;
    },
    subscribe(subscriber) {
      subscribers.add(subscriber);
      return () => void subscribers.delete(subscriber);
    },
  };
}
