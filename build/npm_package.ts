/** `deno task npm [--output FOLDER]`: the library as an npm package for Node. It builds; nothing is published. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildNpmPackage } from "./npm/build_npm_package.ts";
import { ROOT } from "./run_deno.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: { output: { type: "string", default: resolve(ROOT, "npm") } },
});
const { name, version, files, totalBytes } = await buildNpmPackage(resolve(values.output));
console.log(
  `Built ${name}@${version} in ${values.output}: ${files.length} files, ${(totalBytes / 1e6).toFixed(1)} MB`,
);
