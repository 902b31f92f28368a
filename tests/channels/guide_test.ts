import assert from "node:assert/strict";
import { CLI_PERMISSIONS } from "../../build/permissions.ts";
import { builtInChannels } from "../../plugins/mod.ts";
import { NOTIFICATION } from "../../src/delivery/channels/testing/_notifications.ts";
import { startHttpReceiver } from "../../src/delivery/channels/testing/_receiver.ts";
import { createChannels } from "../../src/delivery/channels/mod.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { inDirectory } from "../harness/in_directory.ts";

/** Follows the authors' guide to the letter. tests/deno_package_test.ts type-checks its files in a project like its own. */

const ROOT = new URL("../../", import.meta.url);
const guide = await Deno.readTextFile(new URL("docs/writing_a_channel.md", ROOT));

const blocks = (language: string) =>
  [...guide.matchAll(/```(\w+)\n([^]*?)```/g)].filter(([, name]) => name === language).map(([, , code]) =>
    code!
  );

Deno.test("the guide's channel is loaded by the guide's config, though its import does not resolve there", () =>
  inDirectory(async (directory) => {
    await using receiver = await startHttpReceiver(() => ({ status: 200 }));
    const [code] = blocks("ts");
    const [config] = blocks("jsonc");
    await Deno.writeTextFile(`${directory}/pager.ts`, code!);
    await Deno.writeTextFile(`${directory}/pager.key`, "k3ysecretsecret\n");
    await Deno.writeTextFile(
      `${directory}/purser.json`,
      config!.replace("https://pager.example.com", `http://127.0.0.1:${receiver.port}`)
        .replace("10.0.0.0/8", "127.0.0.0/8"),
    );
    const loaded = await loadConfig({
      env: { HOME: directory },
      options: { configPath: `${directory}/purser.json` },
    });
    const { list, get, close } = createChannels({
      channels: loaded.channels,
      plugins: builtInChannels,
      pluginPaths: loaded.plugins,
      allowPrivateNetworks: loaded.allowPrivateNetworks,
      log: silentLog,
      clock: systemClock,
    });
    assert.deepEqual(list.map(({ name, minSeverity, timeoutMs }) => [name, minSeverity, timeoutMs]), [
      ["log", "info", 10_000],
      ["duty", "critical", 5_000],
    ]);
    const duty = get("duty")!;
    assert.equal(await duty.check(), undefined);
    assert.equal((await duty.describe()).url, `http://127.0.0.1:${receiver.port}/***`);
    const delivery = { signal: new AbortController().signal, deliveryId: "dlv_1", attempt: 1 };
    assert.deepEqual(await duty.attempt(NOTIFICATION, delivery), { ok: true });
    await close();
    const [request] = receiver.requests;
    assert.equal(request!.headers.authorization, "Bearer k3ysecretsecret");
    assert.equal(JSON.parse(request!.body).id, "dlv_1");
  }));

/** Runs Deno in a folder, and returns its output. */
async function deno(directory: string, args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: directory,
    env: { NO_COLOR: "1", ...env },
  }).output();
  const text = new TextDecoder();
  return { code, said: text.decode(stdout) + text.decode(stderr) };
}

Deno.test("the guide, followed in an empty folder: the channel is valid and passes the suite", () =>
  inDirectory(async (directory) => {
    const [channel, test] = blocks("ts");
    const files = {
      "deno.json": blocks("json")[0]!.replace("../purser", ROOT.pathname),
      "pager.ts": channel!,
      "pager_test.ts": test!,
      "purser.json": blocks("jsonc")[0]!,
      "pager.key": "k3ysecretsecret\n",
    };
    for (const [name, text] of Object.entries(files)) {
      assert.ok(guide.includes(`\`${name}\``), `the guide names ${name}`);
      await Deno.writeTextFile(`${directory}/${name}`, text);
    }
    const [list] = blocks("sh")[0]!.split("\n");
    const [purser, ...args] = list!.split(" ");
    assert.equal(purser, "purser");
    const cli = ["run", ...CLI_PERMISSIONS, "--quiet", new URL("cli.ts", ROOT).pathname];
    const listed = await deno(directory, [...cli, ...args], { XDG_DATA_HOME: directory });
    assert.equal(listed.code, 0, listed.said);
    assert.match(listed.said, /^duty +pager +ok /m);

    const [, command] = /`deno (test [^`]+)`/.exec(guide)!;
    const tested = await deno(directory, [...command!.split(" "), "--cached-only", "--no-check"]);
    assert.equal(tested.code, 0, tested.said);
    assert.match(tested.said, /ok \| 2\d passed/);
  }));
