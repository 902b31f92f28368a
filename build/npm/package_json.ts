/** What `deno.json` says of the package. */
export interface DenoConfig {
  name: string;
  version: string;
  license: string;
  exports: Record<string, string>;
  imports: Record<string, string>;
}

/** The oldest Node on which all of it runs: its SQLite returns rows as arrays, with the names of their columns. */
const NODE = ">=22.16";

/**
 * The package's `package.json`. Names, versions and exports are those of `deno.json`; a dependency may be newer than there as
 * far as its author promises that nothing breaks. Throws for a package that `deno.json` does not name.
 */
export function makePackageJson(config: DenoConfig, packages: Iterable<string>) {
  const { name, version, license, imports } = config;
  const exports = Object.entries(config.exports).map(([key, path]) => {
    const file = path.replace(/\.ts$/, "");
    return [key, { types: `${file}.d.ts`, default: `${file}.js` }] as const;
  });
  return {
    name,
    version,
    description: "Runs LLM agents, books every model call in an exact ledger, and stops a run at its budget",
    // Whoever publishes it takes this out, after having looked who owns the name.
    private: true,
    license,
    type: "module",
    engines: { node: NODE },
    exports: { ...Object.fromEntries(exports), "./package.json": "./package.json" },
    sideEffects: false,
    dependencies: Object.fromEntries([...packages].sort().map((one) => [one, rangeOf(one, imports)])),
  };
}

function rangeOf(name: string, imports: Record<string, string>): string {
  const target = imports[name];
  const version = target?.startsWith(`npm:${name}@`) ? target.slice(`npm:${name}@`.length) : undefined;
  if (version === undefined || !/^\d+(\.\d+){0,2}$/.test(version)) {
    throw new Error(
      `Cannot tell the version of ${name}: deno.json does not import it as npm:${name}@VERSION`,
    );
  }
  return `^${version}`;
}
