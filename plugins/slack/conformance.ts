import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";

/** The options of the conformance suite for this channel. */
export const conformance: ConformanceOptions = {
  kind: "slack",
  reaches: "http",
  settings: ({ url }) => ({ url: `${url}/services/T0SECRET0/B0SECRET0/x0secret0secret0` }),
  secrets: ["T0SECRET0", "B0SECRET0", "x0secret0secret0"],
  wrongSettings: [
    { settings: {}, says: /url: is missing/ },
    { settings: { url: "x0secret0secret0" }, says: /url: must be an http:\/\/ or https:\/\/ URL/ },
    { settings: { url: "ftp://a.example/x0secret0secret0" }, says: /url: must be an http/ },
    { settings: { url: "https://u:x0secret0secret0@a.example/" }, says: /without user and password/ },
    { settings: { url: { file: "/run/secrets/slack" } }, says: /Cannot read \/run\/secrets\/slack/ },
  ],
};
