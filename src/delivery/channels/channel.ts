import type { z, ZodType } from "zod";
import type { Notification } from "./notification.ts";
import type { DeliveryError } from "./delivery_error.ts";
import type { PostAnswer, PostJson } from "./http/post_json.ts";
import type { ResolveHost } from "./http/resolve_host.ts";

/** The version of the contract between Purser and its channels. A plugin says which one it was written for. */
export const CHANNEL_CONTRACT = 1;

/** What became of one attempt. */
export type SendResult =
  | { ok: true }
  | {
    ok: false;
    /** Whether it may work later. Whether and when it is tried again is the dispatcher's decision. */
    retry: boolean;
    /** For people, without a secret: `HTTP 503`. */
    reason: string;
    /** What the receiver asked for, in milliseconds. */
    retryAfterMs?: number;
  };

/** One attempt to deliver. */
export interface Delivery {
  /** Aborts when the time for this attempt is over, or the process ends. */
  signal: AbortSignal;
  /** The same in every attempt, so that a receiver can tell a repetition. */
  deliveryId: string;
  /** 1, 2, … */
  attempt: number;
}

/** An open channel. */
export interface Channel {
  /**
   * Makes one attempt, and never retries by itself. What it throws counts as a failure that may pass, but for
   * a DeliveryError, which says so itself.
   */
  send(notification: Notification, delivery: Delivery): Promise<SendResult> | SendResult;
  close?(): Promise<void> | void;
}

/** What a channel is given beside its settings. */
export interface ChannelContext {
  /** Structured lines; secrets of the settings are taken out of them. */
  log: ChannelLog;
  /** The HTTP client for addresses that people configure: guarded, see its docs. */
  postJson: PostJson;
  /** The addresses of a host that may be reached, for channels that speak something else than HTTP. */
  resolveHost: ResolveHost;
  /** Milliseconds since the epoch. */
  now(): number;
  /** The channel's name in the config. */
  name: string;
}

/** Where a channel writes lines. */
export interface ChannelLog {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
}

/** A kind of channel. */
export interface ChannelPlugin<Settings = unknown> {
  contract: typeof CHANNEL_CONTRACT;
  /** Its name in the config, as in `"kind": "webhook"`. */
  kind: string;
  /** One line for people. */
  summary: string;
  /**
   * What it takes, an object; unknown keys are refused. A secret is marked with `.meta({ secret: true })`, an
   * address whose path is secret with `.meta({ secret: "url" })`; either may be given as `{"file": "…"}`, as
   * may what is marked with `.meta({ fromFile: true })`.
   */
  settings: ZodType<Settings>;
  open(settings: Settings, context: ChannelContext): Channel | Promise<Channel>;
}

/** What the module of a plugin is handed, so that a file on disk has no import to resolve. */
export interface ChannelKit {
  defineChannel: typeof defineChannel;
  z: typeof z;
  /** What an HTTP answer means: success, a failure that may pass, or one that stays. `now` as the context has it. */
  httpResult: (answer: PostAnswer, now: number) => SendResult;
  /** Thrown from `send`: a failure that says whether a later attempt may succeed. */
  DeliveryError: typeof DeliveryError;
  /** Whether a text is an address for `postJson`: http or https, without user and password. */
  isHttpUrl: (text: string) => boolean;
  /** A value as JSON that every reader takes: without halves of surrogate pairs. */
  toJson: (value: unknown) => string;
  /** Cuts a text to so many UTF-16 units, with `…` at its end. */
  cutText: (text: string, max: number) => string;
  /** A text as one line without control characters, cut like `cutText`. */
  oneLine: (text: string, max?: number) => string;
}

/** The default export of a plugin's module. */
export type ChannelModule = (kit: ChannelKit) => ChannelPlugin;

/** Defines a kind of channel; it exists for its types, and to say which contract the plugin was written for. */
export function defineChannel<Settings>(
  plugin: Omit<ChannelPlugin<Settings>, "contract">,
): ChannelPlugin {
  return { contract: CHANNEL_CONTRACT, ...plugin } as ChannelPlugin;
}
