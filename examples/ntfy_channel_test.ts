import { testChannel } from "../src/delivery/channels/testing/conformance.ts";

/** The suite that every channel passes, over this one, loaded from disk as a process would. */
testChannel(new URL("ntfy_channel.ts", import.meta.url).pathname, {
  kind: "ntfy",
  reaches: "http",
  settings: ({ url }) => ({ server: url, topic: "t0pic-secret", token: "tk_s3cretsecret" }),
  secrets: ["t0pic-secret", "tk_s3cretsecret"],
  wrongSettings: [
    { settings: {}, says: /topic: is missing/ },
    { settings: { topic: "t0pic-secret", server: "ntfy.sh" }, says: /server: must be an http/ },
    { settings: { topic: "t0pic secret" }, says: /topic: takes 8 to 64 letters/ },
    { settings: { topic: "t0pic-secret", token: "tk_s3cret\r\nsecret" }, says: /token: must be one word/ },
  ],
});
