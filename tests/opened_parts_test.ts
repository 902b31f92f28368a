import assert from "node:assert/strict";
import { COUNTED_COMMANDS, executedFiles } from "../build/figures.ts";
import { createAlertEvaluator, createDispatcher } from "../src/alerts/mod.ts";
import { openLazyCore } from "../src/service/mod.ts";
import { loadSqlite } from "../src/store/sqlite/sqlite_driver.ts";
import { openWithChannels, outbox, until } from "./harness/deliveries.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { passing, recordingChannel } from "./harness/recording_channel.ts";

/** The most files that each of the commands executes. */
const MOST = { "purser cost": 213, "purser alerts add": 258 } satisfies Record<
  keyof typeof COUNTED_COMMANDS,
  number
>;

/** The folders that pass on and watch calls, and deliver alerts. */
const NOT_OPENED = /^src\/(gateway|delivery|monitor)\/|^plugins\//;

for (const [name, most] of Object.entries(MOST)) {
  const { args, before } = COUNTED_COMMANDS[name as keyof typeof MOST];
  Deno.test(`${name} executes at most ${most} files, and none of the gateway, of deliveries or of the monitor`, async () => {
    const files = await executedFiles(args, before);
    assert.ok(files.includes("src/service/core.ts"), "the files are counted");
    assert.deepEqual(files.filter((file) => NOT_OPENED.test(file)), []);
    assert.ok(files.length <= most, `${files.length} files`);
  });
}

/** Leaves a delivery for a later process to a channel `ops`. */
async function leaveDelivery(config: { dbUrl: string }): Promise<void> {
  const first = await openWithChannels([recordingChannel("ops", { answers: [passing] })], { config });
  await first.run({}, "hello");
  await until(async () => (await outbox(first, "ops"))[0]!.lastError !== null);
  await first.core.store.write([{ sql: "UPDATE deliveries SET due_at = 0" }]);
  await first.core.close();
}

Deno.test("a command delivers what another process has left, though it makes no call, unless it only reads", () =>
  inDirectory(async (directory) => {
    const config = { dbUrl: `${directory}/purser.db` };
    await leaveDelivery(config);
    for (const [isReadOnly, attempts] of [[true, 0], [false, 1], [false, 0]] as const) {
      const ops = recordingChannel("ops");
      const alerts = createAlertEvaluator({ rules: [], dispatcher: createDispatcher([ops]) });
      const core = await openLazyCore({ config, alerts, isReadOnly });
      await core.close();
      assert.equal(ops.sent.length, attempts);
    }
  }));

Deno.test("a core whose parts can't be loaded closes its file, and the same process can open it where only one may", () =>
  inDirectory(async (directory) => {
    const config = { dbUrl: `${directory}/purser.db` };
    await leaveDelivery(config);
    const sqlite = { ...await loadSqlite(), version: "3.51.2" };
    const incomplete = {
      ...config,
      get notifyAnomaliesFrom(): undefined {
        throw new Error("not in this program");
      },
    };
    const first = await openLazyCore({ config: incomplete, sqlite });
    await assert.rejects(first.close(), /not in this program/);
    await (await openLazyCore({ config, sqlite, isReadOnly: true })).close();
  }));
