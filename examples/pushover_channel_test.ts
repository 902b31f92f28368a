import { testChannel } from "../src/delivery/channels/testing/conformance.ts";

/** The suite that every channel passes, over this one, loaded from disk as a process would. */
testChannel(new URL("pushover_channel.ts", import.meta.url).pathname, {
  kind: "pushover",
  reaches: "http",
  settings: ({ url }) => ({ server: url, user: "us3rkey-secret", token: "tk_s3cretsecret" }),
  secrets: ["us3rkey-secret", "tk_s3cretsecret"],
  wrongSettings: [
    { settings: {}, says: /user: is missing/ },
    { settings: { user: "us3rkey-secret", server: "api.pushover.net" }, says: /server: must be an http/ },
    { settings: { user: "us3rkey secret" }, says: /user: takes 8 to 64 letters/ },
    { settings: { user: "us3rkey-secret", token: "tk_s3cret\r\nsecret" }, says: /token: must be one word/ },
  ],
});
