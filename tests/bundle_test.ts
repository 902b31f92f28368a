import assert from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "../build/run_deno.ts";
import { inDirectory } from "./harness/in_directory.ts";

/** `deno task bundle`; the bundle is installed and run through the command table in `cli_table_test.ts`. */
async function bundle(...args: string[]) {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-RWE",
      "--allow-run",
      "--config",
      join(ROOT, "deno.json"),
      join(ROOT, "build", "bundle.ts"),
      ...args,
    ],
    env: { NO_COLOR: "1" },
  }).output();
  return { code, err: new TextDecoder().decode(stderr) };
}

Deno.test("a bundle overwrites no other files", () =>
  inDirectory(async (folder) => {
    for (const name of ["important.txt", "cli.js"]) await Deno.writeTextFile(join(folder, name), "kept");
    const { code, err } = await bundle("--output", folder);
    assert.equal(code, 2);
    assert.match(err, /^Cannot write to .*: it holds other files than a bundle; name an empty folder\n$/);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "cli.js",
      "important.txt",
    ]);
  }));
