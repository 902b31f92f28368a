import assert from "node:assert/strict";
import { memoryTerminal } from "./harness/memory_terminal.ts";
import { main } from "../src/cli/mod.ts";
import { listen, withAccessCheck } from "../src/http/server/mod.ts";
import { makeKey } from "./harness/http_client.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** `purser dashboard` against a server over the network. */

async function openServer() {
  const purser = await openTestPurser();
  const server = await listen(purser.core, withAccessCheck(purser.core, purser.app), {
    host: "127.0.0.1",
    port: 0,
  });
  return {
    purser,
    url: server.url,
    async run(args: readonly string[], env: Record<string, string> = {}, opened?: string[]) {
      const openPage = (url: string) => Promise.resolve(opened!.push(url) > 0);
      const terminal = Object.assign(memoryTerminal(), opened && { openPage });
      const code = await main(["dashboard", ...args], { terminal, env });
      return { code, out: terminal.out, err: terminal.err };
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown({ graceMs: 0 });
      await purser[Symbol.asyncDispose]();
    },
  };
}

Deno.test("the address of a server without keys is that of its page, which is opened in the browser", async () => {
  await using server = await openServer();
  const opened: string[] = [];
  const { code, out } = await server.run(["--server", server.url], {}, opened);
  assert.deepEqual([code, out, opened], [0, `${server.url}/ui/\n`, [`${server.url}/ui/`]]);
  const quiet = await server.run(["--server", server.url, "--no-open", "--api-key", "psr_any"], {}, opened);
  assert.deepEqual(
    [quiet.code, quiet.out, opened.length],
    [0, `${server.url}/ui/\n`, 1],
    "a key is not needed",
  );
});

Deno.test("with a key, the address has a code that signs a browser in once", async () => {
  await using server = await openServer();
  const { key } = await makeKey(server.purser, ["read"]);
  const { code, out } = await server.run(["--server", server.url, "--json"], { PURSER_API_KEY: key });
  assert.equal(code, 0);
  const [address, secret] = JSON.parse(out).url.split("#code=");
  assert.equal(address, `${server.url}/ui/`);
  assert.ok(!out.includes(key));
  const signIn = () =>
    fetch(`${server.url}/ui/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: secret }),
    }).then(async (response) => (await response.body?.cancel(), response.status));
  assert.deepEqual([await signIn(), await signIn()], [200, 401]);
});

Deno.test("without a server it says how to start one", async () => {
  await using server = await openServer();
  const { code, err } = await server.run([], { PURSER_DB: ":memory:" });
  assert.equal(code, 2);
  assert.match(err, /start one with purser serve, and open http:\/\/127\.0\.0\.1:8420\/ui\//);
});
