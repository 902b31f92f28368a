import type { Delivery, NamedChannel, Notification, SendResult } from "../../src/delivery/channels/mod.ts";

/** A notification that a channel was given to send. */
export interface Sent {
  notification: Notification;
  delivery: Delivery;
}

/** The outcome of a recording channel: a result, or a function that returns one. */
export type Answer = SendResult | ((sent: Sent) => Promise<SendResult> | SendResult);

/** A channel that records what it is given to send. */
export interface RecordingChannel extends NamedChannel {
  sent: Sent[];
  /** The outcomes in turn; the last one repeats. */
  answers: Answer[];
  /** Resolves once so many were sent. */
  until(count: number): Promise<void>;
}

/** Creates a channel in memory; it delivers everything unless outcomes are given. */
export function recordingChannel(
  name: string,
  options: Partial<NamedChannel> & { answers?: Answer[] } = {},
): RecordingChannel {
  const { answers = [{ ok: true }], ...settings } = options;
  let waiting: { count: number; resolve: () => void }[] = [];
  const channel: RecordingChannel = {
    name,
    ...settings,
    sent: [],
    answers: [...answers],
    async send(notification, delivery) {
      const sent = { notification, delivery };
      channel.sent.push(sent);
      waiting = waiting.filter(({ count, resolve }) => channel.sent.length < count || resolve());
      const answer = channel.answers.length > 1 ? channel.answers.shift()! : channel.answers[0]!;
      return typeof answer === "function" ? await answer(sent) : answer;
    },
    until(count) {
      if (channel.sent.length >= count) return Promise.resolve();
      return new Promise((resolve) => waiting.push({ count, resolve }));
    },
  };
  return channel;
}

/** An outcome that never comes, regardless of the signal. */
export const hang: Answer = () => new Promise(() => {});

/** A transient failure. */
export const passing = { ok: false, retry: true, reason: "HTTP 503" } as const satisfies SendResult;

/** A permanent failure. */
export const permanent: SendResult = { ok: false, retry: false, reason: "HTTP 410" };
