import { join } from "node:path";
import { NPM } from "./npm/versions.ts";
import { ROOT, runDeno } from "./run_deno.ts";

/** A package as a lock of Deno has it. */
interface Locked {
  integrity: string;
  dependencies?: string[];
  optionalDependencies?: string[];
  os?: string[];
  cpu?: string[];
}

/** A package that Purser ships. */
export interface ShippedPackage {
  name: string;
  version: string;
  integrity: string;
  /** Its SPDX expression; undefined for a native build for another platform, which nothing downloads here. */
  license?: string;
  dependencies: readonly string[];
  isNative: boolean;
}

/** Libraries that are in the dashboard's bundle alone, and so in the lock of the tests. */
const IN_DASHBOARD = ["preact"];

/** Reads the packages that Purser ships, from the locks and Deno's cache. Throws if two versions of one are locked. */
export async function readShippedPackages(): Promise<ShippedPackage[]> {
  const [product, tests] = await Promise.all(["deno.lock", "tests/deno.lock"].map(readLock));
  const shipped = Object.entries(product!);
  for (const [id, locked] of Object.entries(tests!)) {
    if (IN_DASHBOARD.includes(nameOf(id))) shipped.push([id, locked]);
  }
  const { npmCache } = JSON.parse((await runDeno(["info", "--json"])).said) as { npmCache: string };
  const packages = await Promise.all(shipped.map(async ([id, locked]) => {
    const name = nameOf(id);
    const version = id.slice(name.length + 1).split("_")[0]!;
    const manifest = join(npmCache, "registry.npmjs.org", name, version, "package.json");
    const { license } = JSON.parse(await Deno.readTextFile(manifest).catch(() => "{}")) as {
      license?: string;
    };
    const dependencies = [...locked.dependencies ?? [], ...locked.optionalDependencies ?? []].map(nameOf);
    return {
      name,
      version,
      integrity: locked.integrity,
      license,
      dependencies,
      isNative: locked.cpu !== undefined,
    };
  }));
  const names = packages.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`Cannot write a lock for npm: ${twice} is locked in two versions`);
  return packages;
}

async function readLock(path: string): Promise<Record<string, Locked>> {
  return JSON.parse(await Deno.readTextFile(join(ROOT, path))).npm;
}

/** Returns the name of `@scope/name@1.2.3_peer@4.5.6`. */
function nameOf(id: string): string {
  return /^@?[^@]+/.exec(id)![0];
}

/** Writes `package.json` and `package-lock.json` of what Purser ships into a folder, for npm. */
export async function writeNpmLock(folder: string): Promise<void> {
  const { name, version, license } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const packages = await readShippedPackages();
  const inner = new Set(packages.flatMap(({ dependencies }) => dependencies));
  const versions = new Map(packages.map((each) => [each.name, each.version]));
  const exact = (names: readonly string[]) =>
    Object.fromEntries(names.map((each) => [each, versions.get(each)!]));
  const root = {
    name,
    version,
    license,
    dependencies: exact(packages.map((each) => each.name).filter((each) => !inner.has(each))),
  };
  const lock = {
    name,
    version,
    lockfileVersion: 3,
    packages: {
      "": root,
      ...Object.fromEntries(packages.map((each) => [`node_modules/${each.name}`, {
        version: each.version,
        resolved: `https://registry.npmjs.org/${each.name}/-/${
          each.name.split("/").at(-1)
        }-${each.version}.tgz`,
        integrity: each.integrity,
        license: each.license,
        dependencies: exact(each.dependencies),
        optional: each.isNative || undefined,
      }])),
    },
  };
  await Deno.writeTextFile(join(folder, "package.json"), JSON.stringify(root, null, 2));
  await Deno.writeTextFile(join(folder, "package-lock.json"), JSON.stringify(lock, null, 2));
}

/** Runs a command of npm over such a folder, and returns what it said. `env` is added to this process's environment. */
export async function runNpm(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ success: boolean; out: string; err: string }> {
  const folder = await Deno.makeTempDir({ prefix: "purser-npm-lock-" });
  try {
    await writeNpmLock(folder);
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-RWENS", "--allow-run", "--quiet", "--no-lock", "--no-config", `npm:${NPM}`, ...args],
      cwd: folder,
      env: { NO_COLOR: "1", ...env },
      stdin: "null",
    }).output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    return { success, out: out!, err: err! };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** An advisory on a package. */
export interface Advisory {
  name: string;
  severity: string;
  title: string;
  url: string;
}

/** Returns the advisories on what Purser ships, as npm's registry has them; or the reason why it couldn't be asked. */
export async function auditPackages(
  env: Record<string, string> = {},
): Promise<{ skipped?: string; advisories: Advisory[] }> {
  const { out, err } = await runNpm(["audit", "--package-lock-only", "--json", "--fetch-retries=0"], env);
  const answer = JSON.parse(out || "{}") as {
    message?: string;
    vulnerabilities?: Record<string, { name: string; via: (Partial<Advisory> | string)[] }>;
  };
  if (answer.vulnerabilities === undefined) {
    const [reason] = (answer.message ?? err).trim().split("\n").slice(-1);
    return { skipped: `npm's registry gave no advisories: ${reason}`, advisories: [] };
  }
  const advisories = Object.values(answer.vulnerabilities).flatMap(({ name, via }) =>
    via.flatMap((each) =>
      typeof each === "string"
        ? []
        : { name, severity: each.severity ?? "unknown", title: each.title ?? "", url: each.url ?? "" }
    )
  );
  return { advisories };
}
