import assert from "node:assert/strict";
import { COUNTED_COMMANDS, executedFiles } from "../build/figures.ts";

/** The most files that a short command executes. */
const MOST = 300;

/** The folders of what makes, watches and delivers calls. */
const NOT_OPENED = /^src\/(gateway|delivery|monitor)\/|^plugins\//;

for (const [name, { args, before }] of Object.entries(COUNTED_COMMANDS)) {
  Deno.test(`${name} executes at most ${MOST} files, and none of the gateway, of deliveries or of the monitor`, async () => {
    const files = await executedFiles(args, before);
    assert.ok(files.includes("src/service/core.ts"), "the files are counted");
    assert.deepEqual(files.filter((file) => NOT_OPENED.test(file)), []);
    assert.ok(files.length <= MOST, `${files.length} files`);
  });
}
