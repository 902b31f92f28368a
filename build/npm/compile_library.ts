import { join } from "node:path";
import { ROOT } from "../run_deno.ts";
import { withTypescriptCopy } from "../typescript_copy.ts";

/** Node 22 has all of it; newer features do not compile unless they are listed below. */
const TARGET = "es2024";

/** Newer features that are used: Node 22 has them, but for `using`, which TypeScript transpiles. */
const NEWER = ["es2025.iterator", "es2025.collection", "esnext.disposable", "esnext.array"];

/**
 * Compiles the library for Node with TypeScript, from entries such as `src/mod.ts` into a folder. It is checked against
 * the types of Node, and of Deno against the few names in `deno_globals.d.ts`: other uses of Deno do not compile.
 */
export async function compileLibrary(entries: readonly string[], folder: string): Promise<void> {
  await withTypescriptCopy(["cli.ts", "src", "plugins"], async (copy) => {
    const globals = new URL("deno_globals.d.ts", import.meta.url);
    await Deno.copyFile(globals, join(copy.folder, "deno_globals.d.ts"));
    // The client of PostgreSQL has no types of its own; what is used of it is declared where it is used.
    await Deno.writeTextFile(join(copy.folder, "untyped.d.ts"), 'declare module "pg";');
    const config = tsconfig(copy.folder, entries, folder);
    await Deno.writeTextFile(join(copy.folder, "tsconfig.json"), JSON.stringify(config));
    await copy.compile();
    for (const path of copy.emptied) await Deno.copyFile(join(ROOT, path), join(folder, path));
  });
}

function tsconfig(copy: string, entries: readonly string[], folder: string) {
  return {
    files: [...entries, "deno_globals.d.ts", "untyped.d.ts"],
    compilerOptions: {
      module: "nodenext",
      target: TARGET,
      lib: [TARGET, ...NEWER, "dom", "dom.iterable", "dom.asynciterable"],
      libReplacement: true,
      types: ["node"],
      strict: true,
      noUncheckedIndexedAccess: true,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      resolveJsonModule: true,
      skipLibCheck: true,
      rootDir: copy,
      outDir: folder,
    },
  };
}
