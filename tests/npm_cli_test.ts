import assert from "node:assert/strict";
import { delimiter, dirname, join } from "node:path";
import { ROOT } from "../build/run_deno.ts";
import { ROWS } from "./cli_table/rows.ts";
import { testCliTable } from "./cli_table/run_table.ts";
import { newAgentPlace } from "./gate/agent_place.ts";
import { newPlace, type Place } from "./harness/cli_process.ts";
import { nodeMissing, nodeOfVersion, OLDER, OLDEST, said, skipNode, WITH_NPX } from "./harness/node.ts";
import { isThorough } from "./harness/thorough.ts";
import { createNpmProject, type NpmProject } from "./harness/npm_project.ts";

/** The command line on Node, as installed by `npm install`: it does the same as on Deno. */

let project: NpmProject;
let command: string;

function test(name: string, fn: () => Promise<void>): void {
  const why = nodeMissing === undefined ? "" : ` (${nodeMissing})`;
  Deno.test({ name: `npm command: ${name}${why}`, ignore: skipNode, fn });
}

Deno.test.beforeAll(async () => {
  if (skipNode) return;
  project = await createNpmProject();
  command = join(project.folder, "node_modules/.bin/purser");
});
Deno.test.afterAll(async () => {
  if (!skipNode && project) await Deno.remove(project.folder, { recursive: true });
});

/** A sandbox with that Node alone. */
async function newNodePlace(): Promise<Place> {
  const place = await newPlace();
  place.env.PATH = dirname(project.node) + delimiter + place.env.PATH;
  place.env.NODE_COMPILE_CACHE = join(project.folder, "compiled");
  return place;
}

function start(place: Place, args: string[], stdin: "piped" | "null" = "null"): Deno.ChildProcess {
  return new Deno.Command(command, {
    args,
    cwd: place.folder,
    clearEnv: true,
    env: place.env,
    stdin,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function purser(place: Place, args: string[], stdin?: string) {
  const child = start(place, args, stdin === undefined ? "null" : "piped");
  if (stdin !== undefined) await new Blob([stdin]).stream().pipeTo(child.stdin);
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

/** The rows up to the refused run, which define agents and run them: a process on Node sends and streams no differently after them. */
const FIRST_ROWS = ROWS.slice(0, ROWS.findIndex(({ line }) => line === "agents show helper"));

/** Those in a thorough run, which list their costs too; the others use no more of the platform. */
const MORE_ROWS = ROWS.slice(0, ROWS.findIndex(({ line }) => line.startsWith("state show")));

/** Those through a server, in a thorough run. */
const FIRST_REMOTE_ROWS = FIRST_ROWS.filter(({ isOffline }) => !isOffline);

test("the first rows of the command line's table are the same on Node and on Deno", async () => {
  const onNode = [project.node, join(project.folder, "node_modules/purser/cli/purser.js")];
  const env = { NODE_COMPILE_CACHE: join(project.folder, "compiled") };
  const rows = isThorough ? MORE_ROWS : FIRST_ROWS;
  await testCliTable([
    { program: onNode, database: "file", env, rows },
    ...(isThorough ? [{ server: onNode, database: "file", env, rows: FIRST_REMOTE_ROWS } as const] : []),
    { database: "file", rows },
  ]);
});

test("the program of the status line prints as the command does, and leaves other options to it", async () => {
  await using place = await newNodePlace();
  place.env.XDG_CACHE_HOME = place.folder;
  await purser(place, ["agents", "set", "helper", "--model", "demo:echo"]);
  await purser(place, ["run", "helper", "hello", "--session", "one"]);
  await purser(place, ["budgets", "add", "--name", "Day", "--limit", "2", "--per", "day"]);
  const input = JSON.stringify({ session_id: "one" });
  const line = /^\$0\.\d+ · \$0\.\d+ today · \$2\.00 left of Day\n$/;
  const { code, out, err } = await purser(place, ["statusline"], input);
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, line);
  // Of an option that is given twice, the last one counts: the command reads such a line.
  const twice = ["statusline", "--template", "{today}", "--template", "{session} · {today} today · {budget}"];
  assert.equal((await purser(place, twice, input)).out, out);
});

test("the program of the gate imports and answers without the command line, and leaves to it what it lacks, on the oldest Node too", async () => {
  await using place = await newAgentPlace("claude-code/10-hooks-statusline");
  await place.purser("budgets", "add", "--name", "Day", "--limit", "0.01", "--per", "lifetime");
  const folder = join(project.folder, "node_modules/purser/cli");
  const alone = join(place.folder, "alone");
  await Deno.mkdir(alone);
  await Deno.writeTextFile(join(alone, "package.json"), '{ "type": "module" }');
  for (const { name } of Deno.readDirSync(folder)) {
    if (!/^(purser|run_hook|gate|genai_prices-.*|litellm_prices-.*)\.js$/.test(name)) continue;
    await Deno.copyFile(join(folder, name), join(alone, name));
  }
  const session = "533e985d-597e-49f4-ab53-11c60e048775";
  const hook = async (program: string, node = project.node) => {
    const child = new Deno.Command(node, {
      args: [join(program, "purser.js"), "gate", "--agent", "claude-code"],
      clearEnv: true,
      env: { ...place.env, XDG_CACHE_HOME: place.folder },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const input = JSON.stringify({
      session_id: session,
      transcript_path: `${place.env.HOME}/.claude/projects/-home-dev-project/${session}.jsonl`,
      hook_event_name: "UserPromptSubmit",
    });
    await new Blob([input]).stream().pipeTo(child.stdin);
    const { code, stdout, stderr } = await child.output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    return { code, out, err };
  };
  // The channels of alerts aren't in it: the budget's warning is delivered by the command line. The oldest Node has a SQLite with
  // which one connection at a time may use the file: the program has closed its own when it leaves the rest to the command line.
  const oldest = await nodeOfVersion(OLDEST);
  assert.deepEqual((await hook(alone, oldest)).out, "");
  const { code, out, err } = await hook(folder, oldest);
  assert.match(err!, /"message":"Budget Day: /);
  const { reason } = JSON.parse(out!);
  assert.match(reason, /^Purser: the budget Day is reached: /);
  assert.deepEqual(await hook(alone), { code, out, err: "" });
  // The compiled code of the program is kept, and made anew where it is broken.
  const caches = join(place.folder, "purser/hooks");
  const [name, ...others] = [...Deno.readDirSync(caches)].map((entry) => entry.name);
  assert.deepEqual(others, []);
  const kept = await Deno.readFile(join(caches, name!));
  for (const broken of [kept.slice(0, kept.length / 2), new Uint8Array(9), new Uint8Array()]) {
    await Deno.writeFile(join(caches, name!), broken);
    assert.deepEqual(await hook(alone), { code, out, err: "" });
    assert.ok((await Deno.stat(join(caches, name!))).size > kept.length / 2);
  }
  const calls = JSON.parse(await place.purser("cost", "--total", "--since", "all", "--json")).model_calls;
  assert.ok(calls > 0);
});

test("the oldest supported Node can parse every file of it", async () => {
  const code = `
    import { readdirSync, readFileSync } from "node:fs";
    import { SourceTextModule } from "node:vm";
    const folder = ${JSON.stringify(join(project.folder, "node_modules/purser/cli/"))};
    for (const name of readdirSync(folder)) new SourceTextModule(readFileSync(folder + name, "utf8"));
    console.log(readdirSync(folder).length);`;
  await Deno.writeTextFile(join(project.folder, "read.mjs"), code);
  const oldest = await nodeOfVersion(OLDEST);
  const flags = ["--experimental-vm-modules", "--no-warnings"];
  const count = Number(await said(oldest, [...flags, "read.mjs"], project.folder));
  assert.equal(count, project.built.files.filter((file) => file.startsWith("cli/")).length);
});

for (const version of WITH_NPX) {
  test(`npx starts the package, installed from its tarball, on Node ${version}, and it books a run`, async () => {
    await using place = await newNodePlace();
    const node = dirname(await nodeOfVersion(version));
    const { code, stdout, stderr } = await new Deno.Command("npx", {
      args: ["--no-install", "purser", "demo"],
      cwd: project.folder,
      clearEnv: true,
      env: { ...place.env, PATH: node + delimiter + Deno.env.get("PATH") },
    }).output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assert.equal(code, 0, err);
    assert.match(out!, /\$0\.\d+/);
    await Deno.writeTextFile(join(project.folder, "version.mjs"), "console.log(process.versions.node)");
    assert.equal(await said(join(node, "node"), ["version.mjs"], project.folder), version);
  });
}

test("an older Node is refused in one sentence", async () => {
  const older = await nodeOfVersion(OLDER);
  const output = await new Deno.Command(older, {
    args: [join(project.folder, "node_modules/purser/cli/purser.js"), "demo"],
  }).output();
  assert.equal(output.code, 1);
  assert.equal(
    new TextDecoder().decode(output.stderr),
    `error: Cannot run purser on Node ${OLDER}: use Node 22.20 or 24.7 or newer\n`,
  );
});

test("tools and channels in TypeScript are loaded as the config file names them, without a warning", async () => {
  await using place = await newNodePlace();
  for (const name of ["tools.ts", "pushover_channel.ts"]) {
    await Deno.copyFile(join(ROOT, "examples", name), join(place.folder, name));
  }
  const config = {
    tools: ["./tools.ts"],
    plugins: ["./pushover_channel.ts"],
    channels: [{ kind: "pushover", user: "${MY_TOPIC}" }],
    profiles: { other: { db: "${MY_FOLDER}/other.db" } },
  };
  await Deno.writeTextFile(join(place.folder, "purser.json"), JSON.stringify(config));
  Object.assign(place.env, {
    PURSER_CONFIG: join(place.folder, "purser.json"),
    MY_TOPIC: "a_secret_topic",
    MY_FOLDER: place.folder,
  });
  const set = ["agents", "set", "bot", "--model", "demo:loop", "--tool", "count_words"];
  assert.deepEqual((await purser(place, set)).err, "");
  const run = await purser(place, ["run", "bot", "2 times", "--session", "s"]);
  assert.deepEqual([run.code, run.out], [0, "Called count_words 2 times.\n"]);
  assert.match(run.err, /^3 steps · .* · s\n$/);
  const channels = await purser(place, ["channels", "list"]);
  assert.match(channels.out, /^pushover +pushover +ok /m);
  assert.equal(channels.err, "");
  const other = ["agents", "set", "there", "--model", "demo:echo", "--profile", "other"];
  assert.equal((await purser(place, other)).code, 0);
  assert.ok((await Deno.stat(join(place.folder, "other.db"))).isFile);
});

test("a broken pipe ends a command quietly", async () => {
  await using place = await newNodePlace();
  const child = start(place, ["--help"]);
  await child.stdout.cancel();
  assert.equal((await child.status).code, 0);
  assert.equal(await new Response(child.stderr).text(), "");
});

test("a large text passes completely through a pipe with a slow reader", async () => {
  await using place = await newNodePlace();
  await purser(place, ["agents", "set", "echo", "--model", "demo:echo"]);
  const input = "0123456789".repeat(100_000);
  const child = start(place, ["run", "echo", "-"], "piped");
  const written = new Blob([input]).stream().pipeTo(child.stdin);
  let length = 0;
  for await (const chunk of child.stdout) {
    if (length === 0) await new Promise((resolve) => setTimeout(resolve, 300));
    length += chunk.length;
  }
  await written;
  assert.equal((await child.status).code, 0);
  assert.equal(length, "You said: \n".length + input.length);
  await child.stderr.cancel();
});

test("Ctrl-C ends a server gracefully, and a run with 130", async () => {
  await using place = await newNodePlace();
  const server = start(place, ["serve", "--port", "0"]);
  const reader = server.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  while (!/answers at (http:\S+)/.test(said)) {
    const { done, value } = await reader.read();
    assert.ok(!done, said);
    said += value;
  }
  const url = /answers at (http:\S+)/.exec(said)![1]!;
  assert.match(await (await fetch(`${url}/docs`)).text(), /<title>Purser API<\/title>/);
  server.kill("SIGINT");
  for (let part = await reader.read(); !part.done; part = await reader.read()) said += part.value;
  assert.equal((await server.status).code, 0);
  assert.match(said, /\nShutting down; Ctrl-C again exits at once\n$/);
  await server.stdout.cancel();

  const set = [
    "agents",
    "set",
    "looper",
    "--model",
    "demo:loop",
    "--tool",
    "calculator",
    "--max-steps",
    "1000",
  ];
  assert.equal((await purser(place, set)).code, 0);
  const run = start(place, ["run", "looper", "900 times", "--session", "first"]);
  let seen = "";
  for (let i = 0; i < 100 && !/\brunning\b/.test(seen); i++) {
    seen = (await purser(place, ["sessions", "list"])).out;
  }
  run.kill("SIGINT");
  const { code, stderr } = await run.output();
  assert.equal(code, 130, seen);
  assert.match(new TextDecoder().decode(stderr), /^Cancelling the run; .*\nwarning: The run was cancelled\n/);
});

test("a terminal's width and colours are detected", async () => {
  await using place = await newNodePlace();
  const line = `stty cols 40 rows 20; ${command} agents --help`;
  const child = new Deno.Command("script", {
    args: ["-qec", line, "/dev/null"],
    clearEnv: true,
    env: { ...place.env, TERM: "xterm" },
    stdin: "null",
  });
  const out = new TextDecoder().decode((await child.output()).stdout);
  assert.ok(out.includes("\n      Remove an agent; its sessions and\r\n      costs stay\r\n"), out);
  assert.ok(out.includes("\x1b[1m"), out);
});
