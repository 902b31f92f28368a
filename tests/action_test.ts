import assert from "node:assert/strict";
import { parseYaml } from "#dev/openapi_core.ts";
import { answerTo } from "./harness/answers.ts";
import { newPlace, type Place } from "./harness/cli_process.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { findCli } from "./harness/installed_cli.ts";

/** The GitHub Action: its steps as a runner executes them, with a GitHub and a provider of the test's own. */

const ROOT = new URL("..", import.meta.url).pathname;

interface Action {
  inputs: Record<string, { default?: string; required?: boolean }>;
  outputs: Record<string, { value: string }>;
  runs: { using: string; steps: Step[] };
}

interface Step {
  id?: string;
  if?: string;
  shell: string;
  env?: Record<string, string>;
  "working-directory"?: string;
  run: string;
}

const action = parseYaml(await Deno.readTextFile(`${ROOT}action.yml`)) as Action;

/** A comment on the pull request. */
interface Comment {
  id: number;
  body: string;
  user: { type: string };
}

/** The part of GitHub's API that comments use. */
function startGitHub(comments: Comment[], status?: number) {
  const requests: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    requests.push(`${request.method} ${pathname} ${request.headers.get("authorization")}`);
    if (status !== undefined) return Response.json({ message: "no" }, { status });
    if (request.method === "GET") return Response.json(comments);
    const { body } = await request.json();
    const own = comments.find(({ id }) => pathname.endsWith(`/${id}`));
    if (own) own.body = body;
    else comments.push({ id: comments.length + 1, body, user: { type: "Bot" } });
    return Response.json({}, { status: own ? 200 : 201 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Runs the steps of the action; returns the exit code of the first that fails, the outputs and the summary. */
async function runAction(place: Place, given: Record<string, string>, github: { url: string }) {
  const temp = await Deno.makeTempDir({ dir: place.folder });
  // What a runner has: npm, which installs a package with the program.
  const [program, run, ...args] = await findCli();
  const purser = ["exec", program, run, "--allow-run", ...args].map((word) => `"${word}"`).join(" ").replace(
    '"exec"',
    "exec",
  );
  await Deno.mkdir(`${temp}/bin`);
  const npm = `#!/bin/sh
echo "npm $*"
mkdir -p "$RUNNER_TEMP/purser/node_modules/.bin"
printf '#!/bin/sh\\n%s "$@"\\n' '${purser}' > "$RUNNER_TEMP/purser/node_modules/.bin/purser"
chmod +x "$RUNNER_TEMP/purser/node_modules/.bin/purser"
`;
  await Deno.writeTextFile(`${temp}/bin/npm`, npm, { mode: 0o755 });
  await Deno.writeTextFile(`${temp}/event.json`, JSON.stringify({ pull_request: { number: 7 } }));
  const outputs: Record<string, Record<string, string>> = {};
  const expand = (text: string): string =>
    text.replaceAll(/\$\{\{ ([\w.-]+) \}\}/g, (_, path: string): string => {
      const [from, name = "", , output = ""] = path.split(".");
      if (from === "inputs") return given[name] ?? expand(String(action.inputs[name]?.default ?? ""));
      if (from === "steps") return outputs[name]?.[output] ?? "";
      return { "github.token": "ghs_token", "github.job": "build" }[path] ?? assert.fail(path);
    });
  let code = 0;
  let said = "";
  let path = `${temp}/bin:${place.env.PATH}`;
  for (const step of action.runs.steps) {
    if (code !== 0 && !step.if?.includes("always()")) continue;
    if (step.if && expand("${{ steps.run.outputs.file }}") === "") continue;
    assert.equal(step.shell, "bash");
    const files = {
      GITHUB_OUTPUT: `${temp}/output`,
      GITHUB_PATH: `${temp}/path`,
      GITHUB_STEP_SUMMARY: `${temp}/summary`,
    };
    for (const file of [files.GITHUB_OUTPUT, files.GITHUB_PATH]) await Deno.writeTextFile(file, "");
    await Deno.writeTextFile(`${temp}/step.sh`, step.run);
    const output = await new Deno.Command("bash", {
      args: ["--noprofile", "--norc", "-eo", "pipefail", `${temp}/step.sh`],
      cwd: `${place.folder}/${expand(step["working-directory"] ?? ".")}`,
      clearEnv: true,
      env: {
        ...place.env,
        ...Object.fromEntries(Object.entries(step.env ?? {}).map(([name, value]) => [name, expand(value)])),
        ...files,
        PATH: path,
        RUNNER_TEMP: temp,
        GITHUB_ACTION_PATH: ROOT,
        GITHUB_API_URL: github.url,
        GITHUB_EVENT_PATH: `${temp}/event.json`,
        GITHUB_REPOSITORY: "acme/shop",
      },
    }).output();
    for (const bytes of [output.stdout, output.stderr]) said += new TextDecoder().decode(bytes);
    code ||= output.code;
    const added = (await Deno.readTextFile(files.GITHUB_PATH)).trim();
    if (added !== "") path = `${added}:${path}`;
    if (step.id) {
      const lines = (await Deno.readTextFile(files.GITHUB_OUTPUT)).trim().split("\n").filter(Boolean);
      outputs[step.id] = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
    }
  }
  const named = Object.fromEntries(
    Object.entries(action.outputs).map(([name, { value }]) => [name, expand(value)]),
  );
  const summary = await Deno.readTextFile(`${temp}/summary`).catch(() => "");
  return { code, said, summary, outputs: named };
}

const CALL =
  `curl -s "$OPENAI_BASE_URL/chat/completions" -H "authorization: Bearer $OPENAI_API_KEY" -H "content-type: application/json" \
-d '{"model":"gpt-4o-mini","max_completion_tokens":500,"messages":[{"role":"user","content":"Hi"}]}' > /dev/null`;

Deno.test("the action says in the job and in one comment what a command has cost, and fails as the command does", async () => {
  await using fake = await startFakeProvider((request) =>
    answerTo(request, { text: "Hi", usage: { inputTokens: 1_000, outputTokens: 500 } })
  );
  await using place = await newPlace();
  Object.assign(place.env, { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: fake.baseUrls.openai });
  const comments: Comment[] = [{ id: 41, body: "Looks good <!-- purser build -->", user: { type: "User" } }];
  await using github = startGitHub(comments);
  const first = await runAction(place, { run: `${CALL}\nexit 3` }, github);
  assert.equal(first.code, 3, first.said);
  assert.match(first.said, /^npm install .* purser$/m);
  assert.match(
    first.summary,
    /^\*\*build\*\* cost \*\*\$0\.00045\*\* in 1 call\n\n\| model .*\n.*\n\| openai:gpt-4o-mini \| 1 \| 1,500 \| \$0\.00045 \|\n$/,
  );
  assert.deepEqual([first.outputs["cost-usd"], first.outputs.calls], ["0.00045", "1"]);
  assert.equal(comments[1]!.body, `${first.summary.trimEnd()}\n\n<!-- purser build -->`);
  const second = await runAction(
    place,
    { run: `${CALL}\n${CALL}`, budget: "0.01", "working-directory": "." },
    github,
  );
  assert.equal(second.code, 0, second.said);
  assert.match(
    comments[1]!.body,
    /^\*\*build\*\* cost \*\*\$0\.0009\*\* in 2 calls of a budget of \$0\.01\n/,
  );
  assert.deepEqual([comments.length, comments[0]!.body], [2, "Looks good <!-- purser build -->"]);
  assert.deepEqual(new Set(github.requests.map((line) => line.split(" ").at(-1))), new Set(["ghs_token"]));
});

Deno.test("an action whose token may not comment, or that has nothing to say, still ends as its command", async () => {
  await using place = await newPlace();
  await using github = startGitHub([], 403);
  const refused = await runAction(place, { run: "echo $COMMAND$BUDGET; true", name: "a|b @all\n" }, github);
  assert.equal(refused.code, 0, refused.said);
  assert.match(refused.said, /^::warning::Cannot comment on the pull request: GET .* was answered 403$/m);
  assert.match(refused.summary, /^\*\*a&#124;b &#64;all&#10;\*\* cost \*\*\$0\*\* in 0 calls\n$/);
  const quiet = await runAction(place, { run: "true", comment: "false" }, github);
  assert.equal(quiet.code, 0);
  assert.doesNotMatch(quiet.said, /warning/);
});

Deno.test("no script of the action has an input or a secret in its text, where it would be run", () => {
  for (const { run } of action.runs.steps) assert.doesNotMatch(run, /\$\{\{/);
  assert.equal(action.runs.using, "composite");
});
