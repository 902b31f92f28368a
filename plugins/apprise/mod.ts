import type { ChannelKit, Severity } from "../../src/delivery/channels/mod.ts";

const TYPES = { info: "info", warning: "warning", critical: "failure" } satisfies Record<Severity, string>;

// Apprise cuts or splits a message for each service; these keep it short for most of them.
const ROOM = { title: 250, facts: 20, label: 60, value: 240, context: 300 };

/** Sends through a server of the Apprise API, which knows some hundred services. */
export default ({ defineHttpChannel, z, httpUrl, layOut }: ChannelKit) =>
  defineHttpChannel({
    kind: "apprise",
    summary: "Sends through an Apprise API server, to its services",
    settings: z.object({
      url: httpUrl.meta({ secret: "url" }).describe("The server, without `/notify`"),
      key: z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, "takes letters, digits, _ and -, at most 128")
        .optional()
        .meta({ secret: true }).describe("The key of a configuration that the server keeps"),
      urls: z.array(z.string().min(1)).min(1).max(20).optional()
        .meta({ secret: true }).describe("Instead of a key: the services, as URLs of Apprise"),
      tag: z.string().min(1).optional().describe("With a key: only the services with this tag"),
    }).refine(({ key, urls }) => (key === undefined) !== (urls === undefined), {
      path: ["key"],
      error: "give either key or urls",
    }),
    // https://github.com/caronc/apprise-api#api-details, 2026-11-27: both mean that something was not sent.
    statuses: {
      204: {
        ok: false,
        retry: false,
        reason: "HTTP 204: the server has no configuration for this key and tag",
      },
      424: { ok: false, retry: true, reason: "HTTP 424: the server could not notify all of its services" },
    },
    request({ url, key, urls, tag }, notification) {
      const { headline, facts, context } = layOut(notification, ROOM);
      return {
        url: `${url.replace(/\/+$/, "")}/notify${key === undefined ? "" : `/${key}`}`,
        payload: {
          urls: urls?.join(","),
          tag,
          type: notification.type === "alert.resolved" ? "success" : TYPES[notification.severity],
          format: "text",
          title: headline,
          body: [...facts.map(({ label, value }) => `${label}: ${value}`), context].join("\n"),
        },
      };
    },
  });
