import { join } from "node:path";
import { bundleToInstall } from "../../build/bundle_cli.ts";
import { CLI_PERMISSIONS } from "../../build/permissions.ts";
import { runDeno } from "../../build/run_deno.ts";
import { sharedBuild } from "./shared_build.ts";

/** Installs the bundle below a folder, as `docs/installing.md` says; returns the path of the command. */
export async function installCli(folder: string): Promise<string> {
  const bundle = await sharedBuild("bundle", bundleToInstall);
  await runDeno([
    ...["install", "--global", ...CLI_PERMISSIONS, "--name", "purser", "--root", folder],
    ...["--config", join(bundle, "deno.json"), join(bundle, "cli.js")],
  ]);
  return join(folder, "bin", "purser");
}
