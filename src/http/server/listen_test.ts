import assert from "node:assert/strict";
import { loadConfig } from "../../config/mod.ts";
import { keysKnownAt } from "../../config/file/parse_config_file.ts";
import { REQUEST_LIMITS } from "../../contract/limits.ts";
import { listenOptionsOf } from "./listen.ts";

/** The options for a server of the config file with this content. */
const optionsOf = async (file: object) =>
  listenOptionsOf(
    await loadConfig({
      env: { HOME: "/home/ada", PURSER_CONFIG_JSON: JSON.stringify(file) },
      platform: "linux",
    }),
  );

Deno.test("the address, the proxies and every limit on connections of the config file reach the server", async () => {
  const limits = {
    connections: 100,
    connections_per_address: 10,
    headers_seconds: 5,
    idle_seconds: 90,
    min_body_bytes_per_second: 0,
    unread_seconds: 2.5,
  };
  const trusted = ["10.0.0.0/8", "fd00::/8"];
  assert.deepEqual(await optionsOf({ host: "0.0.0.0", port: 9_000, trusted_proxies: trusted, limits }), {
    host: "0.0.0.0",
    port: 9_000,
    trustedProxies: trusted,
    limits: {
      connections: 100,
      perAddress: 10,
      headersMs: 5_000,
      idleMs: 90_000,
      minBodyBytesPerSecond: 0,
      unreadMs: 2_500,
    },
  });
  const others = ["shutdown_seconds", ...Object.keys(REQUEST_LIMITS)];
  assert.deepEqual([...Object.keys(limits), ...others].sort(), keysKnownAt(["limits"]).sort());
});

Deno.test("without limits in the config file the server has its defaults", async () => {
  assert.deepEqual(await optionsOf({ limits: { shutdown_seconds: 60, runs: 5 } }), {
    host: "127.0.0.1",
    port: 8420,
    trustedProxies: [],
    limits: {},
  });
});
