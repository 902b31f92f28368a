import type { Severity } from "../contract/values.ts";
import { type ChannelConfig, nameChannels } from "../config/mod.ts";
import type { NamedChannel } from "../delivery/channels/mod.ts";
import type { RuleInCode } from "./rules/ensure_rules.ts";

/** A channel as in the config file: its kind, and the settings of that kind. */
export interface ChannelInput {
  kind: string;
  /** Default: its kind. */
  name?: string;
  min_severity?: Severity;
  timeout_ms?: number;
  [setting: string]: unknown;
}

/** Channels that notifications go to; `log` is always one of them. */
export interface AlertDispatcher {
  readonly channels: readonly (ChannelConfig | NamedChannel)[];
}

/** Rules and the channels of their alerts. `openPurser({ alerts })` attaches it to the runner. */
export interface AlertEvaluator {
  readonly rules: readonly RuleInCode[];
  readonly dispatcher: AlertDispatcher;
}

/** Creates a dispatcher of channels: settings as in the config file, or objects of your own that send. */
export function createDispatcher(channels: readonly (ChannelInput | NamedChannel)[]): AlertDispatcher {
  const named = nameChannels(channels.filter((channel): channel is ChannelInput => !isOwn(channel)));
  let next = 0;
  return { channels: channels.map((channel) => isOwn(channel) ? channel : named[next++]!) };
}

/** Creates an evaluator of rules with the dispatcher of their alerts. */
export function createAlertEvaluator(options: AlertEvaluator): AlertEvaluator {
  return { rules: [...options.rules], dispatcher: options.dispatcher };
}

function isOwn(channel: ChannelInput | NamedChannel): channel is NamedChannel {
  return "send" in channel;
}
