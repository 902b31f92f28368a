import { join } from "node:path";
import { TYPESCRIPT } from "./npm/versions.ts";
import { ROOT, runDeno } from "./run_deno.ts";

/** The declaration that TypeScript's types of a browser lack a method in: Deno, Node and browsers have it. */
const LACKING = "declare var ReadableStream: {";
const MISSING = "from<Item>(items: Iterable<Item> | AsyncIterable<Item>): ReadableStream<Item>;";

/** A copy of the repository for TypeScript, which knows neither import maps nor `npm:` specifiers. */
export interface TypescriptCopy {
  folder: string;
  /** The paths of the JSON files that have no values in the copy. */
  emptied: readonly string[];
  /** Runs the compiler on the copy's `tsconfig.json`; throws with what it says if it finds a mistake. */
  compile(): Promise<void>;
}

/**
 * Calls a function with a copy of files and folders of the repository, beside which Deno lays out the packages of the lock file
 * as TypeScript looks for them. The copy is removed afterwards.
 */
export async function withTypescriptCopy(
  names: readonly string[],
  use: (copy: TypescriptCopy) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser-types-" });
  try {
    const emptied = (await Promise.all(["deno.json", ...names].map((name) => copyTree(name, folder)))).flat();
    await Deno.copyFile(join(ROOT, "tests/deno.lock"), join(folder, "deno.lock"));
    await Deno.writeTextFile(
      join(folder, "package.json"),
      '{ "type": "module", "imports": { "#dev/*": "./tests/packages/*" } }',
    );
    await runDeno(["install", "--quiet", "--frozen", "--node-modules-dir=auto"], { cwd: folder });
    // Where TypeScript looks for a replacement of its own types, with `libReplacement`.
    const types = join(folder, "node_modules/@typescript/lib-dom");
    await Deno.mkdir(types, { recursive: true });
    await Deno.writeTextFile(join(types, "index.d.ts"), await typesOfBrowser(folder));
    // One checker: several instantiate the same types, for more than twice the processor time.
    const tsc = [`npm:${TYPESCRIPT}/tsc`, "--project", ".", "--singleThreaded"];
    await use({
      folder,
      emptied,
      async compile() {
        await runDeno(["run", "-RWES", "--allow-run", "--quiet", "--frozen", ...tsc], { cwd: folder });
      },
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The types of the JSON files beside it, which Deno takes from there. */
const TYPES_OF_JSON = "json.d.ts";

/** Copies a file or folder, and returns the JSON files that it left empty: of a megabyte of values, the compiler infers the type. */
async function copyTree(path: string, folder: string): Promise<string[]> {
  const from = join(ROOT, path);
  if ((await Deno.stat(from)).isFile) {
    await Deno.copyFile(from, join(folder, path));
    return [];
  }
  await Deno.mkdir(join(folder, path));
  const names = [...Deno.readDirSync(from)].map(({ name }) => name);
  const emptied: string[] = [];
  for (const name of names) {
    const file = join(path, name);
    if (name.endsWith(".json") && names.includes(TYPES_OF_JSON)) {
      await Deno.writeTextFile(join(folder, file), "{}");
      emptied.push(file);
    } else {
      emptied.push(...await copyTree(file, folder));
    }
  }
  return emptied;
}

async function typesOfBrowser(folder: string): Promise<string> {
  const platform = `typescript-${Deno.build.os}-${Deno.build.arch === "x86_64" ? "x64" : "arm64"}`;
  const installed = join(folder, "node_modules/.deno");
  for await (const { name } of Deno.readDir(installed)) {
    if (!name.startsWith(`@typescript+${platform}@`)) continue;
    const path = join(installed, name, "node_modules/@typescript", platform, "lib/lib.dom.d.ts");
    const text = await Deno.readTextFile(path);
    if (!text.includes(LACKING) || text.includes(MISSING)) {
      throw new Error(`Cannot add to ${path}: it has changed`);
    }
    return text.replace(LACKING, `${LACKING}\n    ${MISSING}`);
  }
  throw new Error(`Cannot find TypeScript for ${platform}: it is not installed; run deno task setup`);
}
