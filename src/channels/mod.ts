/** The contract of notification channels, the registry, and the HTTP client that channels use. */
export {
  type Channel,
  CHANNEL_CONTRACT,
  type ChannelContext,
  type ChannelKit,
  type ChannelModule,
  type ChannelPlugin,
  defineChannel,
  type Delivery,
  type SendResult,
} from "./channel.ts";
export type { Fact, Notification } from "./notification.ts";
export { isAtLeast, SEVERITIES, type Severity } from "../severity.ts";
export type { PostAnswer, PostJson, PostRequest } from "./guarded_http.ts";
