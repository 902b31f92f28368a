import { delimiter, join } from "node:path";
import { fetchNpmBinary, findNpmBinary, type NpmBinary } from "./npm_binary.ts";
import { isThorough } from "./thorough.ts";
import { OLDEST_NODE } from "../../src/store/sqlite/sqlite_driver.ts";

/** A Node to run the npm package with: the one on the PATH if it is recent enough, otherwise this one from npm. */
const FROM_NPM = "22.23.0";

/** The oldest Node that the npm package supports, and an older one. */
export const OLDEST = "22.20.0";
export const OLDER = "22.16.0";

/** The reason why tests of the npm package can't run on this machine, or undefined if they can. */
export const nodeMissing: string | undefined = await hasProgram("npm") && await hasProgram("npx")
  ? undefined
  : "npm and npx are not on the PATH";

/** The versions on which a thorough run also starts the package by `npx`. */
export const WITH_NPX = isThorough ? [FROM_NPM, "24.15.0"] : [];

/** True if they are skipped; in the full gate they run, and fail. */
export const skipNode: boolean = nodeMissing !== undefined && Deno.env.get("PURSER_REQUIRE_ALL") !== "1";

/** Finds Node's binary. */
export async function findNode(): Promise<string> {
  return await findYoungNode() ?? await nodeOfVersion(FROM_NPM);
}

/** Returns the path of a Node of that version, which `deno task setup` has fetched. */
export async function nodeOfVersion(version: string): Promise<string> {
  return await findNpmBinary(binaryOf(version));
}

/** Fetches each Node that the tests run. Without npm, whose package of it takes five times the processor time to install. */
export async function fetchNodes(): Promise<void> {
  const versions = new Set([OLDEST, OLDER, ...(await findYoungNode() ? [] : [FROM_NPM]), ...WITH_NPX]);
  await Promise.all([...versions].map((version) => fetchNpmBinary(binaryOf(version))));
}

/** The names of processors in npm's packages of Node. */
const ARCHITECTURES: Record<string, string> = { x86_64: "x64", aarch64: "arm64" };

function binaryOf(version: string): NpmBinary {
  const { os, arch } = Deno.build;
  return { name: `node-${os}-${ARCHITECTURES[arch] ?? arch}`, version, file: "bin/node" };
}

/** Returns the Node on the PATH if it is recent enough for the npm package. */
async function findYoungNode(): Promise<string | undefined> {
  const here = ["-p", "process.versions.node + ' ' + process.execPath"];
  const found = await said("node", here).catch(() => "");
  const [version, path] = found.split(" ");
  const [major = 0, minor = 0] = version!.split(".").map(Number);
  const oldest = OLDEST_NODE.find(([each]) => each === major)?.[1];
  const isYounger = major > OLDEST_NODE.at(-1)![0];
  return path && (isYounger || (oldest !== undefined && minor >= oldest)) ? path : undefined;
}

/** Runs a program to its end and returns its standard output; throws with its whole output if it failed. */
export async function said(program: string, args: string[], cwd?: string): Promise<string> {
  const output = await new Deno.Command(program, { args, cwd, stdin: "null", env: { NO_COLOR: "1" } })
    .output();
  const [stdout, stderr] = [output.stdout, output.stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!output.success) throw new Error(`${program} ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout!.trim();
}

/** Looks for a program on the PATH, without starting it: npm takes long to say its version. */
async function hasProgram(program: string): Promise<boolean> {
  const folders = (Deno.env.get("PATH") ?? "").split(delimiter);
  const found = folders.map((folder) =>
    Deno.stat(join(folder, program)).then(({ isFile }) => isFile, () => false)
  );
  return (await Promise.all(found)).includes(true);
}
