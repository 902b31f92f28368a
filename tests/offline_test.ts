import assert from "node:assert/strict";
import { delimiter, dirname, join } from "node:path";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { ROOT } from "../build/run_deno.ts";
import { newPlace } from "./harness/cli_process.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { installCli } from "./harness/installed_cli.ts";
import { skipNode } from "./harness/node.ts";
import { createNpmProject } from "./harness/npm_project.ts";
import { withoutNetwork } from "./harness/without_network.ts";

/**
 * After `deno task setup`, or an installation, nothing is fetched: each form of the command line runs with an environment of
 * its own, that names no certificates, where no name resolves. What keeps it from the network, and what that shows, is said
 * at `withoutNetwork()`. `.ci/run` runs all tests in such a namespace where it may make one.
 */

const offline = await withoutNetwork();

async function run(command: readonly string[], env: Record<string, string>, cwd: string) {
  const [program, ...args] = [...offline.command, ...command];
  const { code, stdout, stderr } = await new Deno.Command(program!, {
    args,
    cwd,
    clearEnv: true,
    env: { ...env, ...offline.env, NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

/** Tries the demo, which runs agents with a tool and reads the books, a command that writes, and the doctor. */
async function tryCommands(program: readonly string[], node?: string): Promise<void> {
  await using place = await newPlace();
  if (node) place.env.PATH = dirname(node) + delimiter + place.env.PATH;
  const purser = (...args: string[]) => run([...program, ...args], place.env, place.folder);
  const demo = await purser("demo");
  assert.deepEqual([demo.code, demo.err], [0, ""], demo.err);
  assert.match(demo.out, /calculator says 391[^]*^helper .* \$0\.0001074 /m);
  const set = await purser("agents", "set", "helper", "--model", "demo:echo", "--tool", "calculator");
  assert.equal(set.code, 0, set.err);
  const doctor = await purser("doctor");
  assert.equal(doctor.code, 0, doctor.out + doctor.err);
}

Deno.test(`no name resolves (${offline.kind})`, () =>
  inDirectory(async (folder) => {
    const { PATH = "", HOME = "" } = Deno.env.toObject();
    const program = 'await fetch("https://registry.npmjs.org/").then(() => Deno.exit(9), () => Deno.exit(7))';
    const { code, err } = await run([Deno.execPath(), "eval", program], { PATH, HOME }, folder);
    assert.equal(code, 7, err);
  }));

Deno.test("the command line runs from its source without a network", () =>
  tryCommands([Deno.execPath(), "run", ...CLI_PERMISSIONS, "--quiet", join(ROOT, "cli.ts")]));

Deno.test("the installed bundle runs without a network", () =>
  inDirectory(async (folder) => await tryCommands([await installCli(folder)])));

Deno.test({
  name: "the npm package runs without a network",
  ignore: skipNode,
  async fn() {
    const { folder, node } = await createNpmProject();
    try {
      await tryCommands([join(folder, "node_modules/.bin/purser")], node);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
