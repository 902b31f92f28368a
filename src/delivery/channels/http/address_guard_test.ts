import assert from "node:assert/strict";
import { createAddressGuard } from "./address_guard.ts";

Deno.test("createAddressGuard() refuses every special-purpose address of IPv4", () => {
  const mayReach = createAddressGuard();
  const refused = [
    ...[
      "0.0.0.0",
      "0.255.255.255",
      "10.0.0.1",
      "10.255.255.255",
      "100.64.0.0",
      "100.127.255.255",
      "127.0.0.1",
    ],
    ...["127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1"],
    ...["192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.0.1", "192.175.48.1", "198.18.0.1"],
    ...["198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1"],
    "255.255.255.255",
  ];
  assert.deepEqual(refused.filter(mayReach), []);
});

Deno.test("createAddressGuard() refuses every special-purpose address of IPv6", () => {
  const mayReach = createAddressGuard();
  const refused = [
    ...[
      "::",
      "::1",
      "100::1",
      "100:0:0:1::1",
      "1fff::1",
      "fc00::1",
      "fd12:3456::1",
      "fe80::1",
      "fe80::1%eth0",
    ],
    ...["fec0::1", "ff02::1", "2001::1", "2001:2::1", "2001:10::1", "2001:1ff:ffff::", "2001:db8::1"],
    ...[
      "2620:4f:8000::1",
      "3fff::1",
      "3fff:fff:ffff::1",
      "4000::1",
      "5f00::1",
      "7fff::1",
      "64:ff9b:1::a00:1",
    ],
  ];
  assert.deepEqual(refused.filter(mayReach), []);
});

Deno.test("createAddressGuard() refuses the metadata and platform services of clouds, however they are written", () => {
  const mayReach = createAddressGuard();
  const services: Record<string, string[]> = {
    "AWS, Azure, Google, DigitalOcean, Oracle": ["169.254.169.254", "fd00:ec2::254", "fd20:ce::254"],
    "AWS containers, time and DNS": ["169.254.170.2", "169.254.170.23", "fd00:ec2::23", "169.254.169.123"],
    "Azure's wire server": ["168.63.129.16"],
    "Alibaba Cloud": ["100.100.100.200"],
    "Oracle Cloud at first": ["192.0.0.192"],
    "OpenStack, Tencent, Scaleway": ["fe80::a9fe:a9fe", "169.254.0.23", "169.254.42.42", "fd00:42::42"],
  };
  for (const [cloud, addresses] of Object.entries(services)) {
    const embedded = addresses.filter((address) => !address.includes(":")).flatMap((address) => {
      const [a, b, c, d] = address.split(".").map(Number) as [number, number, number, number];
      const words = `${(a << 8 | b).toString(16)}:${(c << 8 | d).toString(16)}`;
      return [
        ...[`::ffff:${address}`, `64:ff9b::${address}`, `64:ff9b:1::${words}`, `2002:${words}::1`],
        ...[`2600:1f00::5efe:${words}`, `2600:1f00::200:5efe:${words}`, `2001:0:${words}::1`],
      ];
    });
    assert.deepEqual([...addresses, ...embedded].filter(mayReach), [], cloud);
  }
  const neighbors = ["168.63.129.15", "168.63.129.17", "64:ff9b::168.63.129.17", "2600:1f00::5efe:808:808"];
  assert.deepEqual(neighbors.filter(mayReach), neighbors);
});

Deno.test("createAddressGuard() checks the IPv4 address embedded in an IPv6 one", () => {
  const mayReach = createAddressGuard();
  const refused = [
    ...["::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:10.1.2.3", "::ffff:169.254.169.254"], // mapped
    ...["::127.0.0.1", "::a00:1", "::8.8.8.8"], // IPv4-compatible, deprecated
    ...["::ffff:0:10.0.0.1", "::ffff:0:8.8.8.8"], // translated
    ...["64:ff9b::127.0.0.1", "64:ff9b::c0a8:101"], // NAT64
    ...["2002:7f00:1::1", "2002:c0a8:101::", "2002:a9fe:a9fe::1"], // 6to4
  ];
  assert.deepEqual(refused.filter(mayReach), []);
  const reached = ["::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"];
  assert.deepEqual(reached.filter(mayReach), reached);
});

Deno.test("createAddressGuard() accepts public addresses, up to the edges of the special networks", () => {
  const mayReach = createAddressGuard();
  const reached = [
    ...[
      "1.1.1.1",
      "9.255.255.255",
      "11.0.0.0",
      "100.63.255.255",
      "100.128.0.0",
      "126.255.255.255",
      "128.0.0.1",
    ],
    ...["169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0"],
    ...[
      "198.17.255.255",
      "198.20.0.0",
      "223.255.255.255",
      "2606:4700::1111",
      "2a00:1450:4001::1",
      "2001:200::1",
    ],
    ...["2001:4860:4860::8888", "2001:db7::1", "2001:db9::1", "3ffe::1"],
  ];
  assert.deepEqual(reached.filter(mayReach), reached);
});

Deno.test("createAddressGuard() refuses a text that is no address", () => {
  const mayReach = createAddressGuard();
  for (const text of ["", "localhost", "1.2.3", "1.2.3.4.5", "01.2.3.4", "8.8.8.8/8", "::g", "8.8.8.8 "]) {
    assert.equal(mayReach(text), false, text);
  }
});

Deno.test("createAddressGuard() accepts the networks of the config, in every notation", () => {
  const mayReach = createAddressGuard(["127.0.0.0/8", "10.1.0.0/16", "fd00:1::/32", "192.168.1.7/32"]);
  const reached = [
    ...["127.0.0.1", "127.9.9.9", "10.1.255.255", "fd00:1:2::3", "192.168.1.7", "8.8.8.8"],
    ...["::ffff:127.0.0.1", "64:ff9b::10.1.0.1", "2002:7f00:1::1"],
  ];
  assert.deepEqual(reached.filter(mayReach), reached);
  const refused = ["10.2.0.1", "fd00:2::1", "192.168.1.8", "::1", "0.0.0.0", "::ffff:10.2.0.1"];
  assert.deepEqual(refused.filter(mayReach), []);
});

Deno.test("createAddressGuard() names an invalid network", () => {
  for (const network of ["", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "lan/8"]) {
    assert.throws(() => createAddressGuard([network]), {
      message: `Cannot use ${JSON.stringify(network)}: it must be a network such as 10.0.0.0/8`,
    });
  }
});
