import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";

/** The options of the conformance suite for this channel. */
export const conformance: ConformanceOptions = {
  kind: "ntfy",
  reaches: "http",
  settings: ({ url }) => ({
    topic: "t0picsecret",
    server: `${url}/`,
    token: "tk_t0kensecret",
    click: "https://purser.example/",
  }),
  secrets: ["t0picsecret", "tk_t0kensecret"],
  wrongSettings: [
    { settings: {}, says: /topic: is missing/ },
    { settings: { topic: "t0pic/secret" }, says: /topic: takes letters, digits, _ and -, at most 64/ },
    { settings: { topic: "t0picsecret", server: "ntfy.sh" }, says: /server: must be an http/ },
  ],
};
