/** The contract of notification channels, the registry, and the HTTP client that channels use. */
export {
  type Channel,
  CHANNEL_CONTRACT,
  type ChannelContext,
  type ChannelKit,
  type ChannelLog,
  type ChannelModule,
  type ChannelPlugin,
  defineChannel,
  type Delivery,
  type SendResult,
} from "./channel.ts";
export { isAtLeast, SEVERITIES, type Severity } from "../../contract/values.ts";
export type { Fact, Notification } from "./notification.ts";
export type { PostAnswer, PostJson, PostRequest } from "./http/post_json.ts";
export type { ResolveHost } from "./http/resolve_host.ts";
export { DeliveryError } from "./delivery_error.ts";
export { checkChannels } from "./check_channels.ts";
export type { ConfiguredChannel } from "./configured_channel.ts";
export { type Channels, type ChannelsOptions, createChannels, type NamedChannel } from "./open_channels.ts";
export { fromBase64, toBase64 } from "../../kernel/text.ts";
export { cutText, oneLine } from "./text.ts";
export type { BuiltInChannels } from "./load_plugin.ts";
export type { ChannelConfig } from "../../config/mod.ts";
