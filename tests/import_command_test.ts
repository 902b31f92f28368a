import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { until } from "./harness/deliveries.ts";
import { newPlace, type Place, start, startServer } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";

/** `purser import` as whole processes over the homes of users of coding agents. */

const FIXTURES = new URL("./fixtures/logs/", import.meta.url).pathname;
const CALLS: Record<string, number> = {};

/** Copies the logs of fixtures into the home of a place. */
async function addLogs(place: Place, ...names: string[]): Promise<void> {
  for (const name of names) {
    await copy(FIXTURES + name, place.env.HOME!);
    CALLS[name] ??= JSON.parse(await Deno.readTextFile(`${place.env.HOME}/expected.json`)).calls.length;
    await Deno.remove(`${place.env.HOME}/expected.json`);
  }
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copy(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

/** A place with a home folder of its own, with the logs of some fixtures. */
async function newHome(...names: string[]): Promise<Place> {
  const place = await newPlace();
  place.env.HOME = `${place.folder}/home`;
  await Deno.mkdir(place.env.HOME);
  await addLogs(place, ...names);
  return place;
}

const json = async (place: Place, ...args: string[]) => {
  const { code, out, err } = await purser(place, [...args, "--json"]);
  assert.equal(code, 0, err);
  return JSON.parse(out);
};

const SIX = [
  "claude-code/03-subagents",
  "codex/01-single",
  "gemini-cli/02-tools",
  "qwen-code/01-tools",
  "pi/01-all",
  "cline/01-tools",
];

const bookedOf = (answer: { agents: { agent: string; booked: number }[] }) =>
  Object.fromEntries(answer.agents.map(({ agent, booked }) => [agent, booked]));

Deno.test("a user of six agents imports them, asks by project and by sub-agent, and imports nothing twice", async () => {
  await using place = await newHome(...SIX);
  const rehearsed = await json(place, "import", "--dry-run");
  assert.equal((await json(place, "cost", "--total")).model_calls, 0, "a dry run books nothing");
  const expected = Object.fromEntries(SIX.map((name) => [name.split("/")[0], CALLS[name]]));

  const shown = await purser(place, ["import", "--machine", "laptop"]);
  assert.equal(shown.code, 0, shown.err);
  assert.match(shown.out, /^Claude Code: 6 files, \d+ kB in ~\/\.claude\/projects$/m);
  assert.match(
    shown.out,
    /^Lower bounds, since their logs leave calls out: Claude Code, .*; purser sources says which calls$/m,
  );
  assert.match(shown.err, /Next: purser cost --by project/);
  const total = await json(place, "cost", "--total", "--since", "all");
  assert.equal(
    total.model_calls,
    (Object.values(expected) as number[]).reduce((sum, count) => sum + count),
  );
  assert.deepEqual(bookedOf(rehearsed), expected, "a dry run says what is booked");

  const byProject = await purser(place, ["cost", "--by", "project", "--since", "all"]);
  assert.match(
    byProject.out,
    /^From logs or telemetry alone, .*: 16 calls of Claude Code, .*; purser sources says /m,
  );
  const ofAgent = await purser(place, ["cost", "--agent", "claude-code", "--since", "all"]);
  assert.match(
    ofAgent.out,
    /^From logs or telemetry alone, .*: 16 calls of Claude Code\nClaude Code: Compactions, /m,
  );
  const sources = await purser(place, ["sources"]);
  assert.match(sources.out, /^log +claude-code +laptop +16 +\$0\.\d+ +16 .* active$/m);
  assert.match(sources.out, /^claude-code: Compactions, /m);

  const again = await json(place, "import", "--machine", "laptop");
  for (const { agent, changed_files, booked, known } of again.agents) {
    assert.deepEqual([agent, changed_files, booked, known], [agent, 0, 0, 0]);
  }
  const projects = await json(place, "cost", "--by", "project", "--since", "all");
  assert.ok(projects.some(({ tag_value }: { tag_value: string | null }) => tag_value === "project"));
  assert.deepEqual(
    (await json(place, "cost", "--by", "machine", "--since", "all")).map((row: { tag_value: string }) =>
      row.tag_value
    ),
    ["laptop"],
  );
  assert.deepEqual(
    (await json(place, "cost", "--by", "source", "--since", "all")).map((
      row: { source: string; model_calls: number },
    ) => [
      row.source,
      row.model_calls,
    ]),
    [["log", total.model_calls]],
  );

  const [session] = await json(place, "cost", "--by", "session", "--agent", "claude-code", "--since", "all");
  const tree = await json(place, "sessions", "show", session.session_id, "--tree");
  const [main, ...others] = tree.agents;
  assert.deepEqual([main.model_calls, main.with_subagents.model_calls], [5, 16]);
  assert.equal(main.with_subagents.cost_usd, session.cost_usd);
  // An agent that another one has started is below it.
  assert.deepEqual(
    others.map(({ depth, type, model_calls }: Record<string, unknown>) => [depth, type, model_calls]),
    [
      [1, "general-purpose", 3],
      [2, "general-purpose", 2],
      [1, "Explore", 2],
      [1, "reviewer", 2],
      [1, "general-purpose", 2],
    ],
  );
});

Deno.test("two machines import into one server with keys of the scope report, and a copied session counts once", async () => {
  await using server = await newHome();
  const key = async (name: string) =>
    (await purser(server, ["keys", "add", name, "--scope", "report"])).out.trim();
  const keys = [await key("laptop"), await key("desktop")];
  await using running = await startServer(server);
  await using laptop = await newHome("claude-code/03-subagents", "claude-code/02-tools");
  await using desktop = await newHome("claude-code/02-tools", "codex/01-single");
  const importAt = (place: Place, key: string, machine: string) =>
    json(place, "import", "--server", running.url, "--api-key", key, "--machine", machine);
  const first = await importAt(laptop, keys[0]!, "laptop");
  assert.deepEqual(bookedOf(first), {
    "claude-code": CALLS["claude-code/03-subagents"]! + CALLS["claude-code/02-tools"]!,
  });
  const second = await importAt(desktop, keys[1]!, "desktop");
  assert.deepEqual(bookedOf(second), { "claude-code": 0, codex: CALLS["codex/01-single"] });
  const reinstalled = await importAt(laptop, keys[0]!, "laptop");
  assert.equal(reinstalled.agents[0].changed_files, 0, "how far files were read is known to the server");
  const refused = await purser(laptop, ["cost", "--server", running.url, "--api-key", keys[0]!]);
  assert.equal(refused.code, 4, "such a key reads nothing");
  const machines = await json(server, "cost", "--by", "machine", "--since", "all");
  assert.equal(machines.length, 2);
});

Deno.test("an import pushes a budget over, which then refuses calls, and fires an alert, which it sends", async () => {
  await using place = await newHome("claude-code/03-subagents");
  await purser(place, ["alerts", "add", "--name", "month", "--month", "0.01"]);
  await purser(place, ["budgets", "add", "--name", "all", "--limit", "0.1", "--per", "lifetime"]);
  await purser(place, ["import"]);
  const [budget] = await json(place, "budgets", "list");
  assert.equal(budget.state, "reached");
  const check = await purser(place, ["budgets", "check"]);
  assert.equal(check.code, 5, check.out + check.err);
  const [alert] = await json(place, "alerts", "history");
  assert.deepEqual(alert.deliveries.map(({ status }: { status: string }) => status), ["delivered"]);
});

Deno.test("a plan pays for the calls of the agents that the config names, and of an import with --plan", async () => {
  await using place = await newHome("claude-code/02-tools", "gemini-cli/02-tools");
  const total = async (agent: string) => {
    const { cost_usd, plan_usd } = await json(place, "cost", "--total", "--agent", agent, "--since", "all");
    return [cost_usd, plan_usd];
  };
  const config = `${place.folder}/purser.json`;
  await Deno.writeTextFile(config, `{"import": {"plans": ["claude-code", "claude"]}}`);
  place.env.PURSER_CONFIG = config;
  const shown = await purser(place, ["import"]);
  assert.match(shown.out, /^AGENT +BOOKED +COST +PLAN VALUE/m);
  assert.match(shown.err, /import\.plans of the config names claude, which is no agent/);
  const [billed, value] = await total("claude-code");
  assert.equal(billed, 0);
  assert.ok(value > 0);
  const [cost, none] = await total("gemini-cli");
  assert.ok(cost > 0 && none === undefined);

  const { agents: [corrected] } = await json(place, "import", "gemini-cli", "--plan");
  assert.deepEqual([corrected.booked, corrected.amended], [0, CALLS["gemini-cli/02-tools"]]);
  assert.deepEqual([corrected.cost_usd, corrected.plan_usd], [-cost, cost]);
  assert.deepEqual(await total("gemini-cli"), [0, cost]);
  const { agents: [again] } = await json(place, "import", "gemini-cli", "--plan");
  assert.deepEqual([again.booked, again.amended], [0, 0], "said again, it changes nothing");
  const { agents: [plain] } = await json(place, "import", "gemini-cli");
  assert.equal(plain.changed_files, 0);
});

Deno.test("what is no log, broken or not there is said, and the rest is imported", async () => {
  await using place = await newHome("claude-code/02-tools");
  const projects = `${place.env.HOME}/.claude/projects`;
  await Deno.writeTextFile(
    `${projects}/broken.jsonl`,
    'no log\n{"type":"assistant","message":{"usage": broken\n' + `{"usage":"${"x".repeat(50_000_000)}"}\n`,
  );
  await Deno.symlink(projects, `${projects}/loop`);
  const { agents: [tally] } = await json(place, "import", "claude-code");
  assert.equal(tally.booked, CALLS["claude-code/02-tools"]);
  assert.equal(tally.malformed, 2);
  assert.deepEqual(
    tally.faults.map((
      { path, reason }: { path: string; reason: string },
    ) => [path.endsWith("broken.jsonl"), reason])
      .sort(),
    [[true, "a line has more than 8 MiB"], [true, "Cannot read the record: it isn't JSON"]].sort(),
  );
  const dry = await purser(place, ["import", "--dry-run", "--plan", "--machine", "other"]);
  assert.match(dry.out, /^Claude Code: left out: a line has more than 8 MiB \(.*broken\.jsonl\)$/m);
  assert.match(
    dry.err,
    /A dry run doesn't look at the calls of the ledger: .* which --plan corrects, are not shown/,
  );
  const missing = await purser(place, ["import", "--path", `${place.folder}/nowhere`]);
  assert.deepEqual([missing.code, missing.err.includes("no such file or directory")], [3, true]);
  const other = await purser(place, ["import", "codex", "--path", projects]);
  assert.match(other.err, /^error: Cannot import from .*: it has no log of Codex$/m);
  const unknown = await purser(place, ["import", "claude-cod"]);
  assert.deepEqual([unknown.code, /did you mean claude-code\?/.test(unknown.err)], [2, true]);
  await using later = await newHome();
  await Deno.mkdir(`${later.env.HOME}/.claude/projects/p`, { recursive: true });
  await Deno.writeTextFile(
    `${later.env.HOME}/.claude/projects/p/a.jsonl`,
    '{"kind":"answer.v9","spent":{}}\n',
  );
  assert.match(
    (await purser(later, ["import"])).out.replaceAll("\n", " "),
    /Claude Code: no call was found in 1 file; if it has made some, .* this version of Purser doesn't know/,
  );
  await using empty = await newHome();
  assert.match((await purser(empty, ["import"])).out, /^No logs found of Claude Code, /);
  await Deno.mkdir(`${empty.env.HOME}/.codex`, { recursive: true });
  await Deno.symlink("sessions", `${empty.env.HOME}/.codex/sessions`);
  const { agents, unreadable } = await json(empty, "import");
  assert.deepEqual([agents, unreadable.length], [[], 1], "what can't be read is said in JSON, too");
});

Deno.test("an import that is killed while it books, again and again, books each call once when it is repeated", async () => {
  await using place = await newHome();
  const { writeClaudeLogs } = await import("../bench/claude_logs.ts");
  const { calls } = await writeClaudeLogs(place.env.HOME!, 4_000, Date.now());
  await purser(place, ["agents", "set", "a", "--model", "demo:echo"]); // the database is there
  const booked = () => {
    using database = new DatabaseSync(place.env.PURSER_DB!, { readOnly: true });
    return database.prepare("SELECT count(*) AS calls FROM calls").get()!.calls as number;
  };
  for (let attempt = 0; attempt < 2; attempt++) {
    const before = booked();
    const child = start(place, ["import"]);
    const output = child.output();
    await until(() => booked() > before);
    child.kill("SIGKILL");
    await output;
    assert.ok(booked() < calls, "it was killed before its end");
  }
  const { agents: [tally] } = await json(place, "import");
  assert.equal((await json(place, "cost", "--total", "--since", "all")).model_calls, calls);
  assert.equal(tally.malformed, 0);
  assert.equal((await json(place, "import")).agents[0].changed_files, 0);
});
