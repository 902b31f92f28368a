import assert from "node:assert/strict";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { KEY_CACHE_MS } from "../src/keys/mod.ts";
import { newPlace, type Place, purser, start } from "./harness/cli_process.ts";
import { inProcess } from "./harness/in_process.ts";

/** Keys in real processes: servers, clients and their access. */

interface Server {
  url: string;
  /** Ends it; returns its exit code and its whole output. */
  stop(): Promise<{ code: number; said: string }>;
}

/** A server that has printed its address. */
async function listening(child: Deno.ChildProcess, pattern: RegExp): Promise<Server> {
  let said = "";
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  while (!pattern.test(said)) {
    const { done, value } = await reader.read();
    assert.ok(!done, said);
    said += value;
  }
  return {
    url: `http://127.0.0.1:${pattern.exec(said)![1]}`,
    async stop() {
      child.kill("SIGTERM");
      for (let part = await reader.read(); !part.done; part = await reader.read()) said += part.value;
      await child.stdout.cancel();
      return { code: (await child.status).code, said };
    },
  };
}

const serve = (place: Place, host: string) =>
  listening(start(place, ["serve", "--host", host, "--port", "0"]), /answers at http:\S+?:(\d+)/);

async function keyOf(place: Place, line: string): Promise<{ key: string; keyId: string }> {
  const { code, out, err } = await inProcess(place, [...`keys create ${line}`.split(" "), "--json"]);
  assert.equal(code, 0, err);
  const { key, key_id } = JSON.parse(out);
  return { key, keyId: key_id };
}

Deno.test("a server listens on other addresses only with a valid key, and then serves clients that have one", async () => {
  await using place = await newPlace();
  const refused = await purser(place, ["serve", "--host", "0.0.0.0", "--port", "0"]);
  assert.deepEqual(refused, {
    code: 4,
    out: "",
    err:
      "error: Cannot listen on 0.0.0.0: without an API key any client that reaches it could spend your money; make one " +
      "with purser keys add NAME --scope admin, or use --host 127.0.0.1\n",
  });

  const admin = await keyOf(place, "ops --scope admin");
  const server = await serve(place, "0.0.0.0");
  try {
    const remote = ["--server", server.url];
    const without = await inProcess(place, ["agents", "list", ...remote]);
    assert.deepEqual(without, {
      code: 4,
      out: "",
      err: "error: Cannot answer without an API key: send one as Authorization: Bearer psr_…\n" +
        "Give a key with --api-key, PURSER_API_KEY or the api_key_file of a profile; to create one, run purser keys " +
        "add on the server's own database\n",
    });
    assert.equal((await inProcess(place, ["doctor", ...remote])).code, 4);
    const set = ["agents", "set", "helper", "--model", "demo:echo", ...remote];
    assert.equal((await inProcess(place, [...set, "--api-key", admin.key])).code, 0);

    // Beside the server, on the file itself, no key is needed.
    const runner = await keyOf(place, "ci --scope run --agent helper");
    const asRunner: Place = { ...place, env: { ...place.env, PURSER_API_KEY: runner.key } };
    const run = await inProcess(asRunner, ["run", "helper", "hi", ...remote]);
    assert.deepEqual([run.code, run.out], [0, "You said: hi\n"]);
    const forbidden = await inProcess(asRunner, ["agents", "list", ...remote]);
    assert.equal(forbidden.code, 4);
    assert.match(
      forbidden.err,
      /lacks the scope read; use one that has it\nGive another key with --api-key or PURSER_API_KEY;/,
    );
    assert.equal((await inProcess(place, ["keys", "revoke", runner.keyId])).code, 0);
    // The server remembers a key for a moment; another process has revoked this one.
    await systemClock.sleep(KEY_CACHE_MS);
    const revoked = await inProcess(asRunner, ["run", "helper", "hi", ...remote]);
    assert.equal(revoked.code, 4);
    assert.match(revoked.err, /^error: Cannot use the API key: it was revoked\n/);
    assert.match((await inProcess(place, ["keys", "list"])).out, / active .* \d{4}-\d\d-\d\d \d\d:\d\d\n$/);
  } finally {
    const { code, said } = await server.stop();
    assert.equal(code, 0, said);
    assert.ok(!said.includes("psr_"), said);
  }

  const { err } = await inProcess(place, ["keys", "revoke", admin.keyId]);
  assert.match(err, /There is no active key left/);
  assert.equal((await purser(place, ["serve", "--host", "0.0.0.0", "--port", "0"])).code, 4);
  const closed = await serve(place, "127.0.0.1");
  const answer = await fetch(`${closed.url}/agents`);
  await answer.body?.cancel();
  const health = await (await fetch(`${closed.url}/healthz`)).json();
  const { said } = await closed.stop();
  assert.deepEqual([answer.status, health.status], [401, "ok"]);
  assert.match(said, /^warning: No API key is active, so every request is refused until there is one/);
});

Deno.test("deno serve main.ts requires the same keys, and commands on its machine need none", async () => {
  await using place = await newPlace();
  const { key } = await keyOf(place, "ops --scope admin");
  const child = new Deno.Command(Deno.execPath(), {
    args: ["serve", ...CLI_PERMISSIONS, "--port", "0", new URL("../main.ts", import.meta.url).pathname],
    env: { ...place.env, NO_COLOR: "1" },
    clearEnv: true,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const server = await listening(child, /Listening on http:\S+?:(\d+)/);
  try {
    const statusOf = async (path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(server.url + path, { headers });
      await response.body?.cancel();
      return response.status;
    };
    assert.equal(await statusOf("/agents"), 401);
    assert.equal(await statusOf("/agents", { authorization: `Bearer ${key}` }), 200);
    assert.equal(await statusOf("/openapi.json"), 200);
    assert.equal((await inProcess(place, ["agents", "list"])).code, 0);
  } finally {
    assert.equal((await server.stop()).code, 0);
  }
});
