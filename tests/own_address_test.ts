import assert from "node:assert/strict";
import { findOwnAddress, withNames } from "../src/config/mod.ts";
import { newPlace } from "./harness/cli_process.ts";
import { inProcess as runPurser } from "./harness/in_process.ts";

/** A server whose provider is itself would call itself, so it does not start. */

const LISTENING = { host: "127.0.0.1", port: 8420 };

for (
  const [url, address, isOwn] of [
    ["http://127.0.0.1:8420/v1", LISTENING, true],
    ["http://localhost:8420/openai/v1", LISTENING, true],
    ["http://LOCALHOST.:8420", LISTENING, true],
    ["http://[::1]:8420/v1", LISTENING, true],
    ["http://0.0.0.0:8420/v1", LISTENING, true],
    ["https://127.0.0.1:8420/v1", LISTENING, true],
    ["http://127.0.0.1:8420/v1", { host: "0.0.0.0", port: 8420 }, true],
    ["http://127.0.0.1:8420/v1", { host: "::", port: 8420 }, true],
    ["http://127.0.0.1:8420/v1", { host: "[::1]", port: 8420 }, true],
    ["http://purser.example.com/v1", { host: "purser.example.com", port: 80 }, true],
    ["http://127.0.0.1:8421/v1", LISTENING, false],
    ["http://127.0.0.1/v1", LISTENING, false],
    ["http://10.0.0.7:8420/v1", LISTENING, false],
    ["http://127.0.0.1:8420/v1", { host: "10.0.0.7", port: 8420 }, false],
    ["http://10.0.0.7:8420/v1", { host: "0.0.0.0", port: 8420, names: ["desk", "10.0.0.7"] }, true],
    ["http://[fe80::1]:8420/v1", { host: "::", port: 8420, names: ["fe80::1"] }, true],
    ["http://Desk:8420/v1", { host: "0.0.0.0", port: 8420, names: ["desk", "10.0.0.7"] }, true],
    ["http://[::ffff:127.0.0.1]:8420/v1", LISTENING, true],
    ["http://[::ffff:10.0.0.7]:8420/v1", { host: "0.0.0.0", port: 8420, names: ["10.0.0.7"] }, true],
    ["http://10.0.0.8:8420/v1", { host: "0.0.0.0", port: 8420, names: ["desk", "10.0.0.7"] }, false],
    ["http://10.0.0.7:8421/v1", { host: "0.0.0.0", port: 8420, names: ["desk", "10.0.0.7"] }, false],
    ["https://api.openai.com/v1", { host: "0.0.0.0", port: 443 }, false],
    ["not a URL", LISTENING, false],
  ] as const
) {
  Deno.test(`${url} is ${isOwn ? "" : "not "}a server that listens on ${address.host}:${address.port}`, () => {
    const byVariable = findOwnAddress(address, { providers: {}, env: { ANTHROPIC_BASE_URL: url } });
    assert.equal(byVariable?.setting, isOwn ? "ANTHROPIC_BASE_URL" : undefined);
    const byConfig = findOwnAddress(address, { providers: { local: { baseUrl: url } }, env: {} });
    assert.equal(byConfig?.setting, isOwn ? "providers.local.base_url" : undefined);
  });
}

Deno.test("a server for all addresses knows those of its machine, another one its own", async () => {
  const [here, ...addresses] = (await withNames({ host: "0.0.0.0", port: 8420 })).names!;
  assert.equal(here, Deno.hostname());
  const interfaces = Deno.networkInterfaces().map(({ address }) => address);
  assert.deepEqual(addresses.toSorted(), interfaces.toSorted());
  assert.ok(addresses.length > 0);
  assert.equal((await withNames(LISTENING)).names, undefined);
});

Deno.test("purser serve refuses to start where a provider's address is its own, and names the setting", async () => {
  await using place = await newPlace();
  Object.assign(place.env, { OPENAI_BASE_URL: "http://localhost:8420/v1" });
  assert.deepEqual(await runPurser(place, ["serve"]), {
    code: 1,
    out: "",
    err:
      "error: Cannot serve: OPENAI_BASE_URL is the address of this server, so that each call to openai would call " +
      "itself; unset it in the environment of the server: it is for its clients\n",
  });
  await Deno.mkdir(`${place.folder}/purser`);
  const config = { providers: { local: { base_url: "http://127.0.0.1:9003/v1" } } };
  await Deno.writeTextFile(`${place.folder}/purser/purser.json`, JSON.stringify(config));
  delete place.env.OPENAI_BASE_URL;
  Object.assign(place.env, { ANTHROPIC_BASE_URL: `http://${Deno.hostname()}:8420` });
  const { err: everywhere } = await runPurser(place, ["serve", "--host", "0.0.0.0"]);
  assert.match(everywhere, /^error: Cannot serve: ANTHROPIC_BASE_URL is the address of this server/);
  delete place.env.ANTHROPIC_BASE_URL;
  const { code, err } = await runPurser(place, ["serve", "--host", "localhost", "--port", "9003"]);
  assert.deepEqual([code, err], [
    1,
    "error: Cannot serve: providers.local.base_url is the address of this server, so that each call to local would call " +
    "itself; set it to the provider's own address\n",
  ]);
});
