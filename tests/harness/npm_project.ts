import { dirname, join } from "node:path";
import { buildNpmPackage, type NpmPackage } from "../../build/npm/build_npm_package.ts";
import { ROOT } from "../../build/run_deno.ts";
import { findNode, said } from "./node.ts";

/** An empty project into which the npm package was installed, as people install it. */
export interface NpmProject {
  folder: string;
  /** The built package, in the project's folder `build`. */
  built: NpmPackage;
  packedBytes: number;
  /** Node's binary. */
  node: string;
}

/** Builds the npm package, packs it, and installs the archive and other packages into a new folder. */
export async function installNpmPackage(...others: string[]): Promise<NpmProject> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "purser-npm-project-" }));
  const [built, node] = await Promise.all([buildNpmPackage(join(folder, "build")), findNode()]);
  await said("npm", ["pack", "--silent", "--pack-destination", folder], join(folder, "build"));
  const tarball = `${built.name}-${built.version}.tgz`;
  const packedBytes = (await Deno.stat(join(folder, tarball))).size;
  await Deno.writeTextFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  await said("npm", ["install", "--offline", ...QUIETLY, `./${tarball}`, ...others], folder);
  return { folder, built, packedBytes, node };
}

const QUIETLY = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

/** Fills npm's cache with all that `installNpmPackage` installs: what the product imports, and other packages. */
export async function fetchNpmPackages(...others: string[]): Promise<void> {
  const { imports } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json"))) as {
    imports: Record<string, string>;
  };
  const packages = Object.values(imports).filter((target) => target.startsWith("npm:"));
  const names = [...packages.map((target) => target.slice("npm:".length)), ...others];
  // Whoever clears npm's cache clears the marker too.
  const marker = join(await said("npm", ["config", "get", "cache"]), "_purser", await digest(names.join()));
  if (await Deno.stat(marker).then(() => true, () => false)) return;
  const folder = await Deno.makeTempDir({ prefix: "purser-npm-setup-" });
  await Deno.writeTextFile(join(folder, "package.json"), '{ "private": true }');
  await said("npm", ["install", "--prefer-offline", ...QUIETLY, ...names], folder);
  await Deno.remove(folder, { recursive: true });
  await Deno.mkdir(dirname(marker), { recursive: true });
  await Deno.writeTextFile(marker, "");
}

async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(bytes).toHex();
}
