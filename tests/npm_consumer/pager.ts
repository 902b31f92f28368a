import type { ChannelKit } from "purser/channels";

/** A custom channel of the consumer: it posts to a pager. */
export default ({ defineChannel, z, httpResult, isHttpUrl, toJson }: ChannelKit) =>
  defineChannel({
    kind: "pager",
    summary: "Rings a pager",
    settings: z.object({
      url: z.string().refine(isHttpUrl, "must be an http:// or https:// URL").meta({ secret: "url" }),
      key: z.string().regex(/^\w{8,}$/, "takes eight letters or more").meta({ secret: true }),
    }),
    open: ({ url, key }, { postJson, now }) => ({
      async send({ title, severity, data }, { signal, deliveryId }) {
        const headers = { authorization: `Bearer ${key}` };
        const body = toJson({ id: deliveryId, title, severity, data });
        return httpResult(await postJson({ url, headers, body, signal }), now());
      },
    }),
  });
