/**
 * `deno task test:offline [ARGUMENTS]`: runs all tests. `deno test` gives each file an isolate of its own, which loads the
 * service and compiles it again, some seconds of a processor. Here files are imported together, some forty in a module; of
 * those that start processes fewer, as they mostly wait; those in a browser are one, with one browser, which judges each page once.
 * Arguments go to `deno test`.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../build/run_deno.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { MADE_DATA, makeData, postgresMissing, SHARED_PORT, startPostgres } from "./harness/postgres.ts";

/** Folders of builds, which `deno.json` excludes. */
const EXCLUDED = ["dist", "npm", "node_modules"];
const FILES_PER_MODULE = { computing: 46, waiting: 15, browser: Infinity };

/** A test that mostly waits, and longest of all: it is the first of its module, so that it is not alone at the end. */
const WAITS_LONGEST = /failover_test\.ts$/;

const STARTS_BROWSER = /\/(?:browser|dashboard)\.ts"/;

/** A test that starts processes, by itself or by one of these. */
const STARTS_PROCESSES = new RegExp(
  String.raw`Deno\.Command|runDeno|/(?:${
    [
      ...["alert_workers", "books_workers", "cli_process", "deno_project", "documents", "edge_bundle"],
      ...["failover_scene", "fault_stage", "figures", "full_disk_suite", "installed_cli", "instances"],
      ...["mail_server", "node", "npm_project", "on_terminal", "postgres", "run_table", "shared_build"],
      ...["small_disk", "snapshot_crash_workers", "spool_scene", "store_process", "targets", "workerd"],
    ].join("|")
  })\.ts"`,
);

await inDirectory(runAll);

async function runAll(folder: string): Promise<void> {
  await using made = postgresMissing ? undefined : await makeData();
  await using postgres = postgresMissing ? undefined : await startPostgres();
  const files: Record<keyof typeof FILES_PER_MODULE, string[]> = { computing: [], waiting: [], browser: [] };
  for (const path of (await findTests(ROOT)).sort()) {
    const text = await Deno.readTextFile(path);
    files[STARTS_BROWSER.test(text) ? "browser" : STARTS_PROCESSES.test(text) ? "waiting" : "computing"].push(
      path,
    );
  }
  const computing = await writeModules(folder, "computing", files.computing);
  files.waiting.sort((a, b) => Number(WAITS_LONGEST.test(b)) - Number(WAITS_LONGEST.test(a)));
  const waiting = await writeModules(folder, "waiting", files.waiting);
  const browser = await writeModules(folder, "browser", files.browser);
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["test", "--config", join(ROOT, "deno.json"), `--lock=${join(ROOT, "tests/deno.lock")}`],
      ...["-RWENS", "--allow-run", "--parallel", "--quiet", "--cached-only", "--no-check"],
      ...Deno.args,
      ...browser, // not last: while it is alone, a processor is idle
      ...spread(waiting, computing),
    ],
    cwd: ROOT,
    env: made && postgres ? { [MADE_DATA]: made.data, [SHARED_PORT]: `${postgres.port}` } : {},
  }).spawn().status;
  Deno.exitCode = code;
}

async function findTests(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const found = await Promise.all(entries.map(({ name, isDirectory }) => {
    const path = join(folder, name);
    if (name.startsWith(".") || EXCLUDED.includes(name)) return [];
    if (isDirectory) return findTests(path);
    return name.endsWith("_test.ts") ? [path] : [];
  }));
  return found.flat();
}

/** Writes modules that import the files, neighbours in different ones, and returns their paths. */
async function writeModules(
  folder: string,
  name: keyof typeof FILES_PER_MODULE,
  files: readonly string[],
): Promise<string[]> {
  const count = Math.max(1, Math.ceil(files.length / FILES_PER_MODULE[name]));
  const modules = Array.from({ length: count }, (_, index) => join(folder, `${name}_${index + 1}_test.ts`));
  const dealt = deal(files, count);
  for (const [index, path] of modules.entries()) {
    const imports = dealt[index]!.map((file) => `import "${pathToFileURL(file)}";\n`);
    await Deno.writeTextFile(path, imports.join(""));
  }
  return modules;
}

/**
 * Deals files to modules by rounds. In each of the last rounds one module more is left out, so that those that end last are
 * short: meanwhile a processor may be idle.
 */
function deal(files: readonly string[], count: number): string[][] {
  const dealt: string[][] = Array.from({ length: count }, () => []);
  const fullRounds = Math.max(1, Math.ceil(files.length / count - (count - 1) / 2));
  let next = 0;
  for (let round = 0; next < files.length; round++) {
    const receivers = Math.max(1, count - Math.max(0, round - fullRounds + 1));
    for (const module of dealt.slice(0, receivers)) {
      if (next < files.length) module.push(files[next++]!);
    }
  }
  return dealt;
}

/** Puts modules that compute among those that wait, so that no processor is idle. */
function spread(waiting: readonly string[], computing: readonly string[]): string[] {
  const [most, fewest] = [waiting.length, computing.length];
  const all = [...waiting];
  for (let index = fewest - 1; index >= 0; index--) {
    all.splice(Math.floor(index * most / fewest), 0, computing[index]!);
  }
  return all;
}
