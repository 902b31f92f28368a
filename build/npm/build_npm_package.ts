import { join } from "node:path";
import { compileLibrary } from "./compile_library.ts";
import { makePackageJson } from "./package_json.ts";
import { keepReachable } from "./reachable_files.ts";
import { ROOT } from "../run_deno.ts";

/** What was built. */
export interface NpmPackage {
  name: string;
  version: string;
  /** Their paths in the package, sorted. */
  files: string[];
  totalBytes: number;
}

/**
 * Builds the npm package of the library into a folder, which is made anew: JavaScript modules and their types as they
 * are in `src` and `plugins`, as far as the exports of `deno.json` reach, and nothing else.
 */
export async function buildNpmPackage(folder: string): Promise<NpmPackage> {
  const config = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const entries = Object.values<string>(config.exports).map((path) => path.replace(/^\.\//, ""));
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await compileLibrary(entries, folder);
  const { files, packages } = await keepReachable(folder, entries);
  const manifest = makePackageJson(config, packages);
  const documents = {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "README.md": await Deno.readTextFile(new URL("README.md", import.meta.url)),
    "LICENSE": await Deno.readTextFile(join(ROOT, "LICENSE")),
  };
  for (const [name, text] of Object.entries(documents)) await Deno.writeTextFile(join(folder, name), text);
  files.push(...Object.keys(documents));
  const sizes = await Promise.all(files.map(async (file) => (await Deno.stat(join(folder, file))).size));
  return {
    name: manifest.name,
    version: manifest.version,
    files: files.sort(),
    totalBytes: sizes.reduce((sum, size) => sum + size, 0),
  };
}
