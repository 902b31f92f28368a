import { testChannel } from "purser/channels/conformance";
import pager from "./pager.ts";

testChannel(pager, {
  kind: "pager",
  reaches: "http",
  settings: ({ url }) => ({ url: `${url}/v1/p4thsecret`, key: "k3ysecretsecret" }),
  secrets: ["p4thsecret", "k3ysecretsecret"],
  wrongSettings: [{ settings: { url: "https://a.example", key: "short" }, says: /key: takes eight letters/ }],
});
