import assert from "node:assert/strict";
import { newPlace } from "./harness/cli_process.ts";
import { findCli } from "./harness/installed_cli.ts";

/** The descriptors that the server's process may have. */
const LIMIT = 120;

/** The time from when descriptors are free again until the server answers. */
const RECOVERY_MS = 5_000;
/** The same in starts of the server, for a machine that is so busy that one takes longer than half a second. */
const RECOVERY_STARTS = 10;

/** Returns whether the server answers within a second. */
async function answers(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`, {
      headers: { connection: "close" },
      signal: AbortSignal.timeout(1_000),
    });
    await response.body!.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

Deno.test({
  name:
    "a server whose descriptors were all taken answers again, on its own, within five seconds of their end",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using place = await newPlace();
    await Deno.mkdir(`${place.folder}/purser`);
    // More connections than descriptors, which nothing but this setting allows.
    const limits = { connections: 10_000, connections_per_address: 10_000 };
    await Deno.writeTextFile(`${place.folder}/purser/purser.json`, JSON.stringify({ limits }));
    const spawnedAt = performance.now();
    const child = new Deno.Command("sh", {
      args: ["-c", `ulimit -n ${LIMIT} && exec "$0" "$@"`, ...await findCli(), "serve", "--port", "0"],
      ...{ clearEnv: true, env: place.env, stdout: "null", stderr: "piped" },
    }).spawn();
    const said = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const reading = Promise.withResolvers<void>();
    void (async () => {
      for (let part = await said.read(); !part.done; part = await said.read()) {
        text += part.value;
        if (/answers at .*\n/.test(text)) reading.resolve();
      }
      reading.resolve();
    })();
    await reading.promise;
    const startMs = performance.now() - spawnedAt;
    const port = Number(/http:\/\/[^:]+:(\d+)/.exec(text)?.[1] ?? assert.fail(text));
    assert.ok(await answers(port));

    const held = await Promise.all(
      Array.from({ length: 2 * LIMIT }, () => Deno.connect({ hostname: "127.0.0.1", port })),
    );
    while (!text.includes("no file descriptor is free")) await new Promise((resolve) => setTimeout(resolve));
    for (const connection of held) connection.close();
    const deadline = performance.now() + Math.max(RECOVERY_MS, RECOVERY_STARTS * startMs);
    while (!await answers(port)) assert.ok(performance.now() < deadline, text);
    child.kill("SIGTERM");
    assert.equal((await child.status).code, 0, text);
  },
});
