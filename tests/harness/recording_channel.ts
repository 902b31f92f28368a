import type { Delivery, NamedChannel, Notification, SendResult } from "../../src/delivery/channels/mod.ts";

/** What a channel was asked to send. */
export interface Sent {
  notification: Notification;
  delivery: Delivery;
}

/** What a recording channel answers: a result, or what a function makes of it. */
export type Answer = SendResult | ((sent: Sent) => Promise<SendResult> | SendResult);

/** A channel that keeps what it was asked to send. */
export interface RecordingChannel extends NamedChannel {
  sent: Sent[];
  /** Answers in turn; the last one goes on. */
  answers: Answer[];
  /** Resolves once so many were sent. */
  until(count: number): Promise<void>;
}

/** A channel in memory; it delivers everything unless told otherwise. */
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

/** An answer that never comes, whatever the signal says. */
export const hang: Answer = () => new Promise(() => {});

/** A failure that may pass. */
export const passing = { ok: false, retry: true, reason: "HTTP 503" } as const satisfies SendResult;

/** A failure for good. */
export const permanent: SendResult = { ok: false, retry: false, reason: "HTTP 410" };
