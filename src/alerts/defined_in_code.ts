import type { DigestPeriod, Severity } from "../contract/values.ts";
import { type ChannelConfig, nameChannels, type QuietHours } from "../config/mod.ts";
import { PurserError } from "../kernel/errors.ts";
import { checkNames, namesOf } from "../kernel/known_names.ts";
import type { NamedChannel } from "../delivery/channels/mod.ts";
import type { RuleInCode } from "./rules/change_rules.ts";

/** A channel as in the config file: its kind, and the settings of that kind. */
export interface ChannelInput {
  /** The kind: that of a built-in channel, such as `webhook`, or that of a plugin. */
  kind: string;
  /** Default: its kind. */
  name?: string;
  /** The lowest severity of notifications that it gets; default `info`. */
  min_severity?: Severity;
  /** The timeout of one attempt in milliseconds; default 10,000. */
  timeout_ms?: number;
  /** True if it is told that an alert was acknowledged or resolved; default true of `pagerduty` only. */
  send_resolved?: boolean;
  /** The period of the digests of the spending that it gets. */
  digest?: DigestPeriod;
  /** The hours in which its deliveries wait. */
  quiet_hours?: QuietHours;
  /** A setting of the kind, as in the config file. */
  [setting: string]: unknown;
}

/** Channels that notifications go to; `log` is always one of them. */
export interface AlertDispatcher {
  /** The channels in their order. */
  readonly channels: readonly (ChannelConfig | NamedChannel)[];
}

/** Rules and the channels of their alerts. `openPurser({ alerts })` attaches it to the runner. */
export interface AlertEvaluator {
  /** The rules, which are stored when Purser is opened. */
  readonly rules: readonly RuleInCode[];
  /** The channels: see `createDispatcher()`. */
  readonly dispatcher: AlertDispatcher;
}

/**
 * Creates a dispatcher of channels: settings as in the config file, or objects of your own that send.
 *
 * @throws {PurserError} `invalid` for a name in the other letter case
 */
export function createDispatcher(channels: readonly (ChannelInput | NamedChannel)[]): AlertDispatcher {
  for (const channel of channels) checkCase(channel);
  const named = nameChannels(channels.filter((channel): channel is ChannelInput => !isOwn(channel)));
  let next = 0;
  return { channels: channels.map((channel) => isOwn(channel) ? channel : named[next++]!) };
}

/** Creates an evaluator of rules with the dispatcher of their alerts. */
export function createAlertEvaluator(options: AlertEvaluator): AlertEvaluator {
  checkNames("create the evaluator of alerts", options, EVALUATOR_NAMES);
  return { rules: [...options.rules], dispatcher: options.dispatcher };
}

const EVALUATOR_NAMES = namesOf<AlertEvaluator>({ rules: true, dispatcher: true });

const OWN_NAMES = namesOf<NamedChannel>({
  name: true,
  kind: true,
  minSeverity: true,
  timeoutMs: true,
  sendResolved: true,
  digest: true,
  quietHours: true,
  send: true,
  close: true,
});

/** The names in camelCase of an object that are in snake_case in the config. */
const IN_CONFIG: Readonly<Record<string, string>> = {
  minSeverity: "min_severity",
  timeoutMs: "timeout_ms",
  sendResolved: "send_resolved",
  quietHours: "quiet_hours",
};

/** Refuses names in the other case: an object's would be ignored, and a kind may refuse them only when it sends. */
function checkCase(channel: ChannelInput | NamedChannel): void {
  if (isOwn(channel)) {
    // Its class may have further names.
    const own = Object.keys(channel).filter((name) => Object.values(IN_CONFIG).includes(name));
    checkNames(
      `use the channel ${channel.name}`,
      Object.fromEntries(own.map((name) => [name, true])),
      OWN_NAMES,
    );
    return;
  }
  for (const [camel, snake] of Object.entries(IN_CONFIG)) {
    if (!(camel in channel)) continue;
    throw new PurserError(
      "invalid",
      `Cannot use the channel ${
        channel.name ?? channel.kind
      }: ${camel} is ${snake} in settings as in the config file`,
    );
  }
}

function isOwn(channel: ChannelInput | NamedChannel): channel is NamedChannel {
  return "send" in channel;
}
