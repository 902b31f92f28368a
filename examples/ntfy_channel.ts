import type { ChannelKit } from "../src/delivery/channels/mod.ts";

/** ntfy's priorities are numbers: 3 is the default, 5 rings through the night. */
const PRIORITIES = { info: 2, warning: 4, critical: 5 };

/**
 * A channel that pushes to phones through ntfy (https://ntfy.sh), named in the config as
 * `"plugins": ["./ntfy_channel.ts"]`. Its dependencies are arguments, so it imports only types, and works beside a
 * compiled `purser` too.
 */
export default ({ defineChannel, z, httpResult, isHttpUrl, toJson, oneLine, cutText }: ChannelKit) =>
  defineChannel({
    kind: "ntfy",
    summary: "Pushes to phones through ntfy",
    settings: z.object({
      server: z.string().refine(isHttpUrl, "must be an http:// or https:// URL").default("https://ntfy.sh"),
      // On a public server the topic is a password.
      topic: z.string().regex(/^[A-Za-z0-9_-]{8,64}$/, "takes 8 to 64 letters, digits, _ and -")
        .meta({ secret: true }),
      token: z.string().regex(/^[\x21-\x7e]+$/, "must be one word in ASCII").optional().meta({
        secret: true,
      }),
    }),
    open: ({ server, topic, token }, { postJson, now }) => ({
      async send({ severity, title, facts, environment, isTest }, { signal }) {
        const text = [...facts, { label: "Environment", value: environment }]
          .map(({ label, value }) => `${oneLine(label, 100)}: ${oneLine(value, 300)}`).join("\n");
        const answer = await postJson({
          url: server,
          headers: token ? { authorization: `Bearer ${token}` } : {},
          body: toJson({
            topic,
            title: oneLine(title, 200),
            message: cutText(text, 1_000) || severity,
            priority: PRIORITIES[severity],
            tags: [severity, ...(isTest ? ["test"] : [])],
          }),
          signal,
        });
        return httpResult(answer, now());
      },
    }),
  });
