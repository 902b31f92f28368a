import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";

/** The options of the conformance suite for this channel. */
export const conformance: ConformanceOptions = {
  kind: "log",
  reaches: "nothing",
  settings: () => ({}),
  secrets: [],
  wrongSettings: [{ settings: { level: "error" }, says: /level is not a setting$/ }],
};
