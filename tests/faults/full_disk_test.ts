import assert from "node:assert/strict";
import { ROOT } from "../../build/run_deno.ts";

/**
 * Runs `full_disk_suite.ts` with every permission. It inspects the mounts of another process in `/proc`, which Deno
 * allows with `--allow-all` only.
 */
Deno.test("full disks lose nothing and are reported by clear errors", async () => {
  const suite = `${ROOT}tests/faults/full_disk_suite.ts`;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--allow-all", "--no-check", "--quiet", suite],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  assert.ok(success, [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join(""));
});
