import assert from "node:assert/strict";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { ROOT } from "../build/run_deno.ts";
import { newPlace, type Place, purser, start } from "./harness/cli_process.ts";

/**
 * The documented permissions suffice for the command line: the tests that start it grant no more, and these here run the
 * commands that need most.
 */

/** The permissions behind short flags. */
const SHORT: Readonly<Record<string, string>> = { R: "read", W: "write", E: "env", N: "net", S: "sys" };

/** The permissions of a command line of Deno, spelled out. */
function permissionsOf(line: string): string[] {
  return line.split(/\s+/).flatMap((word) => {
    if (/^-[RWENS]+$/.test(word)) return [...word.slice(1)].map((letter) => `--allow-${SHORT[letter]}`);
    return /^(--allow-|-A$)/.test(word) ? [word] : [];
  });
}

Deno.test("every way to start the command line grants these permissions, and none grants all", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`)) as {
    tasks: Record<string, string>;
  };
  const lines = Object.values(tasks).filter((line) =>
    /\bcli\.ts\b/.test(line) && line.startsWith("deno run")
  );
  const documents = ["README.md", "docs/installing.md", "docs/edge.md", "examples/edge_deno/README.md"];
  for (const path of documents) {
    const text = (await Deno.readTextFile(ROOT + path)).replaceAll(/\\\n\s*/g, " ");
    lines.push(
      ...[...text.matchAll(/deno (?:run|install|serve) -[^`\n]*(?:cli|main)\.[jt]s/g)].map(([line]) => line),
    );
  }
  assert.ok(lines.length >= 7, lines.join("\n"));
  for (const line of lines) assert.deepEqual(permissionsOf(line), CLI_PERMISSIONS, line);
  for (const [name, line] of Object.entries(tasks)) {
    if (READING_PROC.has(name)) continue;
    assert.doesNotMatch(line, / -A\b|--allow-all|--allow-ffi/);
  }
});

/** Tasks that measure or inspect other processes in `/proc`, which Deno allows with every permission only. */
const READING_PROC = new Set(["faults", "failover", "soak", "slow_clients", "gateway_streams"]);

/** Files that grant everything, each with its reason beside it. */
const GRANT_ALL = new Set([
  "bench/slow_clients.ts", // its process that holds the connections
  "bench/versions.ts",
  "deno.json", // the tasks that read other processes in /proc
  "tests/faults/faults_test.ts",
  "tests/faults/full_disk_test.ts",
  "tests/faults/snapshot_memory_test.ts",
]);

Deno.test("no file grants all permissions, and none of the command line can start a process or load native code", async () => {
  const granting: string[] = [];
  const read = async (folder: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(ROOT + folder)) {
      const path = folder + name;
      if (isDirectory && !/^(\..*|node_modules|npm|dist|dashboard)$/.test(name)) await read(`${path}/`);
      else if (
        /\.([jt]sx?|jsonc?|md|sh|ya?ml|toml)$|^run$/.test(name) && path !== "tests/permissions_test.ts"
      ) {
        const text = await Deno.readTextFile(ROOT + path);
        if (/(?:^|[\s"'`])-A(?=[\s"'`]|$)|--allow-all(?!`)/m.test(text)) granting.push(path);
      }
    }
  };
  await read("");
  assert.deepEqual(granting.sort(), [...GRANT_ALL]);
  assert.doesNotMatch(CLI_PERMISSIONS.join(" "), /run|ffi|all\b|import/);
});

Deno.test("the table of permissions in docs/security.md has each of them, and no other", async () => {
  const text = await Deno.readTextFile(`${ROOT}docs/security.md`);
  const rows = [...text.matchAll(/^\| `(--allow-[\w=,]+)` +\|/gm)].map(([, permission]) => permission);
  assert.deepEqual(rows, CLI_PERMISSIONS);
});

Deno.test("the tasks that have all permissions are those that docs/security.md names", async () => {
  const text = (await Deno.readTextFile(`${ROOT}docs/security.md`)).replaceAll(/\s+/g, " ");
  const [, named = ""] = /`--allow-run` besides\. Five of them, (.*?), have all permissions/.exec(text) ?? [];
  assert.deepEqual([...named.matchAll(/`(\w+)`/g)].map(([, name]) => name), [...READING_PROC]);
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`)) as {
    tasks: Record<string, string>;
  };
  const granting = Object.entries(tasks).filter(([, line]) => / -A\b|--allow-all/.test(line));
  assert.deepEqual(granting.map(([name]) => name), [...READING_PROC]);
});

Deno.test("the table of permissions in docs/installing.md has each of them, and no other", async () => {
  const text = await Deno.readTextFile(`${ROOT}docs/installing.md`);
  const rows = [...text.matchAll(/^\| `(--allow-[\w=,]+)` /gm)].map(([, permission]) => permission);
  assert.deepEqual(rows, CLI_PERMISSIONS);
});

/** Commands in the order of a story, each with its output. */
const COMMANDS: readonly (readonly [line: string, out: RegExp])[] = [
  ["agents set helper --model demo:echo --tool calculator --budget 0.01", /^Created agent helper/],
  ["run helper 2*21 --session first", /42/],
  ["cost", /^SPENDING/],
  ["state export helper --output session.json", /^Exported session first/],
  ["state import session.json", /^Restored session first/],
  ["alerts add --name A --threshold-usd 1 --threshold-type per_day_usd --severity info", /^Added rule/],
  ["channels test log", /^log +log +delivered/m],
  ["doctor", /^ok +database /m],
];

Deno.test("commands work under these permissions, and print no warning about a missing one", async () => {
  await using place = await newPlace();
  for (const [line, out] of COMMANDS) {
    const words = line.replace("session.json", `${place.folder}/session.json`).split(" ");
    const done = await purser(place, words);
    assert.equal(done.code, 0, `${line}: ${done.err}`);
    assert.match(done.out, out);
    assert.doesNotMatch(done.err, /Requires|NotCapable|permission/i);
  }
  const { rule_id } = JSON.parse((await purser(place, ["alerts", "list", "--json"])).out)[0];
  const tried = await purser(place, ["alerts", "test", rule_id]);
  assert.deepEqual([tried.code, tried.out.includes("delivered")], [0, true], tried.err);
  await serveOnce(place);
});

Deno.test("a webhook by TLS is refused for its certificate, not for a permission", async () => {
  const read = (name: string) => Deno.readTextFile(new URL(`fixtures/tls/${name}`, import.meta.url));
  const [cert, key] = await Promise.all([read("server.pem"), read("server.key")]);
  const options = { hostname: "127.0.0.1", port: 0, cert, key, onListen() {} };
  await using server = Deno.serve(options, () => new Response());
  await using place = await newPlace();
  const hook = { kind: "webhook", name: "hook", url: `https://127.0.0.1:${server.addr.port}/` };
  await Deno.mkdir(`${place.folder}/purser`);
  await Deno.writeTextFile(
    `${place.folder}/purser/purser.json`,
    JSON.stringify({ channels: [hook], allow_private_networks: ["127.0.0.0/8"] }),
  );
  const { code, out, err } = await purser(place, ["channels", "test", "hook"]);
  assert.equal(code, 1, err);
  assert.match(out, /TLS failed: .*certificate/i);
});

async function serveOnce(place: Place): Promise<void> {
  const server = start(place, ["serve", "--port", "0"]);
  const reader = server.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  const read = async () => {
    const { done, value = "" } = await reader.read();
    said += value;
    return !done;
  };
  while (!/answers at http:\S+/.test(said) && await read());
  const answer = await fetch(`${/http:[\w.:/]+/.exec(said)![0]}/costs`);
  assert.equal((await answer.json()).length, 1);
  server.kill("SIGTERM");
  while (await read());
  await server.stdout.cancel();
  assert.equal((await server.status).code, 0);
  assert.doesNotMatch(said, /Requires|NotCapable/);
}
