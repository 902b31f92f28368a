import type { ChannelKit } from "../../src/delivery/channels/mod.ts";

// PagerDuty takes 1,024 characters of summary, and 512 KB in all
// (https://developer.pagerduty.com/docs/events-api-v2/trigger-events, 2026-11-27).
const MAX_SUMMARY_CHARS = 1_024;
const ROOM = { title: 0, facts: 50, label: 100, value: 1_000, context: 0 };

const ACTIONS: Readonly<Record<string, string>> = {
  "alert.acknowledged": "acknowledge",
  "alert.resolved": "resolve",
};

/** Opens incidents of PagerDuty by version 2 of its Events API. */
export default ({ defineHttpChannel, z, httpUrl, oneLine, layOut }: ChannelKit) =>
  defineHttpChannel({
    kind: "pagerduty",
    summary: "Opens an incident of PagerDuty",
    settings: z.object({
      routing_key: z.string().regex(
        /^[A-Za-z0-9]{32}$/,
        "must be the 32 letters and digits of an integration key",
      )
        .meta({ secret: true }).describe("The integration key of a service with Events API v2"),
      url: httpUrl.default("https://events.pagerduty.com/v2/enqueue").describe(
        "Of a service region EU: `https://events.eu.pagerduty.com/v2/enqueue`",
      ),
    }),
    request: ({ routing_key, url }, notification) => {
      const { id, incident = id, title, severity, at, environment, type } = notification;
      const details = layOut(notification, ROOM).facts.map(({ label, value }) => [label, value]);
      return {
        url,
        payload: {
          routing_key,
          event_action: ACTIONS[type] ?? "trigger",
          dedup_key: incident,
          client: "Purser",
          payload: {
            summary: oneLine(title, MAX_SUMMARY_CHARS) || "–",
            source: oneLine(environment, MAX_SUMMARY_CHARS) || "–",
            severity,
            timestamp: at,
            class: type,
            custom_details: Object.fromEntries(details),
          },
        },
      };
    },
  });
