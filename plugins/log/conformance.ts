import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";

/** What the conformance suite has to know of this channel. */
export const conformance: ConformanceOptions = {
  kind: "log",
  reaches: "nothing",
  settings: () => ({}),
  secrets: [],
  wrongSettings: [{ settings: { level: "error" }, says: /level is not a setting$/ }],
};
