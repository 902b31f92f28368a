/**
 * `deno task npm [--output FOLDER] [--repository URL]`: the npm package for Node. It builds; nothing is published. With the
 * repository, such as `git+https://github.com/OWNER/NAME.git`, it can be, and hints at newer releases.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildNpmPackage } from "./npm/build_npm_package.ts";
import { ROOT } from "./run_deno.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: { output: { type: "string", default: resolve(ROOT, "npm") }, repository: { type: "string" } },
});
const { name, version, files, totalBytes } = await buildNpmPackage(resolve(values.output), values.repository);
console.log(
  `Built ${name}@${version} in ${values.output}: ${files.length} files, ${(totalBytes / 1e6).toFixed(1)} MB`,
);
