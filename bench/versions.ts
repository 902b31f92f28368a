import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The permissions that benchmarks need: they start processes and servers, and measure their memory. */
export const PERMISSIONS = ["-RWEN", "--allow-run", "--allow-sys"] as const;

/** A checkout of Purser to measure. */
export interface Version {
  /** The title of its column. */
  label: "before" | "now";
  /** Its folder, absolute, without a slash at the end. */
  root: string;
}

/** Returns this checkout, and before it the one given by `--against DIR`, if any. */
export function readVersions(args: readonly string[] = Deno.args): Version[] {
  const now: Version = { label: "now", root: fileURLToPath(new URL("..", import.meta.url)).slice(0, -1) };
  const index = args.indexOf("--against");
  if (index < 0) return [now];
  const directory = args[index + 1];
  if (directory === undefined) throw new Error("--against needs the folder of another checkout");
  return [{ label: "before", root: resolve(directory) }, now];
}

/** Returns the arguments that make `deno` run a file with the dependencies of a version. */
export function runArgs({ root }: Version, path: string): string[] {
  // Older versions have a native driver, and may need permissions that this one does not.
  return ["run", "--allow-all", "--quiet", "--config", `${root}/deno.json`, path];
}

/** Returns the URL of a version's library. */
export function libraryOf({ root }: Version): string {
  return pathToFileURL(`${root}/src/mod.ts`).href;
}
