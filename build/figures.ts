/**
 * The figures of the code's shape: `deno task figures` prints them. Each function counts one of them, and says how.
 */
import { dirname, join } from "node:path/posix";
import { CLI_PERMISSIONS } from "./permissions.ts";
import { ROOT, runDeno } from "./run_deno.ts";

/**
 * Runs a command line in a process of its own, over a database that `before` has written to, and returns the files of this
 * repository that it executed, in order. V8 counts them (`deno run --coverage`): each script whose top level ran, be it
 * imported statically or dynamically. Imports of types don't count, since nothing of them is left to run.
 */
export async function executedFiles(
  args: readonly string[],
  before: readonly (readonly string[])[] = [],
): Promise<string[]> {
  const folder = await Deno.makeTempDir();
  try {
    const env = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
    const run = (flags: string[], command: readonly string[]) =>
      runDeno(["run", "--quiet", ...flags, ...CLI_PERMISSIONS, "cli.ts", ...command], { env });
    for (const command of before) await run([], command);
    await run([`--coverage=${folder}/coverage`], args);
    const files: string[] = [];
    for await (const { name } of Deno.readDir(`${folder}/coverage`)) {
      const script = JSON.parse(await Deno.readTextFile(`${folder}/coverage/${name}`));
      const isExecuted = script.functions[0]?.ranges[0].count > 0;
      const path = new URL(script.url).pathname;
      if (isExecuted && path.startsWith(ROOT)) files.push(path.slice(ROOT.length));
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
export interface Door {
  path: string;
  names: string[];
  unused: string[];
}

interface Source {
  path: string;
  text: string;
}

/** Reads all TypeScript files of some folders and files of the repository. */
async function readSources(paths: readonly string[]): Promise<Source[]> {
  const sources: Source[] = [];
  for (const path of paths) {
    if (/\.tsx?$/.test(path)) {
      sources.push({ path, text: await Deno.readTextFile(ROOT + path) });
    } else if (!/\.\w+$/.test(path)) {
      const entries = await Array.fromAsync(Deno.readDir(ROOT + path));
      sources.push(
        ...await readSources(
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
 * Reads the doors of `src/`. A name is used by a file outside of the door's folder that imports or re-exports it; where the
 * whole module is imported (dynamically, or as `*`), by a file that has the name anywhere. What a door defines itself may also
 * be used by files of its folder, which can import it from nowhere else. Tests count as users.
 */
export async function readDoors(): Promise<Door[]> {
  const all = await readSources([
    "cli.ts",
    "main.ts",
    "src",
    "plugins",
    "tests",
    "bench",
    "build",
    "examples",
  ]);
  const outside = new Map<string, Set<string>>();
  const inside = new Map<string, Set<string>>();
  const use = (from: string, specifier: string, names: readonly string[]) => {
    const door = join(dirname(from), specifier);
    if (!door.endsWith("/mod.ts")) return;
    const users = from.startsWith(`${dirname(door)}/`) ? inside : outside;
    users.set(door, new Set([...users.get(door) ?? [], ...names]));
  };
  for (const { path, text } of all) {
    for (const [, what, specifier] of text.matchAll(IMPORTS)) {
      use(path, specifier!, what!.startsWith("*") ? text.match(/\w+/g)! : namesIn(what!, false));
    }
    for (const [, specifier] of text.matchAll(DYNAMIC_IMPORTS)) use(path, specifier!, text.match(/\w+/g)!);
  }
  return all.filter(({ path }) => /^src\/.*\/mod\.ts$/.test(path)).map(({ path, text }) => {
    const passedOn = [...text.matchAll(IMPORTS)].filter(([whole]) => whole.startsWith("export"))
      .flatMap(([, what]) => namesIn(what!, true));
    const own = [...text.matchAll(OWN_EXPORTS)].map(([, name]) => name!);
    const unused = [
      ...passedOn.filter((name) => !outside.get(path)?.has(name)),
      ...own.filter((name) => !outside.get(path)?.has(name) && !inside.get(path)?.has(name)),
    ];
    return { path, names: [...passedOn, ...own], unused };
  }).sort((one, other) => one.path < other.path ? -1 : 1);
}

/** The folders whose doors are counted by name. */
const COUNTED_DOORS = ["budgets", "pricing", "snapshots"];

if (import.meta.main) {
  const rows: [string, number][] = [];
  for (const [name, { args, before }] of Object.entries(COUNTED_COMMANDS)) {
    rows.push([`files executed by \`${name}\``, (await executedFiles(args, before)).length]);
  }
  const doors = await readDoors();
  for (const folder of COUNTED_DOORS) {
    const { names, unused } = doors.find(({ path }) => path === `src/${folder}/mod.ts`)!;
    rows.push([`exports of ${folder}`, names.length]);
    rows.push([`exports of ${folder} that nobody outside of it uses`, unused.length]);
  }
  rows.push(["exports of all doors", doors.reduce((sum, { names }) => sum + names.length, 0)]);
  rows.push(["exports of all doors that nobody outside uses", doors.flatMap(({ unused }) => unused).length]);
  for (const [name, figure] of rows) console.log(`${String(figure).padStart(6)}  ${name}`);
}
