import { OLDEST_NODE } from "../../src/store/sqlite/sqlite_driver.ts";

/** A Node to run the npm package with: the one on the PATH if it is recent enough, otherwise this one from npm. */
const FROM_NPM = "22.23.0";

/** The reason why tests of the npm package can't run on this machine, or undefined if they can. */
export const nodeMissing: string | undefined = await hasProgram("npm") && await hasProgram("npx")
  ? undefined
  : "npm and npx are not on the PATH";

/** True if they are skipped; in the full gate they run, and fail. */
export const skipNode: boolean = nodeMissing !== undefined && Deno.env.get("PURSER_REQUIRE_ALL") !== "1";

/** Finds Node's binary. */
export async function findNode(): Promise<string> {
  const here = ["-p", "process.versions.node + ' ' + process.execPath"];
  const found = await said("node", here).catch(() => "");
  const [version, path] = found.split(" ");
  const [major = 0, minor = 0] = version!.split(".").map(Number);
  const oldest = OLDEST_NODE.find(([each]) => each === major)?.[1];
  const isYounger = major > OLDEST_NODE.at(-1)![0];
  if (path && (isYounger || (oldest !== undefined && minor >= oldest))) return path;
  return await said("npx", ["--yes", `node@${FROM_NPM}`, "-p", "process.execPath"]);
}

/** Runs a program to its end and returns its standard output; throws with its whole output if it failed. */
export async function said(program: string, args: string[], cwd?: string): Promise<string> {
  const output = await new Deno.Command(program, { args, cwd, stdin: "null", env: { NO_COLOR: "1" } })
    .output();
  const [stdout, stderr] = [output.stdout, output.stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!output.success) throw new Error(`${program} ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout!.trim();
}

async function hasProgram(program: string): Promise<boolean> {
  return await new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" }).output()
    .then(({ success }) => success, () => false);
}
