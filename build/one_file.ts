import { dirname, join, relative } from "node:path";
import { Script } from "node:vm";
import { sha256Hex } from "../src/kernel/encoding.ts";
import { findChunk } from "./find_chunk.ts";
import { ROOT, runDeno } from "./run_deno.ts";

/** A program of one command, in one file: a runtime takes half a millisecond for each file, and loads 120 for a hook. */
interface OneFile {
  /** The module that it exports. */
  entry: string;
  /** The modules below `src/` that it loads lazily, if ever, and contains: any other is left to the whole command line. */
  lazy: readonly string[];
}

/** The commands that coding agents run at each message, by name; each exports `runAtOnce()`. */
const HOOKS = {
  statusline: {
    entry: "src/cli/commands/statusline/print_at_once",
    lazy: [
      "config/file/expand_variables",
      "config/file/locate_targets",
      "kernel/json/parse_jsonc",
      "store/sqlite/read_file",
    ],
  },
  gate: {
    entry: "src/cli/commands/gate/answer_at_once",
    lazy: [
      "alerts/mod",
      "budgets/mod",
      "budgets/reservations/mod",
      "calls/mod",
      "calls/spool/call_spool",
      "cli/commands/gate/ask_server",
      "cli/commands/gate/check_and_ask",
      "cli/commands/gate/describe_reached",
      "cli/commands/gate/hooks/claude_code",
      "cli/commands/gate/hooks/codex",
      "cli/commands/gate/hooks/copilot",
      "cli/commands/gate/hooks/gemini",
      "cli/commands/gate/import_session",
      "cli/commands/gate/next_call",
      "cli/commands/gate/run_gate",
      "client/mod",
      "config/file/expand_variables",
      "config/file/locate_targets",
      "config/file/parse_config_file",
      "config/profiles_file",
      "contract/price_override",
      "ingest/import_files/mod",
      "ingest/logs/claude_code",
      "ingest/logs/codex",
      "ingest/logs/gemini_cli",
      "kernel/json/parse_jsonc",
      "plans/mod",
      "pricing/prices",
      "pricing/updates/used_prices",
      "service/booking/mod",
      "service/maintenance",
      "service/mod",
      "service/sweeps",
      "sessions/mod",
      "store/sqlite/database_file",
      "store/sqlite/sqlite_store",
    ],
  },
} satisfies Readonly<Record<string, OneFile>>;

/** The entries of the programs of hooks, without a suffix. */
export const HOOK_ENTRIES: readonly string[] = Object.values(HOOKS).map(({ entry }) => entry);

/**
 * Bundles the programs of hooks into the folder of a bundle whose files are `names`, with which they share the prices. `root` has
 * the sources, or what they are compiled to. Returns the names of the files.
 */
export async function bundleHooks(
  folder: string,
  names: readonly string[],
  root: string = ROOT,
): Promise<string[]> {
  const files = Object.fromEntries(
    ["genai_prices", "litellm_prices"].map((
      data,
    ) => [`pricing/catalog/data/${data}.json`, findChunk(names, data)]),
  );
  for (const [name, program] of Object.entries(HOOKS)) {
    await bundleToOneFile(join(folder, fileOf(name)), program, { root, files });
  }
  await Deno.copyFile(join(ROOT, "build", RUN_HOOK), join(folder, RUN_HOOK));
  return [RUN_HOOK, ...Object.keys(HOOKS).map(fileOf)];
}

const RUN_HOOK = "run_hook.js";
const fileOf = (hook: string) => `${hook}.js`;

/** Returns the program that runs the program of a hook, or else the whole command line. `whole` is a path. */
export function dispatchHooks(runtime: "Deno" | "Node", whole: string): string {
  const [args, env, exit] = runtime === "Deno"
    ? ["Deno.args", "Deno.env.toObject()", "Deno.exit"]
    : ["process.argv.slice(2)", "process.env", "process.exit"];
  return `const args = ${args};
if (${JSON.stringify(Object.keys(HOOKS))}.includes(args[0])) {
  const code = await (await import(${JSON.stringify(`./${RUN_HOOK}`)})).runHook(args[0], args, ${env});
  if (code !== undefined) ${exit}(code);
}
await import(${JSON.stringify(whole)});
`;
}

/** Static imports and exports, and dynamic imports, as they are printed and written. */
const IMPORT = /\b(?:from|import)\s*"(\.[^"]+)"/g;
const LAZY_IMPORT = /(?<!typeof )\bimport\(\s*"([^"]+)"(?:,\s*\{[^)]*\})?\s*\)/g;
/** Takes the place of an import of what isn't in the file. */
const OUTSIDE = 'Promise.reject((globalThis.purserIsOutside = true, new Error("not in this program")))';

/** Bundles a program into one file. `files` are those that are loaded at run time beside it, by their paths in `src/`. */
async function bundleToOneFile(
  path: string,
  { entry, lazy }: OneFile,
  { root, files }: { root: string; files: Readonly<Record<string, string>> },
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser-one-file-" });
  const suffix = root === ROOT ? ".ts" : ".js";
  const src = join(root, "src");
  const unused = new Set(lazy);
  const done = new Set<string>();
  const copy = async (file: string): Promise<void> => {
    if (done.has(file)) return;
    done.add(file);
    const found: string[] = [];
    const text = (await Deno.readTextFile(file)).replaceAll(LAZY_IMPORT, (whole, specifier: string) => {
      const target = join(dirname(file), specifier);
      const name = relative(src, target).replaceAll("\\", "/");
      if (specifier.startsWith("node:")) return whole;
      if (files[name] !== undefined) return `import("./${files[name]}")`;
      const module = name.replace(/\.[jt]s$/, "");
      if (!specifier.startsWith(".") || !lazy.includes(module)) return OUTSIDE;
      unused.delete(module);
      found.push(target);
      return whole;
    });
    for (const [, specifier] of text.matchAll(IMPORT)) found.push(join(dirname(file), specifier!));
    const to = join(folder, relative(root, file));
    await Deno.mkdir(dirname(to), { recursive: true });
    await Deno.writeTextFile(to, text);
    for (const each of found) await copy(each);
  };
  try {
    await copy(join(root, entry + suffix));
    if (unused.size > 0) throw new Error(`Nothing loads ${[...unused].join(", ")} lazily for ${path}`);
    // Tells the bundler to leave out modules of which nothing is used.
    await Deno.writeTextFile(join(folder, "package.json"), '{ "type": "module", "sideEffects": false }');
    await runDeno([
      ...["bundle", "--quiet", "--minify", "--config", join(ROOT, "deno.json")],
      ...Object.values(files).flatMap((name) => ["--external", `./${name}`]),
      ...["--output", path, join(folder, entry + suffix)],
    ]);
    await Deno.writeTextFile(
      path,
      await toScript(escapeOthers(dropUnusedImports(await Deno.readTextFile(path)))),
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Drops the imports of Node's modules that nothing uses any more: the bundler keeps them, and some take long to load. */
function dropUnusedImports(text: string): string {
  return text.replaceAll(
    /\bimport\s*\{\s*\w+ as ([\w$]+)\s*\}\s*from\s*"node:\w+";/g,
    (whole, name: string) =>
      text.split(new RegExp(`(?<![\\w$.])${RegExp.escape(name)}(?![\\w$])`)).length > 2 ? whole : "",
  );
}

/** Makes a script of a module, for `run_hook.js`: a function that is given a function for imports, and resolves to `runAtOnce()`. */
async function toScript(module: string): Promise<string> {
  const body = module
    .replaceAll(/(?<![.\w$])import\(/g, "load(")
    .replaceAll(
      /\bimport\s*(\{[^}]*\})\s*from\s*("node:\w+");/g,
      (_, names: string, from: string) => `const${names.replaceAll(/\s+as\s+/g, ":")}=await load(${from});`,
    )
    .replaceAll(/\bimport\s+([\w$]+)\s+from\s*("node:\w+");/g, "const{default:$1}=await load($2);")
    .replace(/\bexport\s*\{\s*([\w$]+) as runAtOnce\s*\};\s*$/, "return $1;");
  const script = `(async function(load){"use strict";${body}})\n`;
  new Script(script); // throws for what only a module may have
  return `/*${(await sha256Hex(script)).slice(0, 16)}*/${script}`;
}

/** Escapes the characters that aren't ASCII, all in texts and patterns: with one of them, a runtime holds two bytes for each. */
function escapeOthers(text: string): string {
  return text.replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
