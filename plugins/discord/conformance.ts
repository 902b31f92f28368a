import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";

/** The options of the conformance suite for this channel. */
export const conformance: ConformanceOptions = {
  kind: "discord",
  reaches: "http",
  settings: ({ url }) => ({
    url: `${url}/api/webhooks/123456789/w3bhooksecret?thread_id=42`,
  }),
  secrets: ["w3bhooksecret"],
  wrongSettings: [
    { settings: {}, says: /url: is missing/ },
    { settings: { url: "w3bhooksecret" }, says: /url: must be an http:\/\/ or https:\/\/ URL/ },
  ],
};
