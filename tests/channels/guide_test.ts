import assert from "node:assert/strict";
import { builtInChannels } from "../../plugins/mod.ts";
import { NOTIFICATION } from "../../src/delivery/channels/testing/_notifications.ts";
import { startHttpReceiver } from "../../src/delivery/channels/testing/_receiver.ts";
import { createChannels } from "../../src/delivery/channels/mod.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { inDirectory } from "../harness/in_directory.ts";

/** Follows the authors' guide to the letter. */

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

Deno.test("the guide's channel passes the conformance suite", () =>
  inDirectory(async (directory) => {
    const [channel, test] = blocks("ts");
    const inPlace = (code: string) => code.replaceAll(`"./purser/`, `"${ROOT.href}`);
    await Deno.writeTextFile(`${directory}/pager.ts`, inPlace(channel!));
    await Deno.writeTextFile(`${directory}/pager_test.ts`, inPlace(test!));
    const config = new URL("deno.json", ROOT).pathname;
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["test", "-REN", "--quiet", "--config", config, `${directory}/pager_test.ts`],
      env: { NO_COLOR: "1" },
    }).output();
    const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assert.equal(code, 0, said);
    assert.match(said, /ok \| 2\d passed/);
  }));
