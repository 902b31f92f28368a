import { dirname, join, relative } from "node:path";

/** What is left of a compiled tree, and what it needs. */
export interface ReachableFiles {
  /** Paths in the folder. */
  files: string[];
  /** The packages that code or types import, without their sub-paths. */
  packages: Set<string>;
}

/** As TypeScript prints imports and exports, late ones and those of types too. */
const SPECIFIER = /\b(?:from|import)\s*\(?\s*"([@.\w][-@./:\w]*)"/g;

/**
 * Removes from a folder what its entries don't reach: modules that hold nothing but types have no code that is loaded, and
 * many a module has types that no entry shows.
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
