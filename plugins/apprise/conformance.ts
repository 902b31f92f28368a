import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";

/** The options of the conformance suite for this channel. */
export const conformance: ConformanceOptions = {
  kind: "apprise",
  reaches: "http",
  settings: ({ url }) => ({
    url,
    key: "k3ysecret",
    tag: "team",
  }),
  secrets: ["k3ysecret"],
  statuses: { 204: "refused", 424: "retried" },
  wrongSettings: [
    { settings: {}, says: /url: is missing/ },
    { settings: { url: "https://apprise.example" }, says: /key: give either key or urls/ },
    {
      settings: { url: "https://apprise.example", key: "k3ysecret", urls: ["slack://k3ysecret"] },
      says: /key: give either key or urls/,
    },
    { settings: { url: "https://apprise.example", key: "k3y/secret" }, says: /key: takes letters/ },
  ],
};
