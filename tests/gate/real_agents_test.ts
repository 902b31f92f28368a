import assert from "node:assert/strict";
import { newPlace, type Place, purser } from "../harness/cli_process.ts";
import { findCli } from "../harness/installed_cli.ts";
import { sharedBuild } from "../harness/shared_build.ts";
import { isThorough } from "../harness/thorough.ts";
import { type ScriptedProvider, startScriptedProvider } from "./scripted_models.ts";

/** The agents themselves, as npm installs them, against a provider that counts their calls: a gate that was installed stops them. */

const PACKAGES = ["@anthropic-ai/claude-code@2.1.332", "@openai/codex@0.171.0", "@google/gemini-cli@0.61.0"];

/** Returns the folder of the agents' commands. */
function installAgents(): Promise<string> {
  const given = Deno.env.get("PURSER_CODING_AGENTS");
  if (given !== undefined) return Promise.resolve(given);
  return sharedBuild("coding_agents", async (folder) => {
    const { success, stderr } = await new Deno.Command("npm", {
      args: ["install", "--prefix", folder, "--no-audit", "--no-fund", ...PACKAGES],
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
  }).then((folder) => `${folder}/node_modules/.bin`);
}

/** Ends the servers that an agent has installed below its home and left behind, which outlive it: Codex starts two. */
async function endServers(home: string): Promise<void> {
  for (let isLeft = true; isLeft;) {
    isLeft = false;
    for await (const { name: pid } of Deno.readDir("/proc")) {
      const command = await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() => "");
      if (!/^\d+$/.test(pid) || !command.startsWith(`${home}/`)) continue;
      isLeft = true;
      try {
        Deno.kill(Number(pid), "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    }
  }
}

/** A home with a project, and a ledger with a budget of so many dollars. */
async function newHome(limit: string): Promise<Place> {
  const place = await newPlace();
  const home = `${place.folder}/home`;
  await Deno.mkdir(`${home}/project`, { recursive: true });
  await Deno.writeTextFile(`${home}/project/notes.txt`, "alpha\nbeta\n");
  place.env.HOME = home;
  const remove = place[Symbol.asyncDispose];
  place[Symbol.asyncDispose] = async () => {
    await endServers(home);
    await remove();
  };
  await run(place, "budgets", "add", "--name", "Day", "--limit", limit, "--per", "day");
  return place;
}

async function run(place: Place, ...args: string[]): Promise<string> {
  const { code, out, err } = await purser(place, args);
  assert.equal(code, 0, err);
  return out;
}

/** Runs an agent in the project to its end. */
async function runAgent(place: Place, program: string, args: string[], env: Record<string, string>) {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args,
    cwd: `${place.env.HOME}/project`,
    clearEnv: true,
    env: { ...place.env, ...env },
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

const askClaude = (
  place: Place,
  bin: string,
  provider: ScriptedProvider,
  prompt: string,
  ...args: string[]
) =>
  runAgent(place, `${bin}/claude`, [
    ...["-p", prompt, "--model", "claude-sonnet-4-5", "--allowedTools", "Read,Agent"],
    ...args,
  ], {
    ANTHROPIC_BASE_URL: provider.url,
    ANTHROPIC_API_KEY: "sk-ant-api03-fake",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  });

const askClaudeForEvents = (place: Place, bin: string, provider: ScriptedProvider, prompt: string) =>
  askClaude(place, bin, provider, prompt, "--output-format", "stream-json", "--verbose");

const read = (place: Place) => ({
  tool: "Read",
  input: { file_path: `${place.env.HOME}/project/notes.txt` },
});

const agent = (marker: string, more: Record<string, unknown> = { run_in_background: false }) => ({
  tool: "Agent",
  input: { description: "Sub", prompt: `Read. <<${marker}>>`, subagent_type: "general-purpose", ...more },
});

/** A model call costs $0.045: the third one reaches $0.10. */
const LIMIT = "0.10";

Deno.test({
  name: "Claude Code is stopped after the call that reaches the budget, and its next prompt makes no call",
  ignore: !isThorough,
  async fn() {
    const bin = await installAgents();
    await using place = await newHome(LIMIT);
    const step = read(place);
    await using provider = await startScriptedProvider({ main: [step, step, step, step, step, {}] });
    await run(place, "gate", "install", "claude-code", "--yes");
    const stopped = await askClaude(place, bin, provider, "Read. <<main>>", "--output-format", "json");
    assert.equal(JSON.parse(stopped.out).terminal_reason, "hook_stopped", stopped.err);
    assert.deepEqual(provider.played, ["main", "main", "main"]);

    const refused = await askClaude(place, bin, provider, "Read. <<main>>");
    assert.equal(provider.calls, 3, refused.out);
    assert.match(
      refused.out,
      /^Purser: the budget Day is reached: \$0\.135 of \$0\.10 per day of all agents, \$0\.035 over;/m,
    );

    const [, raise] = /^ +purser (budgets raise .*)$/m.exec(refused.out)!;
    await run(place, ...raise!.split(" "));
    const resumed = await askClaude(place, bin, provider, "Once more.");
    assert.match(resumed.out, /Done with other/);
    assert.equal(provider.calls, 4);
  },
});

Deno.test({
  name: "Claude Code is stopped with its sub-agent in which the budget is reached",
  ignore: !isThorough,
  async fn() {
    const bin = await installAgents();
    await using place = await newHome(LIMIT);
    const step = read(place);
    await using provider = await startScriptedProvider({
      main: [agent("leaf"), step, step, {}],
      leaf: [step, step, step, step, {}],
    });
    await run(place, "gate", "install", "claude-code", "--yes");
    const { out } = await askClaude(place, bin, provider, "Go. <<main>>", "--output-format", "json");
    assert.deepEqual(provider.played, ["main", "leaf", "leaf"], out);
  },
});

Deno.test({
  name: "Claude Code and its sub-agents in the background make no further calls than those in progress",
  ignore: !isThorough,
  async fn() {
    const bin = await installAgents();
    await using place = await newHome("0.20");
    const step = read(place);
    const many = Array.from({ length: 12 }, () => step);
    await using provider = await startScriptedProvider({
      main: [
        agent("one", { run_in_background: true }),
        agent("two", { run_in_background: true }),
        ...many,
        {},
      ],
      one: [...many, {}],
      two: [...many, {}],
    });
    await run(place, "gate", "install", "claude-code", "--yes");
    await askClaude(place, bin, provider, "Go. <<main>>", "--output-format", "json");
    // The fifth call reaches the budget; each of the two other agents may have one in progress.
    assert.ok(provider.calls >= 5 && provider.calls <= 7, provider.played.join());
  },
});

/** Codex' own settings: its provider, and no trust of hooks, which a user gives in its terminal. */
async function askCodex(place: Place, bin: string, provider: ScriptedProvider, ...words: string[]) {
  await Deno.writeTextFile(
    `${place.env.HOME}/.codex/config.toml`,
    `model = "gpt-5.5"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "${provider.url}/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
`,
  );
  const hooks = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust"];
  return await runAgent(place, `${bin}/codex`, ["exec", ...hooks, ...words], { LOCAL_KEY: "sk-fake" });
}

Deno.test({
  name: "Codex makes no call of its next prompt and its next session once the budget is reached",
  ignore: !isThorough,
  async fn() {
    const bin = await installAgents();
    await using place = await newHome(LIMIT);
    const step = { tool: "exec_command", input: { cmd: "wc -l notes.txt" } };
    await using provider = await startScriptedProvider({ main: [step, step, step, step, {}] });
    await run(place, "gate", "install", "codex", "--yes");
    await askCodex(place, bin, provider, "Go. <<main>>");
    assert.equal(provider.calls, 5, "no hook stops a turn");
    const next = await askCodex(place, bin, provider, "Go. <<main>>");
    assert.match(next.err, /^hook: SessionStart Stopped$/m);
    await askCodex(place, bin, provider, "resume", "--last", "Go on. <<main>>");
    assert.equal(provider.calls, 5);
  },
});

Deno.test({
  name: "the calls of Codex that `purser capture` runs pass its gateway, whatever its config file names",
  ignore: !isThorough,
  async fn() {
    const bin = await installAgents();
    await using place = await newHome("100");
    const step = { tool: "exec_command", input: { cmd: "wc -l notes.txt" } };
    await using provider = await startScriptedProvider({ main: [step, {}] });
    const [deno, run, ...args] = await findCli();
    const words = ["exec", "--skip-git-repo-check", "--model", "gpt-5.5", "Go. <<main>>"];
    const capture = [run!, "--allow-run", ...args, "capture", "--json", "--", `${bin}/codex`, ...words];
    const env = { OPENAI_API_KEY: "sk-fake", OPENAI_BASE_URL: provider.baseUrls.openai };
    const { code, err } = await runAgent(place, deno, capture, env);
    assert.equal(code, 0, err);
    assert.equal(provider.calls, 2, err);
    const { name, total } = JSON.parse(err.trimEnd().split("\n").at(-1)!);
    assert.deepEqual([name, total.model_calls, total.cost_usd], ["codex", 2, 0.16], err);
    assert.ok(provider.requests.every(({ headers }) => headers.authorization === "Bearer sk-fake"));
  },
});

Deno.test({
  name: "Codex' next prompt is stopped by what its sub-agents have cost",
  ignore: !isThorough,
  async fn() {
    const bin = await installAgents();
    await using place = await newHome("0.30");
    const namespace = "collaboration";
    const spawn = { tool: "spawn_agent", namespace, input: { message: "Look. <<sub>>", task_name: "look" } };
    const wait = { tool: "wait_agent", namespace, input: { timeout_ms: 10_000 } };
    const step = { tool: "exec_command", input: { cmd: "wc -l notes.txt" } };
    await using provider = await startScriptedProvider({ main: [spawn, wait, {}], sub: [step, {}] });
    await run(place, "gate", "install", "codex", "--yes");
    const ask = () => askCodex(place, bin, provider, "--enable", "multi_agent_v2", "Go. <<main>>");
    const first = await ask();
    // The calls of the main agent alone are $0.24.
    assert.deepEqual(provider.played.toSorted(), ["main", "main", "main", "sub", "sub"], first.err);
    assert.match((await ask()).err, /^hook: SessionStart Stopped$/m);
    assert.equal(provider.calls, 5);
  },
});

async function writeGeminiSettings(place: Place): Promise<void> {
  await Deno.mkdir(`${place.env.HOME}/.gemini`);
  await Deno.writeTextFile(
    `${place.env.HOME}/.gemini/settings.json`,
    JSON.stringify({
      security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
    }),
  );
}

async function askGemini(place: Place, bin: string, provider: ScriptedProvider, prompt: string) {
  return await runAgent(place, `${bin}/gemini`, ["--yolo", "--model", "gemini-2.5-flash", "-p", prompt], {
    GEMINI_API_KEY: "fake",
    GOOGLE_GEMINI_BASE_URL: provider.url,
  });
}

Deno.test({
  name: "Gemini CLI makes no call after the one that reaches the budget",
  ignore: !isThorough,
  async fn() {
    const bin = await installAgents();
    await using place = await newHome("0.01");
    await writeGeminiSettings(place);
    const step = { tool: "read_file", input: { file_path: `${place.env.HOME}/project/notes.txt` } };
    await using provider = await startScriptedProvider({ main: [step, step, step, step, {}] });
    await run(place, "gate", "install", "gemini", "--yes");
    const stopped = await askGemini(place, bin, provider, "Read. <<main>>");
    assert.deepEqual(provider.played, ["main", "main"], stopped.err);
    assert.match(
      stopped.err,
      /Agent execution blocked: Purser: the budget Day is reached: \$0\.011 of \$0\.01 /,
    );
    await askGemini(place, bin, provider, "Read. <<main>>");
    assert.equal(provider.calls, 2);
  },
});

Deno.test({
  name: "agents go on where the ledger can't be opened and say so, and make no call with --on-error closed",
  ignore: !isThorough,
  async fn() {
    const bin = await installAgents();
    for (
      const [name, ask, shown] of [
        [
          "claude-code",
          askClaudeForEvents,
          /"content":"UserPromptSubmit says: Purser lets this agent go on without/,
        ],
        // `codex exec` hides it.
        ["codex", askCodex, /./],
        ["gemini", askGemini, /Hook system message: Purser lets this agent go on without/],
      ] as const
    ) {
      await using place = await newHome(LIMIT);
      await writeGeminiSettings(place);
      await using provider = await startScriptedProvider({});
      await run(place, "gate", "install", name, "--yes");
      await Deno.writeTextFile(place.env.PURSER_DB!, "no database, but a text as long as one".repeat(50));
      const went = await ask(place, bin, provider, "Hello.");
      assert.match(went.out, /Done with other\./, `${name}: ${went.err}`);
      assert.match(went.out + went.err, shown);
      const calls = provider.calls;
      await run(place, "gate", "install", name, "--on-error", "closed", "--yes");
      const stopped = await ask(place, bin, provider, "Hello.");
      assert.equal(provider.calls, calls, `${name}: ${stopped.out} ${stopped.err}`);
    }
  },
});
