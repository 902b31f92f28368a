import assert from "node:assert/strict";
import { purser, start } from "../harness/cli_process.ts";
import { inProcess } from "../harness/in_process.ts";
import { type AgentPlace, newAgentPlace } from "./agent_place.ts";

/** A hook that can't check the budgets: it stops the agent or lets it go on, as configured, and never waits. */

const INPUT = JSON.stringify({
  session_id: "533e985d-597e-49f4-ab53-11c60e048775",
  transcript_path: "/nowhere/533e985d-597e-49f4-ab53-11c60e048775.jsonl",
  hook_event_name: "UserPromptSubmit",
});

const gate = (place: AgentPlace, stdin: string, ...more: string[]) =>
  inProcess(place, ["gate", "--agent", "claude-code", ...more], stdin);

const OPEN = /^Purser lets this agent go on without a check of its budgets: /;
const CLOSED = /^Purser stops this agent, since it cannot check its budgets \(--on-error closed\): /;

/** Asserts that a hook goes on by default, and is stopped with `--on-error closed`. */
async function testPolicies(place: AgentPlace, input: string, reason: RegExp, isKnown = true): Promise<void> {
  const open = await gate(place, input);
  assert.equal(open.code, 0);
  assert.match(open.err, OPEN);
  assert.match(open.err, reason);
  const shown = open.err.trimEnd();
  assert.deepEqual(open.out, isKnown ? `${JSON.stringify({ systemMessage: shown })}\n` : "");
  const closed = await gate(place, input, "--on-error", "closed");
  assert.equal(closed.code, isKnown ? 0 : 2);
  const said = isKnown ? JSON.parse(closed.out).reason : closed.err;
  assert.match(said, CLOSED);
  assert.match(said, reason);
}

for (
  const [title, input, reason] of [
    ["no input", "", /it is empty/],
    ["no JSON", "hello", /it is no JSON/],
    ["half of its JSON", INPUT.slice(0, -9), /it is no JSON/],
    ["a JSON list", "[]", /it is no JSON object/],
    ["a giant body", `{"a":"${"x".repeat(33 * 1024 * 1024)}"}`, /more than 33554432 bytes/],
  ] as const
) {
  Deno.test(`a hook with ${title} does what --on-error says`, async () => {
    await using place = await newAgentPlace();
    await testPolicies(place, input, reason, false);
  });
}

Deno.test("a hook whose ledger can't be opened does what --on-error says", async () => {
  await using place = await newAgentPlace();
  await Deno.writeTextFile(
    place.env.PURSER_DB,
    "no database, but a text that is long enough to be taken for one".repeat(20),
  );
  await testPolicies(place, INPUT, /books\.db/);
});

Deno.test("a hook whose config file is broken does what --on-error says", async () => {
  await using place = await newAgentPlace();
  await Deno.writeTextFile(`${place.folder}/bad.json`, "{");
  place.env.PURSER_CONFIG = `${place.folder}/bad.json`;
  await testPolicies(place, INPUT, /bad\.json/);
});

Deno.test("a hook whose log can't be read does what --on-error says", async () => {
  await using place = await newAgentPlace();
  await Deno.symlink("loop.jsonl", `${place.folder}/loop.jsonl`);
  await testPolicies(
    place,
    INPUT.replace("/nowhere/", `${place.folder}/`).replace(/533e[\w-]+\.jsonl/, "loop.jsonl"),
    /loop\.jsonl/,
  );
});

Deno.test("a hook whose log is a pipe or isn't there yet goes by the budgets alone", async () => {
  await using place = await newAgentPlace();
  const pipe = `${place.folder}/533e985d-597e-49f4-ab53-11c60e048775.jsonl`;
  assert.ok((await new Deno.Command("mkfifo", { args: [pipe] }).output()).success);
  for (const folder of [place.folder, "/nowhere"]) {
    const { code, out, err } = await gate(place, INPUT.replace("/nowhere", folder), "--on-error", "closed");
    assert.deepEqual([code, out, err], [0, "", ""]);
  }
});

Deno.test("a line that is being written is read once it has ended", async () => {
  await using place = await newAgentPlace("claude-code/01-single");
  const projects = `${place.env.HOME}/.claude/projects/-home-dev-project`;
  const [{ name }] = Array.from(Deno.readDirSync(projects)) as [Deno.DirEntry];
  const path = `${projects}/${name}`;
  const text = await Deno.readTextFile(path);
  const end = text.lastIndexOf('"usage"');
  const input = JSON.stringify({
    session_id: name.slice(0, -6),
    transcript_path: path,
    hook_event_name: "PostToolBatch",
  });
  const calls = async () =>
    JSON.parse(await place.purser("cost", "--total", "--since", "all", "--json")).model_calls;
  await place.purser("budgets", "add", "--name", "All", "--limit", "0.000001", "--per", "lifetime");
  await Deno.writeTextFile(path, text.slice(0, text.indexOf('"usage"')));
  assert.equal((await gate(place, input)).out, "");
  assert.equal(await calls(), 0);
  await Deno.writeTextFile(path, text.slice(0, end));
  await Deno.writeTextFile(path, text);
  assert.match(
    (await gate(place, input)).out,
    /^\{"continue":false,"stopReason":"Purser: the budget All is reached/,
  );
  assert.equal(await calls(), 1);
});

Deno.test("a hook without an agent, or with an unknown one, is a wrong command line", async () => {
  await using place = await newAgentPlace();
  for (const args of [[], ["--agent", "cluade-code"], ["--agent", "codex", "--on-error", "maybe"]]) {
    assert.equal((await inProcess(place, ["gate", ...args], INPUT)).code, 2);
  }
});

Deno.test("a process whose standard input stays open ends by itself", async () => {
  await using place = await newAgentPlace();
  const child = start({ ...place, env: { PATH: "", ...place.env } }, [
    "gate",
    "--agent",
    "codex",
    "--on-error",
    "closed",
  ], "piped");
  const { code, stderr } = await child.output();
  assert.equal(code, 2);
  assert.match(new TextDecoder().decode(stderr), /it doesn't end/);
  await child.stdin.close().catch(() => {});
});

Deno.test("a process answers its hook, and a budget that is raised as it says lets the agent go on", async () => {
  await using place = await newAgentPlace("claude-code/10-hooks-statusline");
  const whole = { ...place, env: { PATH: "", ...place.env } };
  await place.purser(
    "budgets",
    "add",
    "--name",
    "It's all",
    "--limit",
    "0.01",
    "--per",
    "lifetime",
    "--agent",
    "claude-code",
  );
  const session = "2455518b-d35e-447d-88d5-9c41a251989b";
  const path = `${place.env.HOME}/.claude/projects/-home-dev-project/${session}.jsonl`;
  const input = JSON.stringify({
    session_id: session,
    transcript_path: path,
    hook_event_name: "UserPromptSubmit",
  });
  const { code, out, err } = await purser(whole, ["gate", "--agent", "claude-code"], input);
  assert.equal(code, 0);
  assert.match(
    err,
    /^\{"level":"warn",[^\n]*"message":"Budget It's all, .* reached"[^\n]*\n$/,
    "the alert that it fired",
  );
  const { decision, reason } = JSON.parse(out);
  assert.equal(decision, "block");
  const [, usd] = /^ {2}purser budgets raise 'It'\\''s all' --usd ([\d.]+) --db \/\S+$/m.exec(reason)!;
  await place.purser("budgets", "raise", "It's all", "--usd", usd!);
  assert.deepEqual(await purser(whole, ["gate", "--agent", "claude-code"], input), {
    code: 0,
    out: "",
    err: "",
  });
});
