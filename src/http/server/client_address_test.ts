import assert from "node:assert/strict";
import { BlockList } from "node:net";
import { clientAddress, networkTest } from "./client_address.ts";

const isTrusted = networkTest(["10.0.0.0/8", "2001:db8:1::/48"], new BlockList());

/** The address of a client whose request came over a connection, with these headers. */
const addressOf = (remoteAddress: string, headers: Record<string, string>) =>
  clientAddress({ headers, socket: { remoteAddress } }, isTrusted);

Deno.test("the client of a trusted proxy is the last address that is not of one, where its headers agree", () => {
  const cases: [from: string, headers: Record<string, string>, expected: string][] = [
    ["192.0.2.1", {}, "192.0.2.1"],
    ["192.0.2.1", { "x-forwarded-for": "198.51.100.1" }, "192.0.2.1"],
    ["::ffff:192.0.2.1", { forwarded: "for=198.51.100.1" }, "192.0.2.1"],
    ["10.0.0.1", {}, "10.0.0.1"],
    ["::ffff:10.0.0.1", { "x-forwarded-for": "198.51.100.1" }, "198.51.100.1"],
    ["10.0.0.1", { "x-forwarded-for": "203.0.113.9, 198.51.100.1, 10.0.0.2" }, "198.51.100.1"],
    ["10.0.0.1", { "x-forwarded-for": "198.51.100.1:4711" }, "198.51.100.1"],
    ["10.0.0.1", { "x-forwarded-for": "10.0.0.3, 10.0.0.2" }, "10.0.0.3"],
    ["10.0.0.1", { "x-forwarded-for": "198.51.100.1, unknown" }, "10.0.0.1"],
    ["10.0.0.1", { "x-forwarded-for": "198.51.100.1", forwarded: "for=203.0.113.9" }, "10.0.0.1"],
    ["10.0.0.1", { "x-forwarded-for": "203.0.113.9, 198.51.100.1", forwarded: "for=_hidden" }, "10.0.0.1"],
    ["10.0.0.1", { "x-forwarded-for": "203.0.113.9", forwarded: "" }, "10.0.0.1"],
    [
      "10.0.0.1",
      { "x-forwarded-for": "9.9.9.9, 198.51.100.1", forwarded: "for=198.51.100.1" },
      "198.51.100.1",
    ],
    ["10.0.0.1", { forwarded: "for=203.0.113.9;proto=https, For=198.51.100.1;by=10.0.0.1" }, "198.51.100.1"],
    ["10.0.0.1", { forwarded: 'proto=https;for="[2001:db8:2::1]:4711"' }, "2001:db8:2::1"],
    ["2001:db8:1::1", { forwarded: "for=198.51.100.1" }, "198.51.100.1"],
    ["10.0.0.1", { forwarded: "for=_hidden" }, "10.0.0.1"],
    ["10.0.0.1", { forwarded: "for=999999" }, "10.0.0.1"],
  ];
  for (const [from, headers, expected] of cases) {
    assert.equal(addressOf(from, headers), expected, JSON.stringify([from, headers]));
  }
});

Deno.test("without trusted proxies every address is the connection's", () => {
  const trusts = networkTest([], new BlockList());
  const incoming = { headers: { "x-forwarded-for": "198.51.100.1" }, socket: { remoteAddress: "10.0.0.1" } };
  assert.equal(clientAddress(incoming, trusts), "10.0.0.1");
});
