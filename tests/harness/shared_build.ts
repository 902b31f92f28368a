import { createHash } from "node:crypto";
import { join, relative } from "node:path";
import type { WorkerName } from "../faults/worker.ts";
import { ROOT, runDeno } from "../../build/run_deno.ts";

const FOLDER = join(ROOT, "dist", "tests");

/** The sources of every build. */
const SOURCES = [
  ...["cli.ts", "main.ts", "src", "plugins", "build", "tests/faults", "tests/harness"],
  ...["deno.json", "deno.lock", "tests/deno.lock", "Dockerfile"],
];

let digest: Promise<string> | undefined;

/**
 * Returns the folder of a build that all test files share, and later runs reuse: it is rebuilt only after a change of its
 * sources. Tests don't write there. The first caller builds it, others wait, in this process or another.
 */
export async function sharedBuild(name: string, make: (folder: string) => Promise<unknown>): Promise<string> {
  digest ??= digestSources();
  const folder = join(FOLDER, `${name}_${await digest}`);
  await Deno.mkdir(FOLDER, { recursive: true });
  using lock = await Deno.open(join(FOLDER, `${name}.lock`), { create: true, write: true });
  await lock.lock(true);
  if (await Deno.stat(folder).then(() => true, () => false)) return folder;
  for await (const entry of Deno.readDir(FOLDER)) {
    if (entry.isDirectory && entry.name.startsWith(`${name}_`)) {
      await Deno.remove(join(FOLDER, entry.name), { recursive: true });
    }
  }
  const unfinished = `${folder}_unfinished`;
  await Deno.mkdir(unfinished);
  await make(unfinished);
  await Deno.rename(unfinished, folder);
  return folder;
}

/**
 * Returns the bundle of the worker processes, and the argument that names one, which loads only what it needs: it starts in a
 * fifth of the time of its source, and one bundle for all takes the time of one.
 */
export async function bundleWorker(name: WorkerName): Promise<[path: string, name: string]> {
  const source = join(ROOT, "tests/faults/worker.ts");
  const folder = await sharedBuild("workers", (folder) =>
    runDeno([
      ...["bundle", "--quiet", "--code-splitting", "--config", join(ROOT, "deno.json")],
      ...["--outdir", folder, source],
    ]));
  return [join(folder, "worker.js"), name];
}

async function digestSources(): Promise<string> {
  const hash = createHash("sha256").update(Deno.version.deno);
  for (const path of (await Promise.all(SOURCES.map((path) => list(join(ROOT, path))))).flat().sort()) {
    hash.update(`\0${relative(ROOT, path)}\0`).update(await Deno.readFile(path));
  }
  return hash.digest("hex").slice(0, 16);
}

async function list(path: string): Promise<string[]> {
  if ((await Deno.stat(path)).isFile) return path.endsWith("_test.ts") ? [] : [path];
  const entries = await Array.fromAsync(Deno.readDir(path));
  return (await Promise.all(entries.map(({ name }) => list(join(path, name))))).flat();
}
