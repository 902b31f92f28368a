import { join } from "node:path";
import { CLI_PERMISSIONS } from "./permissions.ts";
import { ROOT, runDeno } from "./run_deno.ts";

/**
 * Bundles the CLI into a folder: `cli.js`, and a chunk for each part that commands load lazily, so that a command loads
 * only what it needs. Migrations, channels, the docs page and the schemas are inside. Returns the names of the files.
 * `entry` may be `cli.ts` compiled to JavaScript, beside all that it imports.
 */
export async function bundleCli(folder: string, entry = join(ROOT, "cli.ts")): Promise<string[]> {
  await runDeno([
    ...["bundle", "--quiet", "--minify", "--code-splitting", "--config", join(ROOT, "deno.json")],
    ...["--outdir", folder, entry],
  ]);
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  const requireChunk = await findRequireChunk(folder, names);
  for (const name of names) await dropIdleImport(join(folder, name), requireChunk);
  return names;
}

/** Bundles a module with all that it loads, lazily too, into one file: for a program that starts often, and loads most of it. */
export async function bundleToOneFile(path: string, entry: string): Promise<void> {
  await runDeno([
    ...["bundle", "--quiet", "--minify", "--config", join(ROOT, "deno.json")],
    ...["--output", path, entry],
  ]);
  await Deno.writeTextFile(path, dropUnusedImports(await Deno.readTextFile(path)));
}

/** Drops the imports of Node's modules that nothing uses any more: the bundler keeps them, and some take long to load. */
function dropUnusedImports(text: string): string {
  return text.replaceAll(
    /\bimport\s*\{\s*\w+ as ([\w$]+)\s*\}\s*from\s*"node:\w+";/g,
    (whole, name: string) =>
      text.split(new RegExp(`(?<![\\w$.])${RegExp.escape(name)}(?![\\w$])`)).length > 2 ? whole : "",
  );
}

/** The chunk that gives CommonJS packages their `require`: it loads all the shims for Node. */
async function findRequireChunk(folder: string, names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    const text = await Deno.readTextFile(join(folder, name));
    if (/import\s*\{\s*createRequire\b[^}]*\}\s*from\s*"node:module"/.test(text)) return name;
  }
  return undefined;
}

/** The bundler imports that chunk from every other one, even without using it. */
async function dropIdleImport(path: string, chunk: string | undefined): Promise<void> {
  if (chunk === undefined) return;
  const text = await Deno.readTextFile(path);
  const idle = `import"./${chunk}";`;
  if (text.includes(idle)) await Deno.writeTextFile(path, text.replaceAll(idle, ""));
}

/**
 * Bundles the CLI into a folder for installation, with the settings that it needs. Chunks that a command loads lazily are
 * hidden from Deno's static analysis, which would otherwise read the whole bundle for every command. A binary needs the
 * other form, since Deno embeds only what it can analyse.
 */
export async function bundleToInstall(folder: string, entry?: string): Promise<string[]> {
  const names = await bundleCli(folder, entry);
  for (const name of names) {
    const path = join(folder, name);
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text.replaceAll(/\bimport\(("\.\/[\w.-]+\.js")\)/g, "import(String($1))"));
  }
  // Keeps Deno from applying the configuration of a folder above. The bundle itself needs none.
  await Deno.writeTextFile(join(folder, "deno.json"), "{}\n");
  return names;
}

/**
 * Returns the arguments of `deno` that install a bundle as the command `purser`. Without `--quiet`, which the command
 * keeps, Deno erases lines of the terminal for its own progress.
 */
export function installArguments(folder: string): string[] {
  return [
    ...["install", "--global", "--force", "--quiet", "--name", "purser", ...CLI_PERMISSIONS],
    ...["--config", join(folder, "deno.json"), join(folder, "cli.js")],
  ];
}
