import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";

/** The options of the conformance suite for this channel. */
export const conformance: ConformanceOptions = {
  kind: "pagerduty",
  reaches: "http",
  settings: ({ url }) => ({
    routing_key: "r0utingsecret0r0utingsecret00000",
    url: `${url}/v2/enqueue`,
  }),
  secrets: ["r0utingsecret0r0utingsecret00000"],
  wrongSettings: [
    { settings: {}, says: /routing_key: is missing/ },
    { settings: { routing_key: "r0utingsecret" }, says: /routing_key: must be the 32 letters and digits/ },
  ],
};
