import type { ChannelKit } from "../../src/delivery/channels/mod.ts";
import { createPayload } from "./payload.ts";

/** Posts to an incoming webhook of Slack, or of a compatible service such as Mattermost. */
export default ({ defineChannel, z, httpResult, isHttpUrl, toJson }: ChannelKit) =>
  defineChannel({
    kind: "slack",
    summary: "Posts to a channel of Slack, coloured by severity",
    settings: z.object({
      url: z.string().refine(isHttpUrl, "must be an http:// or https:// URL without user and password")
        .meta({ secret: "url" }).describe("The incoming webhook's address, which is its password too"),
    }),
    open: ({ url }, { postJson, now }) => ({
      async send(notification, { signal }) {
        const body = toJson(createPayload(notification));
        return httpResult(await postJson({ url, body, signal }), now());
      },
    }),
  });
