import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";
import { startFakeServer } from "./_fake_server.ts";

const right = { host: "mail.example", username: "purser@example.com", password: "p4sswordsecret" };
const to_addrs = ["ops@example.com"];

/** The options of the conformance suite for this channel. */
export const conformance: ConformanceOptions = {
  kind: "smtp",
  reaches: "tcp",
  startServer: startFakeServer,
  settings: ({ host, port, isTls }) => ({ ...right, host, port, to_addrs, tls: isTls ? "tls" : "none" }),
  secrets: ["p4sswordsecret"],
  wrongSettings: [
    { settings: {}, says: /host: is missing; to_addrs: is missing/ },
    {
      settings: { ...right, to_addrs: "Ops <ops@example.com>" },
      says: /to_addrs\[0\]: must be a mail address/,
    },
    {
      settings: { ...right, to_addrs: ["a@b.example\r\nRCPT TO:<c@d>"] },
      says: /to_addrs\[0\]: must be a mail/,
    },
    { settings: { ...right, to_addrs: [] }, says: /to_addrs: / },
    { settings: { ...right, to_addrs, host: "smtp://mail" }, says: /host: must be the name or the address/ },
    { settings: { ...right, to_addrs, port: 70_000 }, says: /port: / },
    {
      settings: { ...right, to_addrs, tls: "maybe" },
      says: /tls: must be one of starttls, tls, none/,
    },
    { settings: { ...right, to_addrs, ca: "p4sswordsecret" }, says: /ca: must be a certificate in PEM/ },
    { settings: { ...right, to_addrs, username: "purser" }, says: /from_addr: is missing, and username/ },
    {
      settings: { host: "mail.example", to_addrs, password: "p4sswordsecret" },
      says: /username: is missing/,
    },
    {
      settings: { ...right, to_addrs, pasword: "x" },
      says: /pasword is not a setting; did you mean password\?/,
    },
  ],
};
