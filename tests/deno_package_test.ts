import assert from "node:assert/strict";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { ROOT } from "../build/run_deno.ts";
import { linkCheckout } from "./harness/deno_project.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { said } from "./harness/node.ts";

/** The library in another Deno project, as docs/library.md describes. */

Deno.test("every export works in a fresh Deno project that links a checkout", () =>
  inDirectory(async (directory) => {
    const document = await Deno.readTextFile(`${ROOT}docs/library.md`);
    const block = (language: string) => new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(document)![1]!;
    await Deno.writeTextFile(`${directory}/program.ts`, block("ts"));
    for (const name of ["pager.ts", "pager_test.ts"]) {
      await Deno.copyFile(`${ROOT}tests/npm_consumer/${name}`, `${directory}/${name}`);
    }
    const deno = (...args: string[]) => said(Deno.execPath(), args, directory);
    await linkCheckout(directory, ["--cached-only"]);
    assert.match(await deno("run", ...CLI_PERMISSIONS, "--quiet", "program.ts"), /^You said: Hello 0\.\d+$/);
    assert.match(await deno("test", "-REN", "--quiet", "pager_test.ts"), /ok \| 2\d passed/);
  }));
