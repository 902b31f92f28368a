/** The contract of notification channels, their registry, and the HTTP client that they use. */
export {
  type Channel,
  CHANNEL_CONTRACT,
  type ChannelContext,
  type ChannelKit,
  type ChannelLog,
  type ChannelModule,
  type ChannelPlugin,
  defineChannel,
  defineHttpChannel,
} from "./channel.ts";
export {
  type Delivery,
  DeliveryError,
  type Fact,
  type Notification,
  type SendResult,
} from "./notification.ts";
export { isAtLeast, SEVERITIES, type Severity } from "../../contract/values.ts";
export type { PostAnswer, PostJson, PostRequest } from "./http/post_json.ts";
export type { ResolveHost } from "./http/guarded_http.ts";
export type { ConfiguredChannel } from "./configured_channel.ts";
export {
  type Channels,
  type ChannelsOptions,
  checkChannels,
  createChannels,
  type NamedChannel,
} from "./create_channels.ts";
export { fromBase64, toBase64 } from "../../kernel/encoding.ts";
export { cutText, oneLine } from "./text.ts";
export type { BuiltInChannels } from "./load_plugin.ts";
export type { ChannelConfig } from "../../config/mod.ts";
