/**
 * The figures of the code's shape: `deno task figures` prints them, with `--against DIR` beside those of another checkout. Each
 * function counts one of them, and says how.
 */
import { dirname, join } from "node:path/posix";
import { CLI_PERMISSIONS } from "./permissions.ts";
import { ROOT } from "./run_deno.ts";
import { recipeFigures, shapeFigures } from "./shape_figures.ts";

/**
 * Runs a command line in a process of its own, over a database that `before` has written to, and returns the files of the
 * repository that it executed. V8 counts them (`deno run --coverage`): each script whose top level ran, be it imported
 * statically or dynamically. Imports of types don't count, since nothing of them is left to run.
 */
export async function executedFiles(
  args: readonly string[],
  before: readonly (readonly string[])[] = [],
  root: string = ROOT,
): Promise<string[]> {
  const folder = await Deno.makeTempDir();
  const run = async (flags: string[], command: readonly string[]) => {
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", ...flags, ...CLI_PERMISSIONS, "cli.ts", ...command],
      cwd: root,
      env: { XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder },
      stdin: "null",
    }).output();
    if (!success) throw new Error(`Cannot run ${command.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  };
  try {
    for (const command of before) await run([], command);
    await run([`--coverage=${folder}/coverage`], args);
    const files: string[] = [];
    for await (const { name } of Deno.readDir(`${folder}/coverage`)) {
      const script = JSON.parse(await Deno.readTextFile(`${folder}/coverage/${name}`));
      const path = new URL(script.url).pathname;
      if (path.startsWith(root) && script.functions[0]?.ranges[0].count > 0) {
        files.push(path.slice(root.length));
      }
    }
    return files.sort();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The command lines whose files are counted, each with what it needs before it. */
export const COUNTED_COMMANDS = {
  "purser cost": {
    args: ["cost"],
    before: [["agents", "set", "echo", "--model", "demo:echo"], ["run", "echo", "Hello"]],
  },
  "purser alerts add": {
    args: [
      "alerts",
      "add",
      "--name",
      "Daily limit",
      "--threshold-usd",
      "10",
      "--threshold-type",
      "per_day_usd",
      "--severity",
      "warning",
    ],
    before: [],
  },
} as const;

/** A folder's `mod.ts`, with the names that it exports and those that no file outside of the folder uses. */
export interface FolderExports {
  path: string;
  names: string[];
  unused: string[];
}

interface Source {
  path: string;
  text: string;
}

/** Reads all TypeScript files of some folders and files. */
async function readSources(root: string, paths: readonly string[]): Promise<Source[]> {
  const sources: Source[] = [];
  for (const path of paths) {
    if (/\.tsx?$/.test(path)) {
      sources.push({ path, text: await Deno.readTextFile(root + path) });
    } else if (!/\.\w+$/.test(path)) {
      const entries = await Array.fromAsync(Deno.readDir(root + path));
      sources.push(
        ...await readSources(
          root,
          entries.filter(({ isDirectory, name }) => isDirectory || /\.tsx?$/.test(name)).map(({ name }) =>
            `${path}/${name}`
          ),
        ),
      );
    }
  }
  return sources;
}

/** An import or re-export: of names in braces, or of a whole module. */
const IMPORTS = /^(?:import|export)\s+(?:type\s+)?(\{[^}]*\}|\*(?: as \w+)?)\s+from\s+"(\.[^"]+)"/gm;

/** A dynamic import, or that of a type. */
const DYNAMIC_IMPORTS = /\bimport\(\s*"(\.[^"]+)"/g;

const OWN_EXPORTS = /^export (?:async )?(?:const|function\*?|class|interface|type|abstract class) (\w+)/gm;

/** Returns the names in the braces of an import, or of an export if `isExport`: `a as b` imports `a`, and exports `b`. */
function namesIn(braces: string, isExport: boolean): string[] {
  if (!braces.startsWith("{")) return braces.match(/(?<=as )\w+/g) ?? [];
  return braces.slice(1, -1).split(",").map((name) => name.trim().replace(/^type /, "")).filter(Boolean)
    .map((name) => name.split(" as ").at(isExport ? -1 : 0)!);
}

/**
 * Reads the exports of every `mod.ts` of `src/`, and what `export *` passes on. A name is used by a file outside of the folder that
 * imports or re-exports it; where the whole module is imported (dynamically, or as `* as`), by a file that has the name anywhere. What
 * a `mod.ts` defines itself may also be used by files of its folder, which can import it from nowhere else. Tests count as users.
 */
export async function readExports(root: string = ROOT): Promise<FolderExports[]> {
  const all = await readSources(root, [
    "cli.ts",
    "main.ts",
    "src",
    "plugins",
    "tests",
    "bench",
    "build",
    "examples",
  ]);
  const texts = new Map(all.map(({ path, text }) => [path, text]));
  /** Returns the names that a file passes on from others, and those that it defines. */
  const exportsOf = (path: string): { passedOn: string[]; own: string[] } => {
    const text = texts.get(path) ?? "";
    const passedOn = [...text.matchAll(IMPORTS)].filter(([whole]) => whole.startsWith("export"))
      .flatMap(([, what, specifier]) =>
        what === "*" ? allOf(join(dirname(path), specifier!)) : namesIn(what!, true)
      );
    return { passedOn, own: [...text.matchAll(OWN_EXPORTS)].map(([, name]) => name!) };
  };
  const allOf = (path: string): string[] => {
    const { passedOn, own } = exportsOf(path);
    return [...passedOn, ...own];
  };
  const outside = new Map<string, Set<string>>();
  const inside = new Map<string, Set<string>>();
  const use = (from: string, specifier: string, names: readonly string[]) => {
    const path = join(dirname(from), specifier);
    if (!path.endsWith("/mod.ts")) return;
    const users = from.startsWith(`${dirname(path)}/`) ? inside : outside;
    users.set(path, new Set([...users.get(path) ?? [], ...names]));
  };
  for (const { path, text } of all) {
    for (const [, what, specifier] of text.matchAll(IMPORTS)) {
      const names = what === "*" ? allOf(join(dirname(path), specifier!)) : namesIn(what!, false);
      use(path, specifier!, what!.startsWith("* as") ? text.match(/\w+/g)! : names);
    }
    for (const [, specifier] of text.matchAll(DYNAMIC_IMPORTS)) use(path, specifier!, text.match(/\w+/g)!);
  }
  return all.filter(({ path }) => /^src\/.*\/mod\.ts$/.test(path)).map(({ path }) => {
    const { passedOn, own } = exportsOf(path);
    const unused = [
      ...passedOn.filter((name) => !outside.get(path)?.has(name)),
      ...own.filter((name) => !outside.get(path)?.has(name) && !inside.get(path)?.has(name)),
    ];
    return { path, names: [...passedOn, ...own], unused };
  }).sort((one, other) => one.path < other.path ? -1 : 1);
}

/** The folders whose exports are counted by name. */
const COUNTED_FOLDERS = ["budgets", "pricing", "snapshots"];

async function figuresOf(root: string): Promise<Record<string, string | number>> {
  const figures: Record<string, string | number> = {};
  for (const [name, { args, before }] of Object.entries(COUNTED_COMMANDS)) {
    figures[`files executed by \`${name}\``] = (await executedFiles(args, before, root)).length;
  }
  const folders = await readExports(root);
  for (const folder of COUNTED_FOLDERS) {
    const { names, unused } = folders.find(({ path }) => path === `src/${folder}/mod.ts`)!;
    figures[`exports of ${folder}, and those of them that nobody uses`] = `${names.length}, ${unused.length}`;
  }
  figures["exports of all folders"] = folders.reduce((sum, { names }) => sum + names.length, 0);
  return { ...figures, ...shapeFigures(root), ...recipeFigures(root) };
}

if (import.meta.main) {
  const [flag, other] = Deno.args;
  const roots = flag === "--against" && other !== undefined ? [`${other.replace(/\/$/, "")}/`, ROOT] : [ROOT];
  if (roots.length > 1) console.log(`${other} -> this checkout`);
  const figures: Record<string, string | number>[] = [];
  for (const root of roots) figures.push(await figuresOf(root));
  for (const name of new Set(figures.flatMap((each) => Object.keys(each)))) {
    console.log(`${name}: ${figures.map((each) => each[name] ?? "none").join(" -> ")}`);
  }
}
