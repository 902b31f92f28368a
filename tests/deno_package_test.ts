import assert from "node:assert/strict";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { ROOT } from "../build/run_deno.ts";
import { linkCheckout } from "./harness/deno_project.ts";
import { allBlocks, readAllDocuments, readDocument } from "./harness/documents.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { said } from "./harness/node.ts";
import { isThorough } from "./harness/thorough.ts";

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

/** Blocks of TypeScript that other tests execute, and the compiler doesn't accept in a project of this kind. */
const EXECUTED: Readonly<Record<string, string>> = {
  "docs/api.md": "tests/openapi_client_test.ts compiles it with generated types",
  "docs/getting_started.md": "tests/docs_test.ts loads it; as a module without imports, it has no types",
};

/** Writes every other block of TypeScript of the documents to a folder, as modules of a project; returns their names. */
async function writeSnippets(folder: string): Promise<string[]> {
  const { imports } = JSON.parse(await readDocument("deno.json"));
  const resolve = (module: string) => module === "./src/mod.ts" ? "purser" : imports[module] ?? module;
  const names: string[] = [];
  for (const { path, text } of await readAllDocuments()) {
    if (Object.hasOwn(EXECUTED, path)) continue;
    for (const { code, language, line } of allBlocks(text)) {
      if (language !== "ts") continue;
      const name = `${path.replaceAll(/\W/g, "_")}_${line}.ts`;
      const resolved = code.replaceAll(/ from "([^"]+)";/g, (_, module) => ` from "${resolve(module)}";`);
      await Deno.writeTextFile(`${folder}/${name}`, resolved);
      names.push(name);
    }
  }
  return names;
}

Deno.test("every export works in a fresh Deno project that links a checkout; its types and all code blocks pass the compiler", () =>
  inDirectory(async (directory) => {
    for (const name of ["pager.ts", "pager_test.ts"]) {
      await Deno.copyFile(`${ROOT}tests/npm_consumer/${name}`, `${directory}/${name}`);
    }
    await linkCheckout(directory, ["--cached-only"]);
    assert.match(await runProgram(directory), /^You said: Hello 0\.\d+$/);
    const deno = (...args: string[]) => said(Deno.execPath(), args, directory);
    const snippets = await writeSnippets(directory);
    assert.ok(snippets.length >= 10, String(snippets.length));
    // With the libraries of Deno's default: this repository is checked with those of a browser. It takes as long as all of the
    // gate's other checks of types, of which it has none: `tests/npm_package_test.ts` compiles a program against the same types.
    if (isThorough) await deno("check", "--quiet", "--cached-only", "pager_test.ts", ...snippets);
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
