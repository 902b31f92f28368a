/** `deno task bundle [FOLDER]`: the CLI as JavaScript to install; it starts in half the time that its source takes. */
import { join, resolve } from "node:path";
import { bundleToInstall } from "./bundle_cli.ts";
import { ROOT } from "./run_deno.ts";

const folder = Deno.args[0] === undefined ? join(ROOT, "dist", "bundle") : resolve(Deno.args[0]);
await Deno.remove(folder, { recursive: true }).catch(() => {});
const names = await bundleToInstall(folder);
console.log(`Wrote ${names.length} files to ${folder}. To install them as purser:`);
console.log(
  `  deno install --global --allow-all --force --name purser --config ${join(folder, "deno.json")} ${
    join(folder, "cli.js")
  }`,
);
