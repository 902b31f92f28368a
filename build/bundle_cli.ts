import { join } from "node:path";
import type { Release } from "../src/kernel/version.ts";
import { findChunk } from "./find_chunk.ts";
import { makePricesLazy } from "./make_prices_lazy.ts";
import { mergeChunks } from "./merge_chunks.ts";
import { bundleHooks, dispatchHooks } from "./one_file.ts";
import { CLI_PERMISSIONS } from "./permissions.ts";
import { ROOT, runDeno } from "./run_deno.ts";

/**
 * Bundles the CLI into a folder: `cli.js`, and a chunk for each part that commands load lazily, so that a command loads
 * only what it needs. Migrations, channels, the docs page and the schemas are inside. Returns the names of the files.
 * `entry` may be `cli.ts` compiled to JavaScript, beside all that it imports. A `release` hints at newer ones.
 */
export async function bundleCli(
  folder: string,
  { entry = join(ROOT, "cli.ts"), release }: { entry?: string; release?: Release } = {},
): Promise<string[]> {
  await runDeno([
    ...["bundle", "--quiet", "--minify", "--code-splitting", "--config", join(ROOT, "deno.json")],
    ...["--outdir", folder, entry],
  ]);
  const bundled = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  const names = await mergeChunks(folder, bundled, "cli.js");
  for (const name of names) await loadBuiltinsLate(join(folder, name));
  await makePricesLazy(folder, names);
  await writeListedCommands(folder, names);
  if (release) await markRelease(join(folder, "cli.js"), release);
  return names;
}

/** Writes the commands as the help lists them into their chunk: it would load all commands. */
async function writeListedCommands(folder: string, names: readonly string[]): Promise<void> {
  const { LISTED_COMMANDS } = await import("../src/cli/listed_commands.ts");
  const text = `export const LISTED_COMMANDS=${JSON.stringify(LISTED_COMMANDS)};\n`;
  await Deno.writeTextFile(join(folder, findChunk(names, "listed_commands")), text);
}

/** Says in a program which release it is: `thisRelease()` reads it. */
async function markRelease(path: string, release: Release): Promise<void> {
  const text = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, `globalThis.purserRelease=${JSON.stringify(release)};\n${text}`);
}

/**
 * Has a file load `node:crypto` with the first call of a function of it, and so the `require` of CommonJS packages, of which all but the
 * modules of Node are in the bundle: few commands call either, and each loads most shims for Node in Deno.
 */
async function loadBuiltinsLate(path: string): Promise<void> {
  const text = await Deno.readTextFile(path);
  const [, create] = /\bimport\s*\{\s*createRequire as ([\w$]+)\s*\}\s*from\s*"node:module";/.exec(text) ??
    [];
  const late = text.replaceAll(
    /\bimport\s*\{([\w$,\s]+)\}\s*from\s*"node:(crypto|module)";/g,
    (whole, names, module) => {
      const pairs: string[][] = names.split(",").map((each: string) => each.trim().split(/\s+as\s+/));
      if (module === "module") return pairs.length === 1 && create !== undefined ? "" : whole;
      if (pairs.some(([name]) => !/^(create\w+|random\w+|timingSafeEqual)$/.test(name!))) return whole;
      return pairs.map(([name, to = name]) =>
        `const ${to}=(...all)=>globalThis.process.getBuiltinModule("node:crypto").${name}(...all);`
      ).join("");
    },
  );
  const require = "=(id=>{const found=globalThis.process.getBuiltinModule(id);if(found)return found;" +
    'throw Object.assign(new Error("Cannot find module "+id),{code:"MODULE_NOT_FOUND"})})';
  const made = create === undefined ? late : late.replace(`=${create}(import.meta.url)`, () => require);
  if (made !== text) await Deno.writeTextFile(path, made);
}

/**
 * Bundles the CLI into a folder for installation, with the settings that it needs. Chunks that a command loads lazily are
 * hidden from Deno's static analysis, which would otherwise read the whole bundle for every command. A binary needs the
 * other form, since Deno embeds only what it can analyse. Without an `entry`, hooks of coding agents have files of their own.
 */
export async function bundleToInstall(
  folder: string,
  { entry, release }: { entry?: string; release?: Release } = {},
): Promise<string[]> {
  const names = await bundleCli(folder, { entry, release });
  if (entry === undefined) {
    const whole = "command_line.js";
    await Deno.rename(join(folder, "cli.js"), join(folder, whole));
    await Deno.writeTextFile(join(folder, "cli.js"), dispatchHooks("Deno", `./${whole}`));
    names.push(whole, ...await bundleHooks(folder, names));
  }
  for (const name of names) {
    const path = join(folder, name);
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text.replaceAll(/\bimport\(("\.\/[\w.-]+\.js")\)/g, "import(String($1))"));
  }
  // Keeps Deno from applying the configuration of a folder above. The bundle itself needs none.
  await Deno.writeTextFile(join(folder, "deno.json"), "{}\n");
  return names.sort();
}

/**
 * The limits of memory of the command on a person's machine: an import takes little more than half of it, and up to a
 * twentieth more of a processor. V8 reads them at the start only. Not for servers, whose streams would take longer.
 */
export const CLI_MEMORY =
  "--v8-flags=--min-semi-space-size=8,--max-semi-space-size=8,--heap-growing-percent=70";

/**
 * Returns the arguments of `deno` that install a bundle as the command `purser`. Without `--quiet`, which the command
 * keeps, Deno erases lines of the terminal for its own progress.
 */
export function installArguments(folder: string): string[] {
  return [
    ...["install", "--global", "--force", "--quiet", "--name", "purser", ...CLI_PERMISSIONS, CLI_MEMORY],
    ...["--config", join(folder, "deno.json"), join(folder, "cli.js")],
  ];
}
