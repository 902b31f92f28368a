/**
 * `deno task check`: checks all types by the native compiler of TypeScript, in a third of the processor time that
 * `deno check` takes; in a thorough run by `deno check`, too. Later versions of Deno check by the native compiler themselves:
 * then `deno check` is enough (https://github.com/denoland/deno/pull/35938, read on 2026-11-27).
 */
import { join } from "node:path";
import { ROOT, runDeno } from "./run_deno.ts";
import { isThorough } from "../tests/harness/thorough.ts";
import { withTypescriptCopy } from "./typescript_copy.ts";

const CHECKED = ["main.ts", "cli.ts", "src", "plugins", "tests", "bench", "build", "examples"];

/** The packages without types. */
const UNTYPED = `declare module "parse-prometheus-text-format@*";
declare module "pg" {
  namespace pg {
    type Client = any;
  }
  const pg: any;
  export default pg;
}`;

await withTypescriptCopy(CHECKED, async ({ folder, compile }) => {
  const write = (name: string, text: string) => Deno.writeTextFile(join(folder, name), text);
  await namePackages(folder);
  await write("untyped.d.ts", UNTYPED);
  await write("deno.d.ts", (await runDeno(["types"])).said);
  await write("tsconfig.json", JSON.stringify(await tsconfig()));
  try {
    await compile();
    if (isThorough) await runDeno(["check", "--frozen", "--lock=tests/deno.lock", ...CHECKED]);
  } catch (error) {
    console.error((error as Error).message);
    Deno.exitCode = 1;
  }
});

/** Replaces `npm:` specifiers, which only `tests/packages` has, by names of folders that Node's rules find. */
async function namePackages(folder: string): Promise<void> {
  const packages = join(folder, "tests/packages");
  for await (const { name } of Deno.readDir(packages)) {
    if (!name.endsWith(".ts")) continue;
    const text = await Deno.readTextFile(join(packages, name));
    for (const [, specifier, module] of text.matchAll(/"npm:(((?:@[^/"]+\/)?[^@"]+)@[^/"]+)/g)) {
      const store = join(folder, "node_modules/.deno");
      const installed = join(store, specifier!.replace("/", "+"), "node_modules", module!);
      const link = join(folder, "node_modules", specifier!);
      await Deno.symlink(installed, link).catch((error) => {
        if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
      });
    }
    await Deno.writeTextFile(join(packages, name), text.replaceAll('"npm:', '"'));
  }
}

async function tsconfig() {
  const { compilerOptions, exports, name } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const paths = Object.entries(exports).map(([path, file]) => [`${name}${path.slice(1)}`, [file]]);
  return {
    include: [...CHECKED.map((path) => path.endsWith(".ts") ? path : `${path}/**/*`), "*.d.ts"],
    exclude: ["build/npm/deno_globals.d.ts"],
    compilerOptions: {
      ...compilerOptions,
      paths: Object.fromEntries(paths),
      module: "esnext",
      moduleResolution: "bundler",
      moduleDetection: "force",
      target: "esnext",
      lib: compilerOptions.lib.filter((lib: string) => !lib.startsWith("deno.")),
      libReplacement: true,
      types: [],
      allowImportingTsExtensions: true,
      resolveJsonModule: true,
      noEmit: true,
    },
  };
}
