/**
 * `deno task bundle [--output FOLDER] [--repository URL] [--image]`: the CLI as JavaScript to install; it starts faster than its
 * source. With the `--repository` that it is published from, it hints at newer releases; `--image` is for the one of an image.
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bundleToInstall, installArguments } from "./bundle_cli.ts";
import { ROOT } from "./run_deno.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    output: { type: "string", default: join(ROOT, "dist", "bundle") },
    repository: { type: "string" },
    image: { type: "boolean", default: false },
  },
});
const folder = resolve(values.output);
await removeBundle(folder);
const { repository, image } = values;
const names = await bundleToInstall(folder, {
  release: repository ? { kind: image ? "image" : "bundle", repository } : undefined,
});
const quoted = (word: string) => /^[\w.,=/:\\-]+$/.test(word) ? word : `"${word}"`;
console.log(`Wrote ${names.length} files to ${folder}. To install them as purser:`);
const line = installArguments(folder).map(quoted).join(" ").replaceAll(
  / (?=--(?:v8-flags|config))/g,
  " \\\n    ",
);
console.log(`  deno ${line}`);

/** Removes an earlier bundle, and nothing else. */
async function removeBundle(folder: string): Promise<void> {
  const names = (await Array.fromAsync(Deno.readDir(folder)).catch(() => [])).map(({ name }) => name);
  if (names.length === 0) return;
  const isBundle = names.includes("cli.js") && names.every((name) => /\.js$|^deno\.(json|lock)$/.test(name));
  if (!isBundle) {
    console.error(`Cannot write to ${folder}: it holds other files than a bundle; name an empty folder`);
    Deno.exit(2);
  }
  await Deno.remove(folder, { recursive: true });
}
