import assert from "node:assert/strict";
import { MAX_GATEWAY_BODY_BYTES, REQUEST_LIMITS } from "../../src/contract/limits.ts";
import { CLIENT_NAMES } from "../../src/cli/commands/env/env_commands.ts";
import { GATEWAY_CLIENTS } from "../../src/cli/commands/env/gateway_clients.ts";
import { KEY } from "../../src/cli/commands/env/print_client.ts";
import { SESSION_HEADERS } from "../../src/gateway/attribution.ts";
import { PASSED_HEADERS } from "../../src/gateway/headers.ts";
import { QUIET_MS } from "../../src/gateway/live_calls.ts";
import { PASSED_PARAMETERS } from "../../src/gateway/query.ts";
import { findEndpoint, findTarget, FREE } from "../../src/gateway/targets.ts";
import { ABORTING } from "../../src/gateway/upstreams.ts";
import { PurserError } from "../../src/kernel/errors.ts";
import { providerFixtures } from "../fixtures/providers/mod.ts";
import { denoCacheVariables } from "../harness/cache_variables.ts";
import { newPlace, type Place, startServer } from "../harness/cli_process.ts";
import { inProcess as purser } from "../harness/in_process.ts";
import { type ProviderRequest, startFakeProvider } from "../harness/fake_provider.ts";

/** docs/gateway.md agrees with the code, and its commands work. */

const document = await Deno.readTextFile(new URL("../../docs/gateway.md", import.meta.url));
const URL_IN_DOCUMENT = "http://127.0.0.1:8420";

/** Returns the code blocks of a language below a heading. */
function blocks(language: string, heading: string): string[] {
  const part = document.split(new RegExp(`\n##+ ${heading}\n`))[1]!.split(/\n##+ /)[0]!;
  return [...part.matchAll(/```(\w+)\n([^]*?)```/g)].filter(([, name]) => name === language).map((
    [, , code],
  ) => code!);
}

/** Returns the cells of the table rows that begin with a text. */
function rows(begin: RegExp): string[][] {
  return document.split("\n").filter((line) => line.startsWith("|")).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  ).filter(([first]) => begin.test(first!));
}

const PREFIX: Record<string, string> = { OpenAI: "/openai", Anthropic: "/anthropic", Gemini: "/gemini" };

/** The requests of a cell, such as `GET /v1/models`. */
const requestsIn = (cell: string) =>
  [...cell.matchAll(/`(GET|POST|DELETE) (\/[^`]+)`/g)].map(([, method, path]) => ({
    method: method!,
    path: path!,
  }));

function endpointOf(method: string, pathname: string) {
  const target = findTarget({ pathname, headers: new Headers() }, () => false)!;
  return { target, endpoint: findEndpoint(method, target, new Headers()) };
}

Deno.test("the table of paths has what the gateway meters and passes on, and nothing else", () => {
  const metered: Record<string, Set<string>> = { openai: new Set(), anthropic: new Set(), google: new Set() };
  const free: string[] = [];
  let count = 0;
  for (const [api, cell, treatment] of rows(/^(OpenAI|Anthropic|Gemini)$/)) {
    for (const { method, path } of requestsIn(cell!)) {
      count++;
      const { target: { family, path: below }, endpoint } = endpointOf(method, PREFIX[api!] + path);
      assert.equal(endpoint.kind, treatment, path);
      if (endpoint.kind === "metered") metered[family]!.add(below.replace(/^models\/MODEL:/, ""));
      else free.push(`${family} ${method} ${below}`);
      // Without the provider, the path is the same one's, unless all have it.
      if (!/\/v1\/models/.test(path)) assert.equal(endpointOf(method, path).target.family, family);
    }
  }
  assert.ok(count >= 17, String(count));
  for (const [family, paths] of Object.entries(metered)) {
    const target = { provider: family, family: family as "openai", version: "v1", path: "unknown" };
    assert.throws(() => findEndpoint("POST", target, new Headers()), (error: Error) => {
      const taken = /the gateway takes (.*), lists of models/.exec(error.message)![1]!.split(", ");
      assert.deepEqual([...paths].sort(), taken.sort());
      return true;
    });
    for (const pattern of FREE[family as "openai"]) {
      assert.ok(
        free.some((each) => each.startsWith(`${family} `) && pattern.test(each.slice(family.length + 1))),
        `${family} ${pattern}`,
      );
    }
  }
});

Deno.test("the paths that the document says are refused are not found", () => {
  const refused = rows(/./).filter(([, status]) => status === "404").flatMap(([cell]) => requestsIn(cell!));
  assert.ok(refused.length >= 6);
  for (const { method, path } of refused) {
    assert.throws(
      () => endpointOf(method, path),
      (error) => error instanceof PurserError && error.code === "not_found",
    );
  }
});

Deno.test("the tables of query parameters and headers have those that pass, and no other", () => {
  const families = { OpenAI: "openai", Anthropic: "anthropic", Gemini: "google", all: "all" } as const;
  const part = document.split("\n## Query parameters and headers\n")[1]!.split("\n## ")[0]!;
  const listed = [...part.matchAll(/^\| (OpenAI|Anthropic|Gemini|all) +\| (.*?) +\|$/gm)].map((
    [, api, cell],
  ) => ({
    family: families[api as keyof typeof families],
    parts: cell!.split(": "),
    names: [...cell!.split(": ").at(-1)!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
  }));
  const headers = listed.filter(({ parts }) => parts.length === 1);
  assert.equal(headers.length, 4);
  for (const { family, names } of headers) assert.deepEqual(names, PASSED_HEADERS[family].split(" "), family);
  const parameters = listed.filter(({ parts }) => parts.length > 1);
  for (const family of ["openai", "anthropic", "google"] as const) {
    const rows = parameters.filter((row) => row.family === family);
    assert.deepEqual(rows.map(({ names }) => names), PASSED_PARAMETERS[family].map(([, names]) => names));
    rows.forEach(({ parts: [requests] }, index) => {
      for (const [, request] of requests!.matchAll(/`([^`]+)`/g)) {
        assert.match(request!, PASSED_PARAMETERS[family][index]![0]);
      }
    });
  }
});

Deno.test("the table of clients has each client with its variables", () => {
  const listed = rows(/^`[a-z-]+`$/).filter(([name]) =>
    (CLIENT_NAMES as readonly string[]).includes(name!.slice(1, -1))
  );
  assert.deepEqual(listed.map(([name]) => name!.slice(1, -1)), CLIENT_NAMES);
  GATEWAY_CLIENTS.forEach(({ variables }, index) => {
    const cell = listed[index]![1]!;
    for (const [name, value] of Object.entries(variables(""))) {
      const shown = value === null
        ? `\`${name}\` unset`
        : value.startsWith("/")
        ? `\`${name}\` ends with \`${value}\``
        : `\`${name}\``;
      assert.ok(cell.includes(shown), `${shown} in ${cell}`);
    }
  });
});

Deno.test("the settings of Claude Code and Codex are those that the command prints", () => {
  const claude = GATEWAY_CLIENTS.find(({ name }) => name === "claude-code")!.variables(URL_IN_DOCUMENT);
  const lines = blocks("text", "Claude Code")[0]!.trim().split("\n");
  for (const line of lines) {
    const [, name, value] = /^(?:export|unset) (\w+)=?"?([^"]*)"?$/.exec(line)!;
    assert.equal(value || null, claude[name!]);
  }
  assert.ok(lines.some((line) => line.includes(KEY)));
  const codex = GATEWAY_CLIENTS.find(({ name }) => name === "codex")!.file!;
  assert.deepEqual(blocks("toml", "Codex"), [codex.text(URL_IN_DOCUMENT)]);
});

Deno.test("the headers and figures in docs/gateway.md are those of the code", () => {
  const headers = rows(/^`x-purser-session`|^`x-claude|^`session-id`|^`x-session/).flatMap(([cell]) =>
    cell!.replaceAll("`", "").split(", ")
  );
  assert.deepEqual(headers, SESSION_HEADERS);
  const text = document.replaceAll(/\s+/g, " ");
  for (
    const figure of [
      `A body may have ${MAX_GATEWAY_BODY_BYTES / 1024 / 1024} MiB`,
      `\`calls\` (${REQUEST_LIMITS.calls.toLocaleString("en")})`,
      `\`calls_per_key\` (${REQUEST_LIMITS.calls_per_key.toLocaleString("en")})`,
      `sends nothing for ${QUIET_MS / 60_000} minutes`,
      "a token for each byte of the request and 1,024 more",
    ]
  ) assert.ok(text.includes(figure), figure);
  const aborting = /stop charging when a request is aborted: ([^.]+)\./.exec(text)![1]!;
  const named = [...aborting.matchAll(/OpenAI|Anthropic|(?<=`)\w+(?=`)/g)].map(([name]) =>
    name.toLowerCase()
  );
  assert.deepEqual(named.sort(), [...ABORTING].sort());
});

/** Answers each API with its first fixture. */
function replyTo({ api }: ProviderRequest) {
  return { answer: providerFixtures.find((fixture) => fixture.api === api)!.rounds[0]!.answer };
}

async function placeWithProvider(fake: { baseUrls: Record<string, string> }): Promise<Place> {
  const place = await newPlace();
  Object.assign(place.env, {
    OPENAI_API_KEY: "sk-openai",
    OPENAI_BASE_URL: fake.baseUrls.openai,
    ANTHROPIC_API_KEY: "sk-anthropic",
    ANTHROPIC_BASE_URL: fake.baseUrls.anthropic,
    GOOGLE_GENERATIVE_AI_API_KEY: "google",
    GOOGLE_GENERATIVE_AI_BASE_URL: fake.baseUrls.google,
  });
  return place;
}

async function sh(script: string, env: Record<string, string>): Promise<string> {
  const { PATH = "" } = env;
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-euc", script],
    clearEnv: true,
    env: { ...env, PATH },
  }).output();
  const text = new TextDecoder();
  assert.equal(code, 0, text.decode(stderr));
  return text.decode(stdout);
}

Deno.test("the curl commands are answered and booked, with the key that the quick start makes", async () => {
  await using fake = await startFakeProvider(replyTo);
  await using place = await placeWithProvider(fake);
  const [create, serve] = blocks("sh", "Quick start")[0]!.trim().split("\n");
  assert.equal(serve, "purser serve");
  const made = await purser(place, create!.split(" ").slice(1));
  assert.equal(made.code, 0, made.err);
  {
    await using server = await startServer(place);
    const env = { PATH: place.env.PATH!, PURSER_API_KEY: made.out.trim() };
    const commands = blocks("sh", "curl");
    assert.equal(commands.length, 3);
    const answers = [];
    for (const command of commands) {
      answers.push(JSON.parse(await sh(command.replace(URL_IN_DOCUMENT, server.url), env)));
    }
    assert.deepEqual(answers, fake.requests.map((request) => replyTo(request).answer.body));
    assert.deepEqual(
      fake.requests.map(({ headers }) =>
        headers["authorization"] ?? headers["x-api-key"] ?? headers["x-goog-api-key"]
      ),
      ["Bearer sk-openai", "sk-anthropic", "google"],
    );
    const { out: lines } = await purser(place, ["gateway", "env", "curl", "--server", server.url]);
    const models =
      `${lines}curl -s -o /dev/null -w '%{http_code}' "$PURSER_URL/openai/v1/files" -H "x-api-key: $PURSER_API_KEY"`;
    assert.equal(await sh(models, env), "404");
  }
  const { out } = await purser(place, ["cost", "--by", "session", "--json"]);
  assert.match(out, /"session_id":"chat-42".*"model_calls":1/);
  const byAgent = JSON.parse((await purser(place, ["cost", "--by", "agent", "--json"])).out);
  assert.deepEqual(
    byAgent.map((row: Record<string, unknown>) => [row.agent_id, row.model_calls, row.unpriced_calls]),
    [["laptop", 3, 0]],
  );
});

/** The modules of tests that have the packages of the document's programs; the others are the service's own. */
const PACKAGES: Record<string, string> = {
  "openai": "openai",
  "@anthropic-ai/sdk": "anthropic_sdk",
  "@google/genai": "google_genai",
  "@langchain/anthropic": "langchain_anthropic",
  "@langchain/openai": "langchain_openai",
};

/** Runs a program of the document; returns what it prints. */
async function runProgram(code: string, folder: string, env: Record<string, string>): Promise<string> {
  const program = code.replaceAll(/ from "([^"]+)";/g, (line, name) => {
    if (!Object.hasOwn(PACKAGES, name)) return line;
    return ` from ${JSON.stringify(import.meta.resolve(`../packages/${PACKAGES[name]}.ts`))};`;
  });
  await Deno.writeTextFile(`${folder}/program.mjs`, program);
  const path = (name: string) => new URL(`../../${name}`, import.meta.url).pathname;
  const { code: exitCode, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...[
        "run",
        "--quiet",
        "--no-check",
        "--cached-only",
        "--allow-env",
        "--allow-net=127.0.0.1",
        "--allow-read",
      ],
      ...["--allow-sys", "--config", path("deno.json"), "--lock", path("tests/deno.lock"), "--frozen"],
      `${folder}/program.mjs`,
    ],
    clearEnv: true,
    env,
  }).output();
  const text = new TextDecoder();
  assert.equal(exitCode, 0, text.decode(stderr));
  return text.decode(stdout);
}

Deno.test("the JavaScript of each client prints the answers, and its calls are booked in its session", async () => {
  await using fake = await startFakeProvider(replyTo);
  await using place = await placeWithProvider(fake);
  const key = (await purser(place, ["keys", "create", "laptop", "--scope", "call"])).out.trim();
  const programs = [...document.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code!);
  const imported = programs.flatMap((code) =>
    [...code.matchAll(/ from "([^"]+)";/g)].map(([, name]) => name!)
  );
  assert.deepEqual(
    imported.sort(),
    [...Object.keys(PACKAGES), "@ai-sdk/anthropic", "@ai-sdk/openai", "ai"].sort(),
  );
  {
    await using server = await startServer(place);
    const { PATH = "", HOME = "" } = place.env;
    const env = { PATH, HOME, ...denoCacheVariables(), PURSER_API_KEY: key };
    for (const code of programs) {
      const before = fake.calls;
      const out = await runProgram(code.replaceAll(URL_IN_DOCUMENT, server.url), place.folder, env);
      const lines = out.trim().split("\n");
      assert.equal(lines.length, fake.calls - before, out);
      fake.requests.slice(before).forEach((request, index) => {
        const { body } = replyTo(request).answer;
        assert.ok(JSON.stringify(body).includes(JSON.stringify(lines[index]).slice(1, -1)), lines[index]);
      });
    }
  }
  assert.equal(fake.calls, 7);
  const [row] = JSON.parse((await purser(place, ["cost", "--by", "session", "--json"])).out);
  assert.deepEqual([row.session_id, row.model_calls, row.unpriced_calls], ["chat-42", 7, 0]);
});

Deno.test("the commands on keys of docs/gateway.md work as they are written", async () => {
  await using place = await newPlace();
  let listed = "";
  for (const line of blocks("sh", "Keys")[0]!.trim().split("\n")) {
    const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!).slice(1);
    const { code, out, err } = await purser(place, args);
    assert.equal(code, 0, err);
    listed = out;
  }
  assert.match(listed, /^alice .*call/m);
});
