import { dirname, join, relative } from "node:path";

/** The files left of a compiled tree, and the packages that they need. */
export interface ReachableFiles {
  /** Paths in the folder. */
  files: string[];
  /** The packages that code or types import, without their sub-paths. */
  packages: Set<string>;
}

/** Imports and exports as TypeScript prints them, also dynamic ones and those of types. */
const SPECIFIER = /\b(?:from|import)\s*\(?\s*"([@.\w][-@./:\w]*)"/g;

/**
 * Removes the files from a folder that its entries don't reach: a module of types alone has code that is never loaded, and
 * many a module has types that no entry exposes.
 */
export async function keepReachable(folder: string, entries: readonly string[]): Promise<ReachableFiles> {
  const reached = new Set<string>();
  const packages = new Set<string>();
  const reach = async (file: string, toOutput: (specifier: string) => string): Promise<void> => {
    if (reached.has(file)) return;
    reached.add(file);
    if (file.endsWith(".json")) return;
    for (const [, specifier] of (await Deno.readTextFile(file)).matchAll(SPECIFIER)) {
      if (specifier!.startsWith(".")) await reach(join(dirname(file), toOutput(specifier!)), toOutput);
      else if (!specifier!.startsWith("node:")) packages.add(packageOf(specifier!));
    }
  };
  for (const entry of entries) {
    await reach(join(folder, entry.replace(/\.ts$/, ".js")), (specifier) => specifier);
    await reach(join(folder, entry.replace(/\.ts$/, ".d.ts")), (js) => js.replace(/\.[jt]s$/, ".d.ts"));
  }
  await removeOthers(folder, reached);
  return { files: [...reached].map((file) => relative(folder, file)), packages };
}

function packageOf(specifier: string): string {
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

async function removeOthers(folder: string, kept: ReadonlySet<string>): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) await removeOthers(path, kept);
    else if (!kept.has(path)) await Deno.remove(path);
  }
  if ((await Array.fromAsync(Deno.readDir(folder))).length === 0) await Deno.remove(folder);
}
