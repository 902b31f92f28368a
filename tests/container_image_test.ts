import assert from "node:assert/strict";
import { join } from "node:path";
import { answerTo } from "./harness/answers.ts";
import { buildImage, type Container, containersMissing, startContainer } from "./harness/container.ts";
import { blocks, readDocument } from "./harness/documents.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { said } from "./harness/node.ts";

/** The image as its users have it, really built and run; `PURSER_THOROUGH=2` with root, buildah and crun. */

/** With it, the image is a release, which knows of newer ones. */
const SOURCE = "https://github.com/owner/purser";

const MOST_ADDED_BYTES = 150_000_000;
/** The goal is 1.5 s on a quiet machine; this one may be busy. */
const MOST_START_MS = 15_000;

Deno.test({
  name:
    "container image: it books calls over its volume, without root, writable files or capabilities, and survives a kill" +
    (containersMissing === undefined ? "" : ` (${containersMissing})`),
  ignore: containersMissing !== undefined,
  fn: () =>
    inDirectory(async (folder) => {
      await using image = await buildImage(folder, { VERSION: "9.9.9", REVISION: "abc", SOURCE });
      const { config, rootfs, addedBytes } = image;
      assert.ok(addedBytes < MOST_ADDED_BYTES, `${addedBytes} bytes beyond the base`);
      assert.match(config.User, /^[1-9]\d*:[1-9]\d*$/, "a number, which Kubernetes knows is not root");
      assert.deepEqual(
        ["title", "licenses", "version", "revision"].map((name) =>
          config.Labels[`org.opencontainers.image.${name}`]
        ),
        ["Purser", "MIT", "9.9.9", "abc"],
      );
      const program = await Deno.readTextFile(join(rootfs, "opt/purser/command_line.js"));
      assert.ok(program.startsWith(`globalThis.purserRelease={"kind":"image","repository":"${SOURCE}"};`));
      const sbom = JSON.parse(await Deno.readTextFile(join(rootfs, "opt/purser/sbom.spdx.json")));
      assert.equal(sbom.spdxVersion, "SPDX-2.3");
      assert.ok(sbom.packages.some(({ name }: { name: string }) => name === "hono"));

      const volume = join(folder, "volume");
      await said("cp", ["-a", join(rootfs, "data"), volume]);
      const { mode, uid } = await Deno.stat(volume);
      assert.deepEqual([mode! & 0o777, `${uid}`], [0o700, config.User.split(":")[0]]);

      const started: Container[] = [];
      await using _ended = {
        [Symbol.asyncDispose]: async () => void await Promise.all(started.map((each) => each.kill())),
      };
      await using provider = await startFakeProvider((request) =>
        answerTo(request, { text: "Hello", usage: { inputTokens: 1_000_000, outputTokens: 0 } })
      );
      const env = { OPENAI_BASE_URL: provider.baseUrls.openai, OPENAI_API_KEY: "sk-of-the-provider" };
      const start = async (args?: string[]) => {
        const name = `purser${started.length}_${Deno.pid}`;
        started.push(await startContainer(folder, image, { name, volume, args, env }));
        return started.at(-1)!;
      };
      const { process: refused } = await start();
      const { code, stderr } = await refused.output();
      assert.equal(code, 4, "without a key it doesn't listen on other addresses");
      assert.match(new TextDecoder().decode(stderr), /without an API key/);
      const adding = await (await start(["keys", "add", "ops", "--scope", "admin"])).process.output();
      const key = new TextDecoder().decode(adding.stdout).trim();
      assert.match(key, /^psr_\w+$/, new TextDecoder().decode(adding.stderr));

      const request = (url: string, init: RequestInit = {}) =>
        fetch(url, {
          ...init,
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        });
      const first = await serve(start);
      // As docs/five_minutes.md does, by curl.
      const [, path] = /http:\/\/127\.0\.0\.1:8420(\S+)/.exec(await commands())!;
      const [, body] = /-d '(.*)'/.exec(await commands())!;
      const answered = await request(`${first.url}${path}`, { method: "POST", body });
      assert.equal((await answered.json()).choices[0].message.content, "Hello");
      assert.equal(provider.requests[0]!.headers.authorization, "Bearer sk-of-the-provider");
      const health = config.Healthcheck.Test.slice(1).map((word) => word.replace("8420", first.port));
      assert.equal(await first.container.exec(health), 0);
      const write =
        `try { Deno.writeTextFileSync("/opt/purser/x", "") } catch (e) { Deno.exit(e.code === "EROFS" ? 7 : 1) }`;
      assert.equal(await first.container.exec(["deno", "eval", write]), 7, "its code can't be changed");
      await first.container.kill();
      await first.ended();

      const second = await serve(start);
      console.log(
        `image: ${
          (addedBytes / 1e6).toFixed(1)
        } MB beyond the base; the first answer after ${second.startMs} ms, ` +
          `${first.startMs} ms without compiled code`,
      );
      const costs = await (await request(`${second.url}/costs`)).json();
      assert.deepEqual(
        costs.map((row: { cost_usd: number }) => row.cost_usd),
        [0.15],
        "a million input tokens of gpt-4o-mini",
      );
      assert.ok(second.startMs < MOST_START_MS, `${second.startMs} ms`);
      second.container.process.kill("SIGTERM");
      assert.equal(await second.ended(), 0);
      assert.equal(await second.container.exec(health), 1);
    }),
});

/** The commands of docs/five_minutes.md for a container. */
const commands = async () =>
  blocks(await readDocument("docs/five_minutes.md"), "text", "In a container").join("");

/** Starts a server and returns once it has answered. */
async function serve(start: (args: string[]) => Promise<Container>) {
  const begun = performance.now();
  const container = await start(["serve", "--host", "0.0.0.0", "--port", "0"]);
  const { process } = container;
  void process.stdout.cancel();
  const reader = process.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  while (!/answers at http:\S+:\d+/.test(said)) {
    const { done, value } = await reader.read();
    assert.ok(!done, said);
    said += value;
  }
  const port = /answers at http:\S+?:(\d+)/.exec(said)![1]!;
  const url = `http://127.0.0.1:${port}`;
  await (await fetch(`${url}/healthz`)).body?.cancel();
  return {
    container,
    url,
    port,
    startMs: Math.round(performance.now() - begun),
    async ended(): Promise<number> {
      while (!(await reader.read()).done);
      return (await process.status).code;
    },
  };
}
