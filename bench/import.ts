/**
 * The import of Claude Code's logs beside ccusage, which reads all of them for every question: the first import, one with nothing
 * new, and questions afterwards, each as a whole process. `--thorough` generates 338 MB.
 */
import { bundleToInstall } from "../build/bundle_cli.ts";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { median } from "./measure.ts";
import { writeClaudeLogs } from "./claude_logs.ts";

const THOROUGH_CALLS = 52_000;
const DEFAULT_CALLS = 4_600;
const CCUSAGE = "20.0.20";

const calls = Deno.args.includes("--thorough") ? THOROUGH_CALLS : DEFAULT_CALLS;
const home = await Deno.makeTempDir({ prefix: "purser_bench_import_" });

interface Run {
  seconds: number;
  /** The most memory that it held; undefined where the system has no /usr/bin/time. */
  megabytes: number | undefined;
  /** The time of processors that it took, which other work on the machine changes little. */
  cpuSeconds: number | undefined;
  out: string;
}

/** Runs a program to its end, with `home` as the home folder. */
async function run(program: string, args: readonly string[]): Promise<Run> {
  const hasTime = await Deno.stat("/usr/bin/time").then(() => true, () => false);
  const timed = hasTime ? ["/usr/bin/time", "-f", "peak %M cpu %U %S", program, ...args] : [program, ...args];
  const start = performance.now();
  const { success, stdout, stderr } = await new Deno.Command(timed[0]!, {
    args: timed.slice(1),
    env: {
      HOME: home,
      XDG_DATA_HOME: home,
      XDG_CONFIG_HOME: `${home}/config`,
      DENO_DIR: cache,
      NO_COLOR: "1",
    },
  }).output();
  const seconds = (performance.now() - start) / 1_000;
  const [out, said] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)) as [string, string];
  if (!success) throw new Error(`${program} ${args.join(" ")} has failed:\n${said}`);
  const [, peak, user, system] = /^peak (\d+) cpu ([\d.]+) ([\d.]+)$/m.exec(said) ?? [];
  return {
    seconds,
    megabytes: peak === undefined ? undefined : Number(peak) / 1_000,
    cpuSeconds: peak === undefined ? undefined : Number(user) + Number(system),
    out,
  };
}

const cache = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;

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

function print(name: string, runs: readonly Run[]): void {
  const seconds = median(runs.map(({ seconds }) => seconds));
  const cpu = runs.flatMap(({ cpuSeconds }) => cpuSeconds ?? []);
  const used = cpu.length === 0 ? "" : `${median(cpu).toFixed(2)} s`;
  const peaks = runs.flatMap(({ megabytes }) => megabytes ?? []);
  const peak = peaks.length === 0 ? "" : `${Math.max(...peaks).toFixed(0)} MB`;
  console.log(
    `${name.padEnd(44)} ${seconds.toFixed(2).padStart(7)} s ${used.padStart(8)} ${peak.padStart(8)}`,
  );
}

async function repeat(times: number, act: () => Promise<Run>): Promise<Run[]> {
  const runs: Run[] = [];
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
