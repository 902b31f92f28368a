import { join } from "node:path";
import { buildNpmPackage, type NpmPackage } from "../../build/npm/build_npm_package.ts";
import { findNode, said } from "./node.ts";

/** An empty project with the npm package installed, as users install it. */
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
  const quick = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await said("npm", ["install", ...quick, `./${tarball}`, ...others], folder);
  return { folder, built, packedBytes, node };
}
