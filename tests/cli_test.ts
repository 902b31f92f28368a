import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { VERSION } from "../src/kernel/version.ts";
import { newPlace, type Place, purser as runProcess, start } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";

/** The CLI over a file: in processes of its own where a sentence is about one. `cli_table_test.ts` starts each command in one. */

Deno.test("purser prints its help and its version", async () => {
  await using place = await newPlace();
  const help = await runProcess(place, ["--help"]);
  assert.equal(help.code, 0);
  assert.match(help.out, /^Purser runs LLM agents.*\n[^]*Usage: purser COMMAND \[OPTIONS\]/);
  assert.equal(help.err, "");
  assert.deepEqual(await runProcess(place, ["--version"]), { code: 0, out: `purser ${VERSION}\n`, err: "" });
});

Deno.test("purser defines, runs and removes agents over a file, and reports their cost", async () => {
  await using place = await newPlace();
  const set = await purser(place, [
    "agents",
    "set",
    "helper",
    "--model",
    "demo:echo",
    "--tool",
    "calculator",
  ]);
  assert.deepEqual(set, {
    code: 0,
    out: "Created agent helper: demo:echo, no budget, tools calculator\n",
    err: "",
  });
  assert.match((await purser(place, ["agents", "list"])).out, /^AGENT .*\nhelper {2}demo:echo .*\n$/);

  const run = await purser(place, ["run", "helper", "What is 17 * 23?", "--session", "first"]);
  assert.equal(run.code, 0);
  assert.equal(run.out, "You said: What is 17 * 23?\nThe calculator says 391.\n");
  assert.match(run.err, /^2 steps · .* · \$0\.\d+ · first\n$/);

  const fromStdin = await purser(place, ["run", "helper", "-", "--session", "first"], "line one\nline two\n");
  assert.equal(fromStdin.out, "You said: line one\nline two\n");

  const json = await purser(place, ["run", "helper", "hi", "--json"]);
  assert.equal(JSON.parse(json.out).output, "You said: hi");
  assert.equal(json.err, "");

  const show = JSON.parse((await purser(place, ["agents", "show", "helper", "--json"])).out);
  assert.equal(show.token_usage.model_calls, 4);
  assert.match(
    (await purser(place, ["cost"])).out,
    /^SPENDING \(UTC\) .*\nToday .* 4 [^]*By model, the last 30 days\n/,
  );

  assert.equal((await purser(place, ["agents", "remove", "helper"])).code, 0);
  assert.deepEqual(await purser(place, ["agents", "show", "helper"]), {
    code: 3,
    out: "",
    err: "error: Cannot find agent helper; purser agents list shows all\n",
  });
});

Deno.test("purser ends with 5 when the budget is exceeded, and keeps the session", async () => {
  await using place = await newPlace();
  await purser(place, "agents set looper --model demo:loop --tool calculator --budget 0.0002".split(" "));
  const { code, out, err } = await purser(place, ["run", "looper", "go", "--session", "first"]);
  assert.equal(code, 5);
  assert.equal(out, "");
  assert.match(
    err,
    /^error: .* it has cost \$0\.000\d+ and its budget is \$0\.0002\n.*purser sessions show first\n$/,
  );
  assert.match((await purser(place, ["sessions", "show", "first"])).out, /^Status {7}budget_exceeded$/m);
});

Deno.test("purser ends with 2 on bad usage, and suggests what was meant", async () => {
  await using place = await newPlace();
  const { code, out, err } = await purser(place, ["agents", "lst"]);
  assert.deepEqual({ code, out }, { code: 2, out: "" });
  assert.match(err, /did you mean agents list\?/);
  const json = await purser(place, ["cost", "--jsn", "--json"]);
  assert.equal(json.code, 2);
  assert.equal(JSON.parse(json.err).code, "invalid");
});

Deno.test("commands work in parallel on one file", async () => {
  await using place = await newPlace();
  await purser(place, "agents set looper --model demo:loop --tool calculator --max-steps 200".split(" "));
  const runs = ["run", "looper", "100 times"];
  const all = await Promise.all([
    runProcess(place, [...runs, "--session", "one"]),
    runProcess(place, [...runs, "--session", "two"]),
    runProcess(place, ["cost"]),
  ]);
  for (const { code, err } of all) assert.equal(code, 0, err);
  const costs = JSON.parse((await purser(place, ["cost", "--by", "session", "--json"])).out);
  assert.deepEqual(
    costs.map((row: { session_id: string; model_calls: number }) => [row.session_id, row.model_calls]).sort(),
    [["one", 101], ["two", 101]],
  );
});

/** A provider that never answers, and an agent that calls it. */
async function withHangingAgent(place: Place, test: (asked: Promise<void>) => Promise<void>): Promise<void> {
  const asked = Promise.withResolvers<void>();
  await using provider = await startFakeProvider(() => {
    asked.resolve();
    return { hang: true };
  });
  await Deno.mkdir(`${place.folder}/purser`, { recursive: true });
  await Deno.writeTextFile(
    `${place.folder}/purser/purser.json`,
    JSON.stringify({ providers: { slow: { base_url: provider.baseUrls.compatible } } }),
  );
  assert.equal((await purser(place, ["agents", "set", "sleeper", "--model", "slow:model"])).code, 0);
  await test(asked.promise);
}

// Ctrl-C, and runs on a server: cli_interrupt_test.ts.
Deno.test("SIGTERM cancels a run and ends with 130", async () => {
  await using place = await newPlace();
  await withHangingAgent(place, async (asked) => {
    const child = start(place, ["run", "sleeper", "hi", "--session", "first"]);
    await asked;
    child.kill("SIGTERM");
    const { code, stderr } = await child.output();
    assert.equal(code, 130);
    // The call was made, to a model without a price: a log line says so in between.
    assert.match(
      new TextDecoder().decode(stderr),
      /^Cancelling the run; .*\n\{"level":"warn".*\nwarning: The run was cancelled\n/,
    );
    const session = JSON.parse((await purser(place, ["sessions", "show", "first", "--json"])).out);
    assert.deepEqual([session.status, session.token_usage.unpriced_calls], ["cancelled", 1]);
  });
});

Deno.test("serve takes a file over from a command that ends, and Ctrl-C ends it while it waits", async () => {
  await using place = await newPlace();
  const first = start(place, ["serve", "--port", "0"]);
  assert.match(await firstText(first.stderr), /^Purser answers at /);
  const second = start(place, ["serve", "--port", "0"]);
  const firstLine = firstText(second.stderr);
  const third = start(place, ["serve", "--port", "0"]);
  await third.stderr.cancel();
  third.kill("SIGINT");
  assert.equal((await third.status).code, 130);
  first.kill("SIGINT");
  assert.equal((await first.status).code, 0);
  assert.match(await firstLine, /^Purser answers at /);
  second.kill("SIGINT");
  assert.equal((await second.status).code, 0);
  await Promise.all([first, second, third].map(({ stdout }) => stdout.cancel()));
});

/** Returns the first output of a process; the rest is read and dropped, so that it never blocks. */
async function firstText(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader();
  const { value } = await reader.read();
  (async () => {
    while (!(await reader.read()).done);
  })();
  return new TextDecoder().decode(value);
}

Deno.test("a broken pipe ends a command quietly", async () => {
  await using place = await newPlace();
  const child = start(place, ["--help"]);
  await child.stdout.cancel();
  const { code } = await child.status;
  assert.equal(code, 0);
  assert.equal(await new Response(child.stderr).text(), "");
});

Deno.test("the demo prints its whole story in a few lines", async () => {
  await using place = await newPlace();
  place.env.TMPDIR = place.folder;
  const { code, out, err } = await purser(place, ["demo"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /The calculator says 391\./);
  assert.match(out, /error: Cannot make the next model call .* its budget is \$0\.0002\n[^]*\(exit code 5\)/);
  assert.match(out, /\$ purser cost --by agent\nAGENT .*\nlooper /);
  assert.ok(out.split("\n").length <= 46, `${out.split("\n").length} lines`);
  // The database that it points to is there.
  const [, line] = /\nTry next: purser (.*)\n$/.exec(out)!;
  assert.match((await purser(place, line!.split(" "))).out, /^SPENDING /);
});

Deno.test("the demo names the command of a checkout where a task of it has started it", async () => {
  await using place = await newPlace();
  const root = fileURLToPath(new URL("..", import.meta.url));
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-RWENS", "cli.ts", "demo"],
    cwd: root,
    env: { ...place.env, TMPDIR: place.folder, INIT_CWD: root.slice(0, -1) },
  }).output();
  assert.match(
    new TextDecoder().decode(stdout),
    /\nTry next: (npx -y )?deno run --quiet -RWENS cli\.ts cost --db .*\n$/,
  );
});

Deno.test("the demo names npx purser where npx has started it, and not where npx has started Deno", async () => {
  await using place = await newPlace();
  for (const [script, program] of [["'purser' 'demo'", "npx purser"], ["'deno' 'task' 'demo'", "purser"]]) {
    const npx = { npm_command: "exec", npm_lifecycle_script: script!, TMPDIR: place.folder };
    const { out } = await purser({ ...place, env: { ...place.env, ...npx } }, ["demo"]);
    assert.match(out, new RegExp(`\\nTry next: ${program} cost `));
  }
});
