import assert from "node:assert/strict";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { ROOT } from "../build/run_deno.ts";
import { linkCheckout } from "./harness/deno_project.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { said } from "./harness/node.ts";

/** The library in another Deno project, as docs/library.md describes. */

const document = await Deno.readTextFile(`${ROOT}docs/library.md`);
const [, PROGRAM] = /```ts\n([^]*?)```/.exec(document)!;

/** Installs and runs the document's program in a folder with a config; returns what the program prints. */
async function runProgram(folder: string): Promise<string> {
  await Deno.writeTextFile(`${folder}/program.ts`, PROGRAM!);
  const deno = (...args: string[]) => said(Deno.execPath(), args, folder);
  await deno("install", "--quiet", "--cached-only");
  return await deno("run", ...CLI_PERMISSIONS, "--quiet", "--cached-only", "program.ts");
}

Deno.test("every export works in a fresh Deno project that links a checkout, and its types check", () =>
  inDirectory(async (directory) => {
    for (const name of ["pager.ts", "pager_test.ts"]) {
      await Deno.copyFile(`${ROOT}tests/npm_consumer/${name}`, `${directory}/${name}`);
    }
    await linkCheckout(directory, ["--cached-only"]);
    assert.match(await runProgram(directory), /^You said: Hello 0\.\d+$/);
    const deno = (...args: string[]) => said(Deno.execPath(), args, directory);
    // With the libraries of Deno's default: this repository is checked with those of a browser.
    await deno("check", "--quiet", "--cached-only", "program.ts", "pager_test.ts");
    assert.match(await deno("test", "--no-check", "-REN", "--quiet", "pager_test.ts"), /ok \| 2\d passed/);
  }));

Deno.test("an import map from purser to the checkout's module works, too", () =>
  inDirectory(async (directory) => {
    const [, path] = /import map from `purser` to `\.\.\/purser\/([^`]+)`/.exec(
      document.replaceAll("\n", " "),
    )!;
    const imports = { purser: ROOT + path };
    await Deno.writeTextFile(`${directory}/deno.json`, JSON.stringify({ imports }));
    assert.match(await runProgram(directory), /^You said: Hello 0\.\d+$/);
  }));

Deno.test("a workspace with the checkout and the program works, too", () =>
  inDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/purser`);
    await Deno.mkdir(`${directory}/program`);
    for (const name of ["deno.json", "src", "plugins", "tests"]) {
      await Deno.symlink(ROOT + name, `${directory}/purser/${name}`);
    }
    const write = (name: string, config: object) =>
      Deno.writeTextFile(`${directory}/${name}`, JSON.stringify(config));
    await write("deno.json", { workspace: ["./purser", "./program"] });
    await write("program/deno.json", { name: "@me/program", exports: "./program.ts" });
    assert.match(await runProgram(`${directory}/program`), /^You said: Hello 0\.\d+$/);
  }));
