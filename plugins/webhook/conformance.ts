import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const url = "https://hooks.example/";

/** The options of the conformance suite for this channel. */
export const conformance: ConformanceOptions = {
  kind: "webhook",
  reaches: "http",
  settings: ({ url }) => ({
    url: `${url}/hook/p4thsecret?token=qu3rysecret%2F+`,
    secrets: [SECRET, "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
    headers: { authorization: "Bearer h3adersecret" },
  }),
  secrets: ["p4thsecret", "qu3rysecret%2F+", "h3adersecret", SECRET, "C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
  wrongSettings: [
    { settings: {}, says: /url: is missing/ },
    { settings: { url: "hooks.example/p4thsecret" }, says: /url: must be an http:\/\/ or https:\/\/ URL/ },
    { settings: { url, secret: "p4thsecret" }, says: /secret: must be whsec_ and the base64 of 24 to 64/ },
    { settings: { url, secret: "whsec_c2hvcnRzZWNyZXQ=" }, says: /secret: must be whsec_/ },
    { settings: { url, secrets: [SECRET, 7] }, says: /secrets\[1\]: is a number, must be a text/ },
    { settings: { url, secrets: [] }, says: /secrets: / },
    { settings: { url, secret: SECRET, secrets: [SECRET] }, says: /secrets: cannot be combined with secret/ },
    { settings: { url, headers: { "Webhook-Id": "h3adersecret" } }, says: /Webhook-Id: .*sets itself/ },
    { settings: { url, headers: { "Host": "h3adersecret" } }, says: /Host: .*sets itself/ },
    {
      settings: { url, headers: { "a b": "h3adersecret" } },
      says: /headers\.a b: .*not a valid header name/,
    },
    {
      settings: { url, headers: { a: "h3adersecret\r\nb: c" } },
      says: /headers\.a: is not a valid header value/,
    },
    { settings: { url, secert: SECRET }, says: /secert is not a setting; did you mean secret\?/ },
  ],
};
