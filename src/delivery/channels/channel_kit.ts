import { toPlainJsonText } from "../../kernel/json/portable_json.ts";
import { type ChannelKit, defineChannel } from "./channel.ts";
import { DeliveryError } from "./delivery_error.ts";
import { httpResult } from "./http/http_result.ts";
import { isHttpUrl } from "./http/http_url.ts";
import { cutText, oneLine } from "./text.ts";

/** What the module of a plugin is handed. */
export async function createChannelKit(): Promise<ChannelKit> {
  const { z } = await import("zod");
  return {
    defineChannel,
    z,
    httpResult,
    DeliveryError,
    isHttpUrl,
    toJson: toPlainJsonText,
    cutText,
    oneLine,
  };
}
