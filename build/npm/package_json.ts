import { OLDEST_NODE } from "../../src/store/sqlite/sqlite_driver.ts";

/** The part of `deno.json` that describes the package. */
export interface DenoConfig {
  name: string;
  version: string;
  license: string;
  exports: Record<string, string>;
  imports: Record<string, string>;
}

/** The versions of Node on which all of it runs: `>=22.20 <23 || >=24.7`. */
const NODE = OLDEST_NODE
  .map(([major, minor], i) => `>=${major}.${minor}${i < OLDEST_NODE.length - 1 ? ` <${major + 1}` : ""}`)
  .join(" || ");

/**
 * Returns the package's `package.json`. Names, versions and exports are those of `deno.json`, and so are the exact versions
 * of its dependencies: the command line is bundled from them. Without a
 * `repository` it can't be published. Throws for a package that `deno.json` does not name.
 */
export function makePackageJson(
  config: DenoConfig,
  packages: Iterable<string>,
  bin: string,
  repository?: string,
) {
  const { name, version, license, imports } = config;
  const exports = Object.entries(config.exports).map(([key, path]) => {
    const file = path.replace(/\.ts$/, "");
    return [key, { types: `${file}.d.ts`, default: `${file}.js` }] as const;
  });
  return {
    name,
    version,
    description: "Runs LLM agents, books every model call in an exact ledger, and stops a run at its budget",
    // npm compares the repository with the one whose workflow publishes, and signs that.
    ...repository === undefined ? { private: true } : {
      repository: { type: "git", url: repository },
      publishConfig: { access: "public", provenance: true },
    },
    license,
    type: "module",
    engines: { node: NODE },
    bin: { [name]: bin },
    exports: { ...Object.fromEntries(exports), "./package.json": "./package.json" },
    sideEffects: false,
    dependencies: Object.fromEntries([...packages].sort().map((one) => [one, versionOf(one, imports)])),
  };
}

function versionOf(name: string, imports: Record<string, string>): string {
  const target = imports[name];
  const version = target?.startsWith(`npm:${name}@`) ? target.slice(`npm:${name}@`.length) : undefined;
  if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
    throw new Error(
      `Cannot determine the version of ${name}: deno.json does not import it as npm:${name}@X.Y.Z`,
    );
  }
  return version;
}
