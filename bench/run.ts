/**
 * Runs every benchmark, one after the other: `deno task bench`, or some of them by name. With `--against DIR`, benchmarks
 * that compare versions measure another checkout of Purser beside this one.
 */
import { PERMISSIONS, readVersions } from "./versions.ts";

/** The packages of tests too: some benchmarks drive a browser. */
const LOCK = new URL("../tests/deno.lock", import.meta.url).pathname;

/** By name; true if it compares versions. */
const all: Record<string, boolean> = {
  book_call: true,
  report_events: true,
  instances: true,
  alert_rules: true,
  budgets: false,
  gateway: true,
  summaries: true,
  disk_size: true,
  alert_delivery: false,
  snapshots: false,
  start_up: false,
  dashboard: false,
  hooks: true,
  import: false,
  otlp: false,
  reconcile: false,
  export: false,
};
/** Options that a benchmark takes itself: `import --thorough`. */
const OWN_OPTIONS = ["--thorough"];

function refuse(message: string): never {
  console.error(message);
  Deno.exit(2);
}

const names = [...Deno.args];
const index = names.indexOf("--against");
const against = index < 0 ? [] : names.splice(index, 2);
if (against.length > 0) {
  const file = against[1] === undefined ? undefined : `${readVersions(against)[0]!.root}/deno.json`;
  if (!file || !await Deno.stat(file).catch(() => {})) {
    refuse("--against needs the folder of another checkout");
  }
}
const own = names.filter((name) => OWN_OPTIONS.includes(name));
names.splice(0, names.length, ...names.filter((name) => !OWN_OPTIONS.includes(name)));
for (const name of names) {
  if (!(name in all)) refuse(`There is no benchmark ${name}; there are ${Object.keys(all).join(", ")}`);
  if (against.length > 0 && !all[name]) refuse(`${name} measures this checkout alone: leave out --against`);
}
const wanted = names.length > 0
  ? names
  : Object.keys(all).filter((name) => against.length === 0 || all[name]);
for (const name of wanted) {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      ...PERMISSIONS,
      "--quiet",
      `--lock=${LOCK}`,
      new URL(`./${name}.ts`, import.meta.url).pathname,
      ...against,
      ...own,
    ],
  }).spawn().status;
  if (!success) Deno.exit(1);
}
