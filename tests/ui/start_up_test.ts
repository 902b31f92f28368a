import assert from "node:assert/strict";
import { join } from "node:path";
import { CLI_PERMISSIONS } from "../../build/permissions.ts";
import { ROOT } from "../../build/run_deno.ts";
import { newPlace } from "../harness/cli_process.ts";
import { inProcess as purser } from "../harness/in_process.ts";

/** Runs a command from source, and returns the modules of `src` that it has loaded. */
async function modulesOf(env: Record<string, string>, folder: string, args: string[]): Promise<string[]> {
  const profiles = join(folder, "profiles");
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--cached-only",
      `--coverage=${profiles}`,
      ...CLI_PERMISSIONS,
      join(ROOT, "cli.ts"),
      ...args,
    ],
    clearEnv: true,
    env,
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const texts = await Promise.all(
    [...Deno.readDirSync(profiles)].map(({ name }) => Deno.readTextFile(join(profiles, name))),
  );
  return texts.map((text) => JSON.parse(text).url as string).filter((url) => url.includes("/src/"))
    .map((url) => url.slice(url.indexOf("/src/") + 1));
}

Deno.test("purser cost loads nothing of the dashboard", async () => {
  await using place = await newPlace();
  const { code } = await purser(place, ["agents", "set", "reader", "--model", "demo:echo"]);
  assert.equal(code, 0);
  const modules = await modulesOf(place.env, place.folder, ["cost"]);
  assert.ok(modules.includes("src/http/routes/costs.ts"), "the profile has the modules of the command");
  assert.deepEqual(modules.filter((module) => module.startsWith("src/ui/")), []);
  assert.ok(!modules.includes("src/http/routes/ui.ts"));
});
