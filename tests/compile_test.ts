import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { embedCli, hostTarget } from "../build/embed_cli.ts";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { ROOT, runDeno } from "../build/run_deno.ts";
import { VERSION } from "../src/kernel/version.ts";
import { testCliTable } from "./cli_table/run_table.ts";
import { newPlace, type Place } from "./harness/cli_process.ts";
import { inDirectory } from "./harness/in_directory.ts";

/**
 * The CLI as one binary. Where Deno's base binary is not available, the embedded files are checked and the bundle is
 * run by Deno itself; where it is, the binary is run.
 */

/** The size limit beside Deno's base: the bundle, and the database's driver for up to two C libraries. */
const MOST_BYTES = 26 * 1024 * 1024;
const MOST_BUNDLE_BYTES = 5.7 * 1024 * 1024;

const folder = await Deno.makeTempDir({ prefix: "purser_compile_" });
const made = await embedCli(hostTarget(), folder, { isOffline: true });
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

/** The program to start: the binary, or the bundle that would be embedded. */
function program(): [string, ...string[]] {
  if (made.binary) return [made.binary];
  return [
    Deno.execPath(),
    "run",
    ...CLI_PERMISSIONS,
    "--quiet",
    "--config",
    join(ROOT, "deno.json"),
    join(made.bundle.folder, "cli.js"),
  ];
}

function start(place: Place, args: string[]): Deno.ChildProcess {
  const [command, ...before] = program();
  return new Deno.Command(command, {
    args: [...before, ...args],
    cwd: place.folder,
    clearEnv: true,
    env: place.env,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function purser(place: Place, ...args: string[]) {
  const { code, stdout, stderr } = await start(place, args).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

async function readBundle(): Promise<Map<string, string>> {
  const read = async (name: string) =>
    [name, await Deno.readTextFile(join(made.bundle.folder, name))] as const;
  return new Map(await Promise.all(made.bundle.names.map(read)));
}

Deno.test("the embedded files are the bundle, and nothing else", () => {
  const packages = made.files.map(({ path }) => path.replace(/^.*_node_modules\/[^/]+\//, ""));
  assert.deepEqual(packages.filter((path) => !/bundle\//.test(path)), []);
});

Deno.test("the embedded files stay under their limits", async () => {
  assert.ok(made.totalBytes < MOST_BYTES, `${made.totalBytes}`);
  const sizes = await Promise.all(
    made.bundle.names.map(async (name) => (await Deno.stat(join(made.bundle.folder, name))).size),
  );
  const bundleBytes = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(bundleBytes < MOST_BUNDLE_BYTES, `${bundleBytes}`);
  // The list covers the whole bundle.
  const listed = made.files.filter(({ path }) => path.includes("bundle/")).reduce(
    (sum, { bytes }) => sum + bytes,
    0,
  );
  assert.ok(Math.abs(listed - bundleBytes) < 0.01 * bundleBytes, `${listed} of ${bundleBytes}`);
});

/** The bundle's modules as Deno sees them: the imports of each, dynamic ones too. */
async function readGraph() {
  const { said } = await runDeno(["info", "--json", join(made.bundle.folder, "cli.js")]);
  const { modules } = JSON.parse(said) as {
    modules: {
      specifier: string;
      error?: string;
      dependencies?: {
        specifier: string;
        isDynamic?: boolean;
        code?: { specifier?: string; error?: string };
      }[];
    }[];
  };
  return modules;
}

Deno.test("every import of the bundle is in it or Deno's own", async () => {
  const modules = await readGraph();
  const ours = modules.map(({ specifier }) => specifier).filter((each) => each.startsWith("file:"));
  assert.deepEqual(ours.map((each) => basename(each)).sort(), made.bundle.names);
  for (const { specifier, error, dependencies = [] } of modules) {
    assert.equal(error, undefined, specifier);
    for (const { specifier: wanted, code } of dependencies) {
      assert.equal(code?.error, undefined, `${specifier} imports ${wanted}`);
      assert.match(wanted, /^(\.\/[\w.-]+\.js|node:[\w/]+)$/, specifier);
    }
  }
});

Deno.test("the bundle contains no test code", async () => {
  for (const [name, text] of await readBundle()) {
    assert.ok(!/Deno\.test\b|fast-check|node:assert|standardwebhooks/.test(text), name);
  }
});

Deno.test("a start loads two files of the bundle and no shims for Node, and the list of commands is data", async () => {
  const modules = new Map((await readGraph()).map((module) => [basename(module.specifier), module]));
  const seen = new Set<string>();
  const visit = (name: string) => {
    if (seen.has(name)) return;
    seen.add(name);
    for (const { specifier, isDynamic } of modules.get(name)?.dependencies ?? []) {
      if (isDynamic) continue;
      assert.ok(specifier.startsWith("./"), `${name} imports ${specifier}`);
      visit(basename(specifier));
    }
  };
  visit("cli.js");
  assert.deepEqual([...seen], ["cli.js", "at_start.js"]);
  const list = made.bundle.names.find((name) => name.startsWith("listed_commands-"))!;
  assert.match((await readBundle()).get(list)!, /^export const LISTED_COMMANDS=\[\{"name":"run",/);
});

Deno.test("the program runs agents, migrates, serves its page and schemas, and loads plugins and tools beside it", async () => {
  await using place = await newPlace();
  for (const name of ["tools.ts", "pushover_channel.ts"]) {
    await Deno.copyFile(join(ROOT, "examples", name), join(place.folder, name));
  }
  const config = join(place.folder, "purser.json");
  await Deno.writeTextFile(
    config,
    JSON.stringify({
      tools: ["./tools.ts"],
      plugins: ["./pushover_channel.ts"],
      channels: [{ kind: "pushover", user: "a_secret_topic" }, {
        kind: "smtp",
        host: "127.0.0.1",
        to_addrs: "a@b.example",
        from_addr: "a@b.example",
      }],
    }),
  );
  place.env.PURSER_CONFIG = config;

  assert.deepEqual(await purser(place, "--version"), { code: 0, out: `purser ${VERSION}\n`, err: "" });
  const set = await purser(place, "agents", "set", "bot", "--model", "demo:echo", "--tool", "count_words");
  assert.deepEqual([set.code, set.err], [0, ""]);
  const run = await purser(place, "run", "bot", "Hello", "--session", "s");
  assert.deepEqual([run.code, run.out.split("\n")[0]], [0, "You said: Hello"]);
  assert.match((await purser(place, "cost")).out, /^SPENDING[^]*\nToday .* 1 /m);
  assert.match((await purser(place, "channels", "list")).out, /pushover +pushover[^]*smtp +smtp/);
  assert.equal((await purser(place, "state", "export", "bot", "--output", "s.json")).code, 0);
  assert.match((await purser(place, "state", "show", "s.json")).out, /^session_id +s$/m);

  const server = start(place, ["serve", "--port", "0"]);
  const reader = server.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  try {
    let url: string | undefined;
    while ((url = /answers at (http:\S+)/.exec(said)?.[1]) === undefined) {
      const { done, value } = await reader.read();
      assert.ok(!done, said);
      said += value;
    }
    assert.match(await (await fetch(`${url}/docs`)).text(), /<title>Purser API<\/title>/);
    assert.equal((await (await fetch(`${url}/schemas/snapshot/v1.json`)).json()).type, "object");
    assert.ok((await (await fetch(`${url}/openapi.json`)).json()).paths["/costs"]);
  } finally {
    server.kill("SIGTERM");
    while (!(await reader.read()).done);
    await server.stdout.cancel();
    assert.equal((await server.status).code, 0);
  }
});

Deno.test({
  // The bundle goes through the table in any case: see `cli_table_test.ts`.
  name: "the binary passes the command table, where Deno's base binary is available",
  ignore: made.binary === undefined,
  fn: () =>
    testCliTable([
      { program: [made.binary!], database: "file" },
      { server: [made.binary!], database: "file" },
    ]),
});

/** `deno task bundle`; the bundle is installed and run through the command table in `cli_table_test.ts`. */
async function bundle(...args: string[]) {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-RWE",
      "--allow-run",
      "--config",
      join(ROOT, "deno.json"),
      join(ROOT, "build", "bundle.ts"),
      ...args,
    ],
    env: { NO_COLOR: "1" },
  }).output();
  return { code, err: new TextDecoder().decode(stderr) };
}

Deno.test("a bundle overwrites no other files", () =>
  inDirectory(async (folder) => {
    for (const name of ["important.txt", "cli.js"]) await Deno.writeTextFile(join(folder, name), "kept");
    const { code, err } = await bundle("--output", folder);
    assert.equal(code, 2);
    assert.match(err, /^Cannot write to .*: it holds other files than a bundle; name an empty folder\n$/);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "cli.js",
      "important.txt",
    ]);
  }));
