import { join } from "node:path";
import { installArguments } from "../../build/bundle_cli.ts";
import { CLI_PERMISSIONS } from "../../build/permissions.ts";
import { runDeno } from "../../build/run_deno.ts";
import { findContainerBuild } from "./container_build.ts";

/** Returns the folder of the installable bundle, which all test files share: the one of the container. */
async function findBundle(): Promise<string> {
  return join(await findContainerBuild(), "opt/purser");
}

/** Returns the command line that starts the bundle, with its permissions: it starts in half the time of its source. */
export async function findCli(): Promise<[program: string, ...args: string[]]> {
  const bundle = await findBundle();
  const config = ["--config", join(bundle, "deno.json")];
  return [
    Deno.execPath(),
    ...["run", ...CLI_PERMISSIONS, "--no-prompt", "--quiet", ...config, join(bundle, "cli.js")],
  ];
}

/** Installs the bundle below a folder, as `docs/installing.md` says; returns the path of the command. */
export async function installCli(folder: string): Promise<string> {
  const bundle = await findBundle();
  const [install, ...rest] = installArguments(bundle);
  await runDeno([install!, "--root", folder, ...rest]);
  return join(folder, "bin", "purser");
}
