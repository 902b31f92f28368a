import { join } from "node:path";
import { bundleCli } from "../bundle_cli.ts";
import { bundleHooks, HOOK_ENTRIES } from "../one_file.ts";
import { compileLibrary } from "./compile_library.ts";
import { launcher } from "./launcher.ts";
import { makePackageJson } from "./package_json.ts";
import { keepReachable } from "./reachable_files.ts";
import { ROOT } from "../run_deno.ts";

/** The built package. */
export interface NpmPackage {
  name: string;
  version: string;
  /** Their paths in the package, sorted. */
  files: string[];
  totalBytes: number;
}

/** The folder of the command line in the package, and its program. */
const CLI = "cli";
const BIN = `${CLI}/purser.js`;
/**
 * Builds the npm package into a folder, which is created anew. The library: JavaScript modules and their types as they are
 * in `src` and `plugins`, as far as the exports of `deno.json` reach. The command line: a bundle that needs no other package,
 * and the program that starts it.
 */
export async function buildNpmPackage(folder: string, repository?: string): Promise<NpmPackage> {
  const config = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const entries = Object.values<string>(config.exports).map((path) => path.replace(/^\.\//, ""));
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await compileLibrary([...entries, ...["cli", ...HOOK_ENTRIES].map((path) => `${path}.ts`)], folder);
  // From the compiled files: the oldest Node can't parse the syntax of the source.
  const bundle = await Deno.makeTempDir({ prefix: "purser-npm-" });
  const bundled = await bundleCli(bundle, {
    entry: join(folder, "cli.js"),
    release: repository === undefined ? undefined : { kind: "npm", repository },
  });
  bundled.push(...await bundleHooks(bundle, bundled, folder));
  const { files, packages } = await keepReachable(folder, entries);
  await Deno.mkdir(join(folder, CLI));
  for (const name of bundled) {
    await Deno.copyFile(join(bundle, name), join(folder, CLI, name));
    files.push(join(CLI, name));
  }
  await Deno.remove(bundle, { recursive: true });
  const manifest = makePackageJson(config, packages, BIN, repository);
  const documents = {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "README.md": await Deno.readTextFile(new URL("README.md", import.meta.url)),
    [BIN]: launcher("./cli.js"),
    "LICENSE": await Deno.readTextFile(join(ROOT, "LICENSE")),
    "THIRD_PARTY_NOTICES.md": await Deno.readTextFile(join(ROOT, "THIRD_PARTY_NOTICES.md")),
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
