/** `deno task sbom [--output FILE]`: the packages that Purser ships, with versions, hashes and licenses, as SPDX. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { runNpm } from "./npm_lock.ts";
import { ROOT } from "./run_deno.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: { output: { type: "string", default: resolve(ROOT, "dist", "sbom.spdx.json") } },
});
const { success, out, err } = await runNpm(["sbom", "--package-lock-only", "--sbom-format=spdx"]);
if (!success) {
  console.error(`Cannot list the packages: ${err.trim()}`);
  Deno.exit(1);
}
const document = JSON.parse(out);
// npm blanks the part of the name that makes it unique, as it blanks all UUIDs.
document.documentNamespace = document.documentNamespace.replace("***", crypto.randomUUID());
await Deno.writeTextFile(values.output, `${JSON.stringify(document, null, 2)}\n`);
console.log(`Wrote ${document.packages.length} packages to ${values.output}`);
