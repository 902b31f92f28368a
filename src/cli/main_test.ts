import assert from "node:assert/strict";
import { reportOf } from "../../tests/harness/reported_calls.ts";
import { inDirectory } from "../../tests/harness/in_directory.ts";
import { reportCalls } from "../calls/mod.ts";
import { problemError } from "../client/mod.ts";
import { createApp } from "../http/mod.ts";
import { PurserError } from "../kernel/errors.ts";
import { memoryTerminal } from "../../tests/harness/memory_terminal.ts";
import { openTestBooks } from "../../tests/harness/test_books.ts";
import { main, renderHelp, reportError } from "./mod.ts";
import { UsageError } from "./parse/usage_error.ts";
import { loadAllCommands } from "./command_table.ts";

const COMMANDS = await loadAllCommands();

function report(error: unknown, isJson = false): string {
  const terminal = memoryTerminal();
  reportError(error, terminal.stderr, isJson);
  return terminal.err;
}

const PROBLEM = {
  type: "about:blank",
  title: "BudgetExceededError",
  status: 402,
  detail: "Cannot make the next model call of run run_1: it has cost $2 and its budget is $1",
  instance: "/agents/a/runs",
  code: "budget_exceeded",
  details: { cost_usd_so_far: 2, budget_usd: 1 },
  run_id: "run_1",
  session_id: "ses_1",
};

Deno.test("every fault of a snapshot is shown, one to a line", () =>
  inDirectory(async (folder) => {
    const path = `${folder}/wrong.json`;
    const state = { status: "idle", messages: "none" };
    await Deno.writeTextFile(
      path,
      JSON.stringify({ schema_version: 1, session_id: 5, state, tags: { a: 1 } }),
    );
    await using books = await openTestBooks();
    const shown = await books.purser(`state show ${path}`);
    const json = JSON.parse((await books.purser(`state show ${path} --json`)).err);
    const { issues } = json.details as { issues: { path: string; message: string }[] };
    assert.deepEqual(issues.map(({ path }) => path).sort(), [
      "agent_id",
      "event_log_count",
      "exported_at",
      "session_id",
      "source_environment",
      "state.messages",
      "tags.a",
    ]);
    assert.ok(
      issues.every(({ message }) => /^(?:is [^,]+, )?must be /.test(message)),
      JSON.stringify(issues),
    );
    assert.deepEqual(shown, {
      code: 1,
      out: "",
      err: [
        `error: Cannot read the snapshot: ${issues.length} faults`,
        ...issues.map(({ path, message }) => `  ${path}: ${message}`),
        "",
      ].join("\n"),
    });
    const imported = await books.purser(`state import ${path}`);
    assert.deepEqual([imported.code, imported.err], [shown.code, shown.err]);
  }));

Deno.test("reportError() lists at most a hundred faults, and escapes what a server says", () => {
  const issues = Array.from({ length: 200 }, (_, n) => ({ path: `[${n}]`, message: "is\n\x1b[31mred" }));
  const details = { issues, issue_count: 250 };
  const lines = report(new PurserError("invalid", "Cannot read it", { details })).trimEnd().split("\n");
  assert.equal(lines.length, 1 + 100 + 1);
  assert.equal(lines.at(-1), "  and 150 more");
  assert.ok(!lines.join("").includes("\x1b"));
});

Deno.test("reportError() writes one sentence and a hint", () => {
  assert.equal(report(new PurserError("not_found", "Cannot find agent x")), "error: Cannot find agent x\n");
  assert.equal(
    report(new UsageError("Cannot use it", "cost")),
    "error: Cannot use it\nSee purser cost --help\n",
  );
  assert.equal(report(new UsageError("Cannot use it", "")), "error: Cannot use it\nSee purser --help\n");
  assert.equal(
    report(problemError(PROBLEM)),
    `error: ${PROBLEM.detail}\nThe session keeps all steps up to this point: purser sessions show ses_1\n`,
  );
  assert.equal(
    report(new TypeError("x is\x1b[31m undefined")),
    "error: Internal error: x is\\x1b[31m undefined\n",
  );
});

Deno.test("reportError() says how to give a key, or another one, if the server requires it", () => {
  const problem = { ...PROBLEM, session_id: undefined };
  assert.equal(
    report(problemError({ ...problem, code: "unauthorized", detail: "Cannot answer without an API key" })),
    "error: Cannot answer without an API key\nGive a key with --api-key, PURSER_API_KEY or the api_key_file " +
      "of a profile; to create one, run purser keys add on the server's own database\n",
  );
  assert.equal(
    report(problemError({ ...problem, code: "forbidden", detail: "Cannot do that" })),
    "error: Cannot do that\nGive another key with --api-key or PURSER_API_KEY; purser whoami shows what this one has spent and may do\n",
  );
  assert.equal(
    report(new PurserError("forbidden", "Cannot listen on 0.0.0.0")),
    "error: Cannot listen on 0.0.0.0\n",
  );
});

Deno.test("reportError() writes the problem object for --json, the API's own unchanged", () => {
  assert.deepEqual(JSON.parse(report(problemError(PROBLEM), true)), PROBLEM);
  assert.deepEqual(JSON.parse(report(new UsageError("Cannot use it", "cost"), true)), {
    type: "about:blank",
    title: "Bad usage",
    status: 400,
    detail: "Cannot use it",
    code: "invalid",
  });
  assert.equal(JSON.parse(report(new TypeError("bug"), true)).code, "internal");
});

Deno.test("renderHelp() names every command but by its earlier names", async () => {
  const help = await renderHelp("", { columns: undefined, hasColour: false });
  for (const { name, summary, deprecated } of COMMANDS) {
    if (deprecated) {
      assert.doesNotMatch(help, new RegExp(`^  ${name}\\b`, "m"));
      continue;
    }
    assert.match(help, new RegExp(`^  ${name}\\b`, "m"));
    assert.ok(help.includes(summary), summary);
  }
});

Deno.test("renderHelp() of a group has its commands only", async () => {
  const help = await renderHelp("agents", { columns: undefined, hasColour: false });
  assert.match(help, /^ {2}agents set NAME {5}Create or change/m);
  assert.doesNotMatch(help, /sessions list/);
});

Deno.test("renderHelp() of a command has usage, options and examples", async () => {
  for (const { name, options, examples } of COMMANDS) {
    const help = await renderHelp(name, { columns: undefined, hasColour: false });
    assert.ok(help.includes(`Usage: purser ${name}`), name);
    for (const option of [...Object.keys(options), "db", "json"]) assert.ok(help.includes(`--${option}`));
    for (const [line] of examples) assert.ok(help.includes(line));
  }
});

Deno.test("renderHelp() breaks lines at the width of the terminal, but no command line", async () => {
  for (const topic of ["", "agents", ...COMMANDS.map(({ name }) => name)]) {
    for (const columns of [60, 80]) {
      for (const line of (await renderHelp(topic, { columns, hasColour: false })).split("\n")) {
        assert.ok(line.length <= columns || /^ {2}purser |^ {2}git |\| purser /.test(line), line);
      }
    }
  }
});

Deno.test("sessions show has the cost of a reported call whose run is unknown here, in a process and through a server", async () => {
  await using books = await openTestBooks();
  await books.purser("agents set helper --model demo:echo");
  await books.purser("run helper hi --session first");
  const call = reportOf("elsewhere_1", books.clock.now());
  await reportCalls(books.core, "report", [{ ...call, sessionId: "first", runId: "run_elsewhere", step: 7 }]);
  const local = await books.purser("sessions show first");
  const run = /^Run run_elsewhere\nSTEP .*\n +7 .* elsewhere_1\n/m;
  assert.match(local.out, run);
  assert.deepEqual([local.code, local.err], [0, ""]);

  const { fetch } = await createApp(books.core);
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => fetch(request));
  const terminal = memoryTerminal();
  const line = ["sessions", "show", "first", "--server", `http://127.0.0.1:${server.addr.port}`];
  const code = await main(line, { terminal, env: {}, clock: books.clock });
  await server.shutdown();
  assert.deepEqual({ code, out: terminal.out, err: terminal.err }, local);
});

Deno.test("agents set by several at once loses no setting: each merges into what it has read, or reads again", async () => {
  await using books = await openTestBooks();
  await books.purser("agents set helper --model demo:echo");
  const settings = ["--max-steps 3", "--budget 0.5", "--tool calculator", '--system "Be brief."'];
  const outcomes = await Promise.all(settings.map((setting) => books.purser(`agents set helper ${setting}`)));
  assert.deepEqual(
    outcomes.map(({ code, err }) => ({ code, err })),
    settings.map(() => ({ code: 0, err: "" })),
  );
  const agent = JSON.parse((await books.purser("agents show helper --json")).out);
  assert.deepEqual(
    [agent.max_steps, agent.cost_budget_usd, agent.tools, agent.system_prompt],
    [3, 0.5, ["calculator"], "Be brief."],
  );
  const created = await Promise.all(
    [1, 2].map((n) => books.purser(`agents set new --model demo:echo --max-steps ${n}`)),
  );
  assert.deepEqual(created.map(({ out }) => out.split(" ")[0]).sort(), ["Changed", "Created"]);
});
