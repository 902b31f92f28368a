import { join } from "node:path";
import { buildNpmPackage, type NpmPackage } from "../../build/npm/build_npm_package.ts";
import { NODE_TYPES, TYPESCRIPT } from "../../build/npm/versions.ts";
import { ROOT } from "../../build/run_deno.ts";
import { findNode, said } from "./node.ts";
import { sharedBuild } from "./shared_build.ts";

/** A project with the npm package installed, as users install it. Its `node_modules` are not written to. */
export interface NpmProject {
  folder: string;
  /** The built package, in the project's folder `build`. */
  built: NpmPackage;
  packedBytes: number;
  /** Node's binary. */
  node: string;
}

/** The packages beside it: a TypeScript program on Node needs them. */
const OTHERS = [TYPESCRIPT, NODE_TYPES];

/** Creates a project with the npm package, which is built, packed and installed once for all test files. */
export async function createNpmProject(): Promise<NpmProject> {
  const shared = await sharedBuild("npm_project", installNpmPackage);
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "purser-npm-project-" }));
  for (const name of ["build", "node_modules"]) await Deno.symlink(join(shared, name), join(folder, name));
  await Deno.writeTextFile(join(folder, "package.json"), PACKAGE_JSON);
  const { node, ...built } = JSON.parse(await Deno.readTextFile(join(shared, "built.json")));
  // npm's cache, which may hold it, may have been emptied since.
  return { folder, ...built, node: await isThere(node) ? node : await findNode() };
}

const PACKAGE_JSON = '{ "private": true, "type": "module" }';

async function installNpmPackage(folder: string): Promise<void> {
  const built = await buildNpmPackage(join(folder, "build"));
  await said("npm", ["pack", "--silent", "--pack-destination", folder], join(folder, "build"));
  const tarball = `${built.name}-${built.version}.tgz`;
  const packedBytes = (await Deno.stat(join(folder, tarball))).size;
  // Over the packages of set-up, npm writes few files; it removes those that the package does not name.
  const fetched = await packagesFolder();
  if (await isThere(fetched)) await said("cp", ["-r", join(fetched, "node_modules"), folder]);
  await Deno.writeTextFile(join(folder, "package.json"), PACKAGE_JSON);
  await said("npm", ["install", "--offline", ...QUIETLY, `./${tarball}`, ...OTHERS], folder);
  await Deno.writeTextFile(
    join(folder, "built.json"),
    JSON.stringify({ built, packedBytes, node: await findNode() }),
  );
}

const QUIETLY = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

/** Fills npm's cache with the packages of such a project, and installs them in a folder of it. */
export async function fetchNpmPackages(): Promise<void> {
  const folder = await packagesFolder();
  if (await isThere(folder)) return;
  const unfinished = `${folder}_unfinished`;
  await Deno.remove(unfinished, { recursive: true }).catch(() => {});
  await Deno.mkdir(unfinished, { recursive: true });
  await Deno.writeTextFile(join(unfinished, "package.json"), '{ "private": true }');
  await said("npm", ["install", "--prefer-offline", ...QUIETLY, ...await listPackages()], unfinished);
  await Deno.rename(unfinished, folder);
}

/** Returns the folder in npm's cache that has them installed: clearing the cache clears it too. */
async function packagesFolder(): Promise<string> {
  const cache = await said("npm", ["config", "get", "cache"]);
  return join(cache, "_purser", `packages_${await digest((await listPackages()).join())}`);
}

async function listPackages(): Promise<string[]> {
  const { imports } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json"))) as {
    imports: Record<string, string>;
  };
  const packages = Object.values(imports).filter((target) => target.startsWith("npm:"));
  return [...packages.map((target) => target.slice("npm:".length)), ...OTHERS];
}

function isThere(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}

async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(bytes).toHex();
}
