import assert from "node:assert/strict";
import { ROOT } from "../../build/run_deno.ts";

/** The number that the gate has time for, one on each kind of database and disk; `deno task faults` makes 2,000. */
const FAULTS = Number(Deno.env.get("PURSER_FAULTS") ?? 4);
/** Decides the faults and the work; the timing differs all the same. */
const SEED = Number(Deno.env.get("PURSER_SEED") ?? Math.floor(Math.random() * 1e9));

/**
 * A short form of `deno task faults`, as a process with every permission: the suite inspects the mounts of another process
 * in `/proc`, which Deno allows with `--allow-all` only.
 */
Deno.test(`${FAULTS} faults lose nothing acknowledged, repeat nothing in the books, and leave nothing behind`, async () => {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--lock=tests/deno.lock", "--cached-only", "--no-check", "--quiet", "--allow-all"],
      ...["tests/faults/run_faults.ts", "--faults", `${FAULTS}`, "--seed", `${SEED}`],
    ],
    cwd: ROOT,
    stdin: "null",
  }).output();
  const said = new TextDecoder().decode(stdout);
  assert.ok(success, said + new TextDecoder().decode(stderr));
  console.log(said.replaceAll(/^/gm, "      ").trimEnd());
});
