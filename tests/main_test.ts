import assert from "node:assert/strict";
import { CLI_PERMISSIONS } from "../build/permissions.ts";

const MAIN = new URL("../main.ts", import.meta.url).pathname;
const CLI = new URL("../cli.ts", import.meta.url).pathname;

/** Starts `deno serve main.ts` over a fresh file, on every address, as it does by default. */
async function startServer() {
  const directory = await Deno.makeTempDir();
  const database = `${directory}/purser.db`;
  const env = {
    PURSER_DB: database,
    PURSER_ENVIRONMENT: "served",
    XDG_CONFIG_HOME: directory,
    NO_COLOR: "1",
  };
  const child = new Deno.Command(Deno.execPath(), {
    args: ["serve", ...CLI_PERMISSIONS, "--port", "0", MAIN],
    env,
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let log = "";
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  const listening = /Listening on (http:\S+?):(\d+)/;
  while (!listening.test(log)) {
    const { done, value } = await reader.read();
    assert.ok(!done, log);
    log += value;
  }
  const rest = (async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) log += part.value;
    return log;
  })();
  const url = `http://127.0.0.1:${listening.exec(log)![2]}`;
  return {
    url,
    env,
    async stop() {
      child.kill("SIGTERM");
      const { code } = await child.status;
      const text = await rest;
      const left = [...Deno.readDirSync(directory)].map(({ name }) => name);
      await Deno.remove(directory, { recursive: true });
      return { code, log: text, left };
    },
  };
}

Deno.test("deno serve main.ts answers this machine, runs agents, shares its file with commands, and ends gracefully", async () => {
  const server = await startServer();
  try {
    const health = await (await fetch(`${server.url}/healthz`)).json();
    assert.deepEqual([health.status, health.environment], ["ok", "served"]);
    const send = (method: string, path: string, body: unknown) =>
      fetch(server.url + path, {
        method,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    assert.equal((await send("PUT", "/agents/a", { model: "demo:echo" })).status, 201);
    assert.equal(
      (await (await send("POST", "/agents/a/runs", { input: "Hi" })).json()).output,
      "You said: Hi",
    );

    const foreign = await fetch(`${server.url}/agents`, { headers: { origin: "http://evil.example" } });
    assert.equal(foreign.status, 403);
    assert.equal((await foreign.json()).code, "forbidden");

    // A command beside the server works on the same file.
    const { env } = server;
    const command = (...args: string[]) =>
      new Deno.Command(Deno.execPath(), { args: ["run", ...CLI_PERMISSIONS, "--quiet", CLI, ...args], env })
        .output();
    assert.equal((await command("agents", "set", "b", "--model", "demo:echo")).code, 0);
    assert.equal((await (await fetch(`${server.url}/agents`)).json()).length, 2);
  } finally {
    const { code, log, left } = await server.stop();
    assert.equal(code, 0, log);
    assert.deepEqual(left, ["purser.db"]);
  }
});
