import { join } from "node:path";
import { ROOT } from "../run_deno.ts";
import { TYPESCRIPT } from "./versions.ts";

/** Node 22 has all of it; newer features do not compile unless they are listed below. */
const TARGET = "es2024";

/** Newer features that are used: Node 22 has them, but for `using`, which TypeScript transpiles. */
const NEWER = ["es2025.iterator", "es2025.collection", "esnext.disposable", "esnext.array"];

/**
 * Compiles the library for Node with TypeScript, from entries such as `src/mod.ts` into a folder. It is checked against
 * the types of Node, and of Deno against the few names in `deno_globals.d.ts`: other uses of Deno do not compile.
 */
export async function compileLibrary(entries: readonly string[], folder: string): Promise<void> {
  // A copy, beside which Deno lays out the packages of the lock file as TypeScript looks for them.
  const copy = await Deno.makeTempDir({ prefix: "purser-npm-" });
  try {
    for (const name of ["deno.json", "cli.ts", "src", "plugins"]) {
      await copyTree(join(ROOT, name), join(copy, name));
    }
    await Deno.copyFile(join(ROOT, "tests/deno.lock"), join(copy, "deno.lock"));
    await Deno.copyFile(new URL("deno_globals.d.ts", import.meta.url), join(copy, "deno_globals.d.ts"));
    // The client of PostgreSQL has no types of its own; what is used of it is declared where it is used.
    await Deno.writeTextFile(join(copy, "untyped.d.ts"), 'declare module "pg";');
    await Deno.writeTextFile(join(copy, "package.json"), '{ "type": "module" }');
    await Deno.writeTextFile(join(copy, "tsconfig.json"), JSON.stringify(tsconfig(copy, entries, folder)));
    await run(copy, ["install", "--quiet", "--frozen", "--node-modules-dir=auto"]);
    // One checker: several instantiate the same types, for more than twice the processor time.
    const compile = [`npm:${TYPESCRIPT}/tsc`, "--project", ".", "--singleThreaded"];
    await run(copy, ["run", "-RWES", "--allow-run", "--quiet", "--frozen", ...compile]);
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}

function tsconfig(copy: string, entries: readonly string[], folder: string) {
  return {
    files: [...entries, "deno_globals.d.ts", "untyped.d.ts"],
    compilerOptions: {
      module: "nodenext",
      target: TARGET,
      lib: [TARGET, ...NEWER, "dom", "dom.iterable", "dom.asynciterable"],
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

async function copyTree(from: string, to: string): Promise<void> {
  if ((await Deno.stat(from)).isFile) return await Deno.copyFile(from, to);
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) await copyTree(join(from, name), join(to, name));
}

async function run(cwd: string, args: string[]): Promise<void> {
  const command = new Deno.Command(Deno.execPath(), { args, cwd, env: { NO_COLOR: "1" } });
  const { success, stdout, stderr } = await command.output();
  if (success) return;
  const said = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  throw new Error(`Cannot build the npm package: ${said.trim()}`);
}
