import type { z, ZodType } from "zod";
import type { PostAnswer, PostJson } from "./http/post_json.ts";
import type { ResolveHost } from "./http/guarded_http.ts";
import { httpResult } from "./http/post_json.ts";
import type { Delivery, DeliveryError, Notification, SendResult } from "./notification.ts";
import type { layOut } from "./text.ts";
import { toPlainJsonText } from "../../kernel/json/portable_json.ts";

/** The version of the contract between Purser and its channels. A plugin declares the version it was written for. */
export const CHANNEL_CONTRACT = 1;

/** An open channel. */
export interface Channel {
  /** Makes one attempt, without retries. An exception counts as a failure to retry, unless a DeliveryError says otherwise. */
  send(notification: Notification, delivery: Delivery): Promise<SendResult> | SendResult;
  /** Called once when Purser closes. */
  close?(): Promise<void> | void;
}

/** The context that a channel is opened with, besides its settings. */
export interface ChannelContext {
  /** Structured lines; secrets of the settings are removed from them. */
  log: ChannelLog;
  /** The HTTP client for configured URLs: guarded, see its docs. */
  postJson: PostJson;
  /** Resolves a host to the addresses that may be reached, for channels of other protocols than HTTP. */
  resolveHost: ResolveHost;
  /** Milliseconds since the epoch. */
  now(): number;
  /** The channel's name in the config. */
  name: string;
}

/** The log of a channel. */
export interface ChannelLog {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
}

/** A kind of channel. */
export interface ChannelPlugin<Settings = unknown> {
  /** The version of the contract that it was written for; `defineChannel` adds it. */
  contract: typeof CHANNEL_CONTRACT;
  /** Its name in the config, as in `"kind": "webhook"`. */
  kind: string;
  /** One line for people. */
  summary: string;
  /**
   * The schema of its settings, an object; unknown keys are rejected. A secret is marked with
   * `.meta({ secret: true })`, a URL whose path is secret with `.meta({ secret: "url" })`; either may be given as
   * `{"file": "…"}`, as may a setting marked with `.meta({ fromFile: true })`.
   */
  settings: ZodType<Settings>;
  /** Opens the channel with checked settings; it connects to nothing yet. */
  open(settings: Settings, context: ChannelContext): Channel | Promise<Channel>;
}

/** The argument of a plugin module's default export, so that a file on disk has no import to resolve. */
export interface ChannelKit {
  /** Defines the kind of channel. */
  defineChannel: typeof defineChannel;
  /** Defines a kind that POSTs one JSON object for each notification. */
  defineHttpChannel: typeof defineHttpChannel;
  /** The schema library. */
  z: typeof z;
  /** The schema of a URL that `postJson` takes; add `.meta({ secret: "url" })` where its path is a password. */
  httpUrl: ZodType<string>;
  /** Maps an HTTP response to success, a failure to retry, or a permanent one. `now` as in the context. */
  httpResult: (answer: PostAnswer, now: number) => SendResult;
  /** Thrown from `send`: a failure that states whether a retry may succeed. */
  DeliveryError: typeof DeliveryError;
  /** True for a URL that `postJson` takes: http or https, without user and password. */
  isHttpUrl: (text: string) => boolean;
  /** Serializes a value as JSON that every reader takes: without lone surrogates. */
  toJson: (value: unknown) => string;
  /** Cuts a text to so many UTF-16 units, with `…` at its end. */
  cutText: (text: string, max: number) => string;
  /** Returns a text as one line without control characters, cut like `cutText`. */
  oneLine: (text: string, max?: number) => string;
  /** Returns the texts of a notification within a service's room for them, escaped for it. */
  layOut: typeof layOut;
}

/** The default export of a plugin's module. */
export type ChannelModule = (kit: ChannelKit) => ChannelPlugin;

/** Defines a kind of channel: it infers the types, and adds the version of the contract. */
export function defineChannel<Settings>(
  plugin: Omit<ChannelPlugin<Settings>, "contract">,
): ChannelPlugin {
  return { contract: CHANNEL_CONTRACT, ...plugin } as ChannelPlugin;
}

/** The request that a notification becomes. */
export interface ChannelRequest {
  url: string;
  /** Sent as JSON. */
  payload: unknown;
  headers?: Readonly<Record<string, string>>;
}

/** A kind of channel that POSTs one JSON object for each notification. */
export interface HttpChannel<Settings> extends Omit<ChannelPlugin<Settings>, "contract" | "open"> {
  /** Returns the request of a notification. */
  request(settings: Settings, notification: Notification): ChannelRequest;
  /** The results of statuses that mean something else than in `httpResult`. */
  statuses?: Readonly<Record<number, SendResult>>;
}

/** Defines a kind of channel that POSTs one JSON object for each notification: see `httpResult` for its results. */
export function defineHttpChannel<Settings>(
  { request, statuses = {}, ...plugin }: HttpChannel<Settings>,
): ChannelPlugin {
  return defineChannel<Settings>({
    ...plugin,
    open: (settings, { postJson, now }) => ({
      async send(notification, { signal }) {
        const { payload, ...target } = request(settings, notification);
        const answer = await postJson({ ...target, body: toPlainJsonText(payload), signal });
        return statuses[answer.status] ?? httpResult(answer, now());
      },
    }),
  });
}
