import { dispatchHooks } from "../one_file.ts";
import { OLDEST_NODE } from "../../src/store/sqlite/sqlite_driver.ts";

/**
 * Returns the program that npm links as a command. It loads the command line only on a supported Node, and can itself be
 * parsed by older ones. `cli` is a path.
 */
export function launcher(cli: string): string {
  const [oldest, youngest] = [OLDEST_NODE[0]!, OLDEST_NODE.at(-1)!];
  const versions = OLDEST_NODE.map((version) => version.join(".")).join(" or ");
  return `#!/usr/bin/env node
const [major, minor] = process.versions.node.split(".").map(Number);
const oldest = ${JSON.stringify(Object.fromEntries(OLDEST_NODE))}[major];
if (major < ${oldest[0]} || (major < ${youngest[0]} && oldest === undefined) || minor < oldest) {
  console.error("error: Cannot run purser on Node " + process.versions.node + ": use Node ${versions} or newer");
  process.exit(1);
}
// Standard error belongs to the commands; Node would print warnings about its experimental modules there, and about what a
// program of one command leaves to the others.
const emitWarning = process.emitWarning;
process.emitWarning = function (warning, ...rest) {
  const [type, code] = typeof rest[0] === "object" && rest[0] ? [rest[0].type, rest[0].code] : rest;
  if (warning?.name === "PromiseRejectionHandledWarning" || type === "ExperimentalWarning" || code === "MODULE_TYPELESS_PACKAGE_JSON") return;
  return Reflect.apply(emitWarning, process, [warning, ...rest]);
};
// Compiled code is kept for the next start, in a folder of the user: others could plant theirs in a common one.
Promise.all([import("node:module"), import("node:os"), import("node:path")]).then(async ([module, { homedir }, { join }]) => {
  try {
    module.enableCompileCache?.(join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "purser"));
  } catch {}
  ${dispatchHooks("Node", cli).trimEnd().replaceAll("\n", "\n  ")}
});
`;
}
