import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";

/** The options of the conformance suite for this channel. */
export const conformance: ConformanceOptions = {
  kind: "teams",
  reaches: "http",
  settings: ({ url }) => ({
    url: `${url}/workflows/w0rkflowsecret/triggers/manual/paths/invoke?sig=s1gnaturesecret`,
  }),
  secrets: ["w0rkflowsecret", "s1gnaturesecret"],
  wrongSettings: [
    { settings: {}, says: /url: is missing/ },
    { settings: { url: "s1gnaturesecret" }, says: /url: must be an http:\/\/ or https:\/\/ URL/ },
  ],
};
