/**
 * The import of Claude Code's logs beside ccusage, which reads all of them for every question: the first import, one with nothing
 * new, and questions afterwards, each as a whole process. `--thorough` generates 338 MB.
 */
import { bundleToInstall, CLI_MEMORY } from "../build/bundle_cli.ts";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { median } from "./measure.ts";
import { runTimed, type TimedRun } from "./run_timed.ts";
import { writeClaudeLogs } from "./claude_logs.ts";

const THOROUGH_CALLS = 52_000;
const DEFAULT_CALLS = 4_600;
const CCUSAGE = "20.0.20";

const calls = Deno.args.includes("--thorough") ? THOROUGH_CALLS : DEFAULT_CALLS;
const home = await Deno.makeTempDir({ prefix: "purser_bench_import_" });

const cache = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;

/** Runs a program to its end, with `home` as the home folder. */
const run = (program: string, args: readonly string[]) =>
  runTimed(program, args, {
    HOME: home,
    XDG_DATA_HOME: home,
    XDG_CONFIG_HOME: `${home}/config`,
    DENO_DIR: cache,
    NO_COLOR: "1",
  });

/** Installs ccusage into a folder; returns its program, undefined where npm can't be reached. */
async function installCcusage(): Promise<string | undefined> {
  const folder = `${home}/ccusage`;
  await Deno.mkdir(folder);
  const packages = [`ccusage@${CCUSAGE}`, `@ccusage/ccusage-linux-x64@${CCUSAGE}`];
  const { success } = await new Deno.Command("npm", {
    args: ["install", "--prefix", folder, "--no-audit", "--no-fund", ...packages],
    stdout: "null",
    stderr: "null",
  }).output().catch(() => ({ success: false }));
  return success ? `${folder}/node_modules/.bin/ccusage` : undefined;
}

function print(name: string, runs: readonly TimedRun[]): void {
  const seconds = median(runs.map(({ seconds }) => seconds));
  const cpu = runs.flatMap(({ cpuSeconds }) => cpuSeconds ?? []);
  const used = cpu.length === 0 ? "" : `${median(cpu).toFixed(2)} s`;
  const peaks = runs.flatMap(({ megabytes }) => megabytes ?? []);
  const peak = peaks.length === 0 ? "" : `${Math.max(...peaks).toFixed(0)} MB`;
  console.log(
    `${name.padEnd(44)} ${seconds.toFixed(2).padStart(7)} s ${used.padStart(8)} ${peak.padStart(8)}`,
  );
}

async function repeat(times: number, act: () => Promise<TimedRun>): Promise<TimedRun[]> {
  const runs: TimedRun[] = [];
  for (let i = 0; i < times; i++) runs.push(await act());
  return runs;
}

try {
  const { files, bytes, calls: written } = await writeClaudeLogs(home, calls, Date.now());
  console.log(`${written} calls in ${files} files, ${(bytes / 1e6).toFixed(0)} MB\n`);
  console.log(`${"".padEnd(44)}      time      CPU   memory`);
  const bundle = `${home}/bundle`;
  await bundleToInstall(bundle);
  const program = [
    "run",
    ...CLI_PERMISSIONS,
    CLI_MEMORY,
    "--quiet",
    "--config",
    `${bundle}/deno.json`,
    `${bundle}/cli.js`,
  ];
  const purser = (...args: string[]) => run(Deno.execPath(), [...program, ...args]);
  print("purser import, the first", [await purser("import")]);
  print("purser import, nothing new", await repeat(5, () => purser("import")));
  for (const group of ["day", "model", "project", "session"]) {
    print(
      `purser cost --by ${group}`,
      await repeat(5, () => purser("cost", "--by", group, "--since", "all")),
    );
  }
  const total = JSON.parse((await purser("cost", "--total", "--since", "all", "--json")).out);
  if (total.model_calls !== written) throw new Error(`${total.model_calls} calls are booked, not ${written}`);
  const ccusage = await installCcusage();
  if (ccusage === undefined) console.log(`ccusage ${CCUSAGE} skipped: npm can't be reached`);
  else {
    for (const report of ["daily", "session"]) {
      print(`ccusage ${CCUSAGE} ${report}`, await repeat(5, () => run(ccusage, [report, "--offline"])));
    }
  }
} finally {
  await Deno.remove(home, { recursive: true });
}
