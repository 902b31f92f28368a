import { dirname, join } from "node:path";
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
  const isThere = await Deno.stat(node).then(() => true, () => false);
  return { folder, ...built, node: isThere ? node : await findNode() };
}

const PACKAGE_JSON = '{ "private": true, "type": "module" }';

async function installNpmPackage(folder: string): Promise<void> {
  const built = await buildNpmPackage(join(folder, "build"));
  await said("npm", ["pack", "--silent", "--pack-destination", folder], join(folder, "build"));
  const tarball = `${built.name}-${built.version}.tgz`;
  const packedBytes = (await Deno.stat(join(folder, tarball))).size;
  await Deno.writeTextFile(join(folder, "package.json"), PACKAGE_JSON);
  await said("npm", ["install", "--offline", ...QUIETLY, `./${tarball}`, ...OTHERS], folder);
  await Deno.writeTextFile(
    join(folder, "built.json"),
    JSON.stringify({ built, packedBytes, node: await findNode() }),
  );
}

const QUIETLY = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

/** Fills npm's cache with the packages of such a project. */
export async function fetchNpmPackages(): Promise<void> {
  const { imports } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json"))) as {
    imports: Record<string, string>;
  };
  const packages = Object.values(imports).filter((target) => target.startsWith("npm:"));
  const names = [...packages.map((target) => target.slice("npm:".length)), ...OTHERS];
  // Clearing npm's cache clears the marker too.
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
