import assert from "node:assert/strict";
import { CLIENT_NAMES, PROGRAM_NAMES } from "../../src/cli/commands/env/env_commands.ts";
import { GATEWAY_CLIENTS } from "../../src/cli/commands/env/gateway_clients.ts";
import { OTLP_PROGRAMS } from "../../src/cli/commands/env/otlp_programs.ts";
import { memoryTerminal } from "../harness/memory_terminal.ts";
import { main } from "../../src/cli/mod.ts";
import { newPlace } from "../harness/cli_process.ts";
import { inProcess as purser } from "../harness/in_process.ts";

/** `purser gateway env` and `purser otlp env` print lines that a shell evaluates, and no secret. */

const SECRET = "psr_secret-in-the-environment";

async function printEnv(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const terminal = memoryTerminal();
  const code = await main([command, "env", ...args], { terminal, env: { PURSER_DB: ":memory:", ...env } });
  return { code, out: terminal.out, err: terminal.err };
}

const gatewayEnv = (args: readonly string[], env?: Record<string, string>) => printEnv("gateway", args, env);

/** The environment of a shell that has evaluated a text. */
async function evaluate(shell: string, text: string, env: Record<string, string>) {
  const { code, stdout, stderr } = await new Deno.Command(shell, {
    args: ["-c", 'eval "$TEXT" && env'],
    clearEnv: true,
    env: { ...env, TEXT: text, PATH: "/usr/bin:/bin" },
  }).output();
  const output = new TextDecoder();
  assert.equal(code, 0, output.decode(stderr));
  return Object.fromEntries(
    output.decode(stdout).split("\n").filter((line) => line.includes("=")).map((line) => {
      const at = line.indexOf("=");
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}

/** Variables that would send calls, or contents, another way. */
const UNSET = { ANTHROPIC_API_KEY: "sk-own", GOOGLE_API_KEY: "own", OTEL_LOG_USER_PROMPTS: "1" };

const CLIENTS = [
  ...GATEWAY_CLIENTS.map((client) => ({ ...client, command: "gateway" })),
  ...OTLP_PROGRAMS.map((client) => ({ ...client, command: "otlp" })),
];

Deno.test("the commands offer those clients and programs that have settings", () => {
  assert.deepEqual(GATEWAY_CLIENTS.map(({ name }) => name), CLIENT_NAMES);
  assert.deepEqual(OTLP_PROGRAMS.map(({ name }) => name), PROGRAM_NAMES);
});

for (const { command, name, variables } of CLIENTS) {
  Deno.test(`the lines of ${command} env for ${name} set its variables in a shell, and contain no secret`, async () => {
    const { code, out, err } = await printEnv(command, [name], { PURSER_API_KEY: SECRET });
    assert.equal(code, 0, err);
    assert.doesNotMatch(out + err, /psr_/);
    const before = { PURSER_API_KEY: SECRET, ...UNSET };
    const after = await evaluate("sh", out, before);
    for (const [variable, value] of Object.entries(variables("http://127.0.0.1:8420"))) {
      assert.equal(after[variable], value === null ? undefined : value.replace("$PURSER_API_KEY", SECRET));
    }
    const json = JSON.parse((await printEnv(command, [name, "--json"], { PURSER_API_KEY: SECRET })).out);
    assert.deepEqual(Object.keys(json), ["client", "variables", "unset", "file"]);
    assert.doesNotMatch(JSON.stringify(json), /psr_/);
  });
}

for (
  const [args, env, url] of [
    [[], {}, "http://127.0.0.1:8420"],
    [[], { PURSER_SERVER: "https://purser.example.com/" }, "https://purser.example.com"],
    [["--server", "http://[::1]:9000"], {}, "http://[::1]:9000"],
    [["--server", "http://h/it's$(x) y"], {}, "http://h/it's$(x)%20y"],
    [["--server", "http://h/$PURSER_API_KEY$(exit 1)`x`"], {}, "http://h/$PURSER_API_KEY$(exit%201)%60x%60"],
  ] as const
) {
  Deno.test(`the server's URL is ${url}`, async () => {
    const { out, err } = await gatewayEnv(["openai", ...args], env);
    assert.match(err, /^Set PURSER_API_KEY first, /);
    assert.equal((await evaluate("sh", out, {})).OPENAI_BASE_URL, `${url}/openai/v1`);
  });
}

Deno.test("the server's URL is that of the settings that it starts with", async () => {
  await using place = await newPlace();
  await Deno.mkdir(`${place.folder}/purser`);
  const config = { host: "0.0.0.0", port: 9001, profiles: { prod: { server: "https://p.example.com" } } };
  await Deno.writeTextFile(`${place.folder}/purser/purser.json`, JSON.stringify(config));
  assert.match(
    (await purser(place, ["gateway", "env", "curl"])).out,
    /^export PURSER_URL=http:\/\/127\.0\.0\.1:9001\n/,
  );
  const { out } = await purser(place, ["gateway", "env", "curl", "--profile", "prod"]);
  assert.match(out, /^export PURSER_URL=https:\/\/p\.example\.com\n/);
});

Deno.test("an unknown client is a usage error that lists all", async () => {
  const { code, out, err } = await gatewayEnv(["claude"]);
  assert.deepEqual([code, out], [2, ""]);
  assert.ok(
    err.startsWith(
      `error: Cannot print the variables of claude: it is not one of ${CLIENT_NAMES.join(", ")}`,
    ),
  );
});
