import assert from "node:assert/strict";
import { parse, type ParseError } from "jsonc-parser";
import { z } from "zod";
import { builtInChannels } from "../plugins/mod.ts";
import { loadAllCommands } from "../src/cli/command_table.ts";
import { parseCommandLine } from "../src/cli/parse/parse_command_line.ts";
import { keysKnownAt } from "../src/config/file/parse_config_file.ts";
import { loadConfig } from "../src/config/mod.ts";
import { ApplyBody } from "../src/contract/definitions/definitions.ts";
import { RefusedBy } from "../src/contract/budgets/budget_refusals.ts";
import { createChannels } from "../src/delivery/channels/mod.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { silentLog } from "../src/kernel/log.ts";
import { BUILT_IN_PROVIDERS } from "../src/contract/values.ts";
import { allBlocks, type CodeBlock, readAllDocuments, readDocument } from "./harness/documents.ts";
import { inDirectory } from "./harness/in_directory.ts";

/** Every code block of every document is checked: parsed, compiled, or executed by the test that is named here. */

/** The languages, and the check of their blocks. */
const LANGUAGES: Readonly<Record<string, string>> = {
  sh: "command lines are parsed below; tests/docs_test.ts and its like execute them",
  text: "the same; output is compared where a test produces it",
  ts: "tests/deno_package_test.ts type-checks them",
  js: "tests/gateway/docs_test.ts and tests/otlp/senders_test.ts execute them",
  json: "parsed below",
  jsonc: "parsed below",
  jsonl: "tests/importers/guide_test.ts reads it",
  toml: "tests/gateway/docs_test.ts and tests/otlp/docs_test.ts compare it with what the command prints",
  yaml: "settings of Prometheus (tests/metrics_test.ts has the metrics) and of a collector",
  python: "programs of clients that are no part of this repository",
  mermaid: "diagrams",
  csv: "a file for commands that tests/bills/import_command_test.ts runs",
  console: "a session with its output: the commands are in tests/bills/import_command_test.ts",
  sql: "statements of PostgreSQL's own client",
  "": "variables of OpenTelemetry",
};

interface Snippet extends CodeBlock {
  /** The document and the line, as `docs/library.md:21`. */
  place: string;
  path: string;
}

const snippets: Snippet[] = (await readAllDocuments()).flatMap(({ path, text }) =>
  allBlocks(text).map((block) => ({ ...block, path, place: `${path}:${block.line}` }))
);
const inLanguage = (...languages: string[]) =>
  snippets.filter(({ language }) => languages.includes(language));

Deno.test("every code block has a language that is checked", () => {
  assert.deepEqual(snippets.filter(({ language }) => !Object.hasOwn(LANGUAGES, language)), []);
  assert.ok(snippets.length > 100, String(snippets.length));
});

/** Parses JSON with comments; several documents may follow each other after a comment each. */
function parseJsonc(code: string): unknown[] {
  const errors: ParseError[] = [];
  const documents = code.startsWith("//") ? code.split(/^\/\/.*\n/m).slice(1) : [code];
  const values = documents.map((document) => parse(document, errors, { allowTrailingComma: false }));
  assert.deepEqual(errors, []);
  return values;
}

/** Checks that a config file is valid, with the settings of its channels. */
/** The forms of the values of files and variables, by their names. */
const FORMS: readonly (readonly [name: RegExp, value: string])[] = [
  [/url|slack|discord|teams/i, "https://hooks.example.com/services/T0/B0/abc"],
  [/topic/i, "alerts-x7k2"],
  [/telegram/i, `123456789:${"A".repeat(35)}`],
  [/routing|pagerduty/i, "0123456789abcdef0123456789abcdef"],
  [/secret/i, `whsec_${btoa("a secret of 24 bytes or more")}`],
];

async function checkConfig(code: string, directory: string): Promise<void> {
  const variables = [...code.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name!);
  const valueOf = (name: string) => FORMS.find(([form]) => form.test(name))?.[1] ?? "k3ysecretsecret";
  const text = code.replaceAll(/"file": "(?:.*\/)?(\w[\w.]*)"/g, '"file": "$1"').replaceAll(
    /\.\/(\w+\.ts)"/g,
    '$1"',
  );
  for (const [, name] of text.matchAll(/"file": "([^"]+)"/g)) {
    await Deno.writeTextFile(`${directory}/${name}`, valueOf(name!));
  }
  const pager = allBlocks(await readDocument("docs/writing_a_channel.md")).find(({ language }) =>
    language === "ts"
  )!;
  await Deno.writeTextFile(`${directory}/pager.ts`, pager.code);
  await Deno.writeTextFile(`${directory}/purser.json`, text);
  const config = await loadConfig({
    env: { HOME: directory, ...Object.fromEntries(variables.map((name) => [name, valueOf(name)])) },
    options: { configPath: `${directory}/purser.json` },
  });
  const channels = createChannels({
    channels: config.channels,
    plugins: builtInChannels,
    pluginPaths: config.plugins,
    allowPrivateNetworks: config.allowPrivateNetworks,
    log: silentLog,
    clock: systemClock,
  });
  for (const channel of channels.list) assert.equal(await channel.check(), undefined, channel.name);
  await channels.close();
}

const LogLine = z.looseObject({ level: z.string(), at: z.iso.datetime(), message: z.string() });
const Problem = z.looseObject({ message: z.string() });

/** The blocks of JSON that are no config: a schema of each, in their order. */
const ANSWERS: Readonly<Record<string, readonly z.ZodType[]>> = {
  "docs/audit.md": [ApplyBody],
  "docs/budgets.md": [z.strictObject({
    code: z.literal("budget_exceeded"),
    details: z.strictObject({
      cost_usd_so_far: z.number(),
      budget_usd: z.number(),
      refused_by: z.array(RefusedBy),
    }),
  })],
  "docs/gateway.md": [
    z.strictObject({ error: Problem }),
    z.strictObject({ type: z.literal("error"), error: Problem, request_id: z.string() }),
    z.strictObject({ error: Problem }),
  ],
  // tests/importers/guide_test.ts compares it with what the importer of the guide tells.
  "docs/writing_an_importer.md": [z.strictObject({ emitter: z.string(), calls: z.array(z.object({})) })],
  // Lines of the log, as src/http/middleware/request_log_test.ts and tests/gateway/log_test.ts have them.
  "docs/observability.md": [LogLine, LogLine],
  "plugins/webhook/README.md": [
    z.strictObject({
      type: z.string(),
      timestamp: z.iso.datetime(),
      data: z.looseObject({ id: z.string() }),
    }),
  ],
};

Deno.test("every block of JSON is valid: a config by its schema and its channels, others by their own schema", async () => {
  const rest = new Map(Object.entries(ANSWERS).map(([path, schemas]) => [path, [...schemas]]));
  let configs = 0;
  for (const { language, code, path, place } of inLanguage("json", "jsonc")) {
    if (language === "json") assert.doesNotThrow(() => JSON.parse(code), place);
    for (const value of parseJsonc(code)) {
      const keys = Object.keys(value as object);
      if (keys.every((key) => keysKnownAt([]).includes(key))) {
        configs++;
        await inDirectory((directory) => checkConfig(code, directory)).catch((error) =>
          assert.fail(`${place}: ${error.message}`)
        );
      } else if (keys.includes("links")) {
        // tests/deno_package_test.ts and tests/channels/guide_test.ts make projects of them.
        assert.deepEqual(value, { links: ["../purser"] }, place);
      } else {
        const schema = rest.get(path)?.shift() ?? assert.fail(`${place} needs a schema in ANSWERS`);
        assert.equal(schema.safeParse(value).error, undefined, place);
      }
    }
  }
  assert.deepEqual([...rest.values()].flat(), [], "ANSWERS has schemas of blocks that are gone");
  assert.ok(configs >= 9, String(configs));
});

Deno.test("the config of examples/edge_workers is valid, and so is the Purser config in it", () =>
  inDirectory(async (directory) => {
    const [{ vars }] = parseJsonc(await readDocument("examples/edge_workers/wrangler.jsonc")) as [
      { vars: Record<string, unknown> },
    ];
    await checkConfig(JSON.stringify(vars.PURSER_CONFIG_JSON), directory);
  }));

Deno.test("the providers that gateway.md gives keys of the environment are those that the config can't have", async () => {
  const [, paragraph] = /\n(The server has the keys of [^]*?):\n/.exec(
    await readDocument("docs/gateway.md"),
  )!;
  assert.match(
    paragraph!.replaceAll("\n", " "),
    /of OpenAI, Anthropic and Google in its environment.* which can't have/,
  );
  for (const name of BUILT_IN_PROVIDERS) {
    const config = JSON.stringify({ providers: { [name]: { base_url: "https://api.example.com/v1" } } });
    await assert.rejects(
      loadConfig({ env: { PURSER_CONFIG_JSON: config, HOME: "/nowhere" } }),
      /is the name of a built-in provider; choose another one/,
    );
  }
});

/** The command lines of a block: those of `purser`, without what the shell does with them. */
function commandsIn(code: string): string[] {
  return code.replaceAll("\\\n", " ").split("\n").flatMap((line) => {
    const [, command] = /^(?:\$ |[A-Z_]+=\S+ )*(purser .*)$/.exec(line.trim()) ?? [];
    return command === undefined ? [] : [command.split(/ (?:[|<>]|#|&&) /)[0]!];
  });
}

/** The command lines in the text of a document, which may have placeholders. */
function commandsInText(text: string): string[] {
  return [...text.matchAll(/`((?:[A-Z_]+=\S+ )*purser\s[^`]*)`/g)].flatMap(([, line]) =>
    commandsIn(line!.replaceAll(/\s+/g, " ").replaceAll("\\|", "|"))
  );
}

const words = (line: string) =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);

Deno.test("every command line of every document has a command and options that exist", async () => {
  const faults: string[] = [];
  const commands = await loadAllCommands();
  let found = 0;
  const check = (line: string, place: string, isMention = false) => {
    found++;
    try {
      parseCommandLine(words(line).slice(1), commands);
    } catch (error) {
      const { message } = error as Error;
      // A sentence may name a command without its arguments, or an option without its value.
      if (!isMention || !/^Cannot use .+ without [A-Z_]+$/.test(message)) {
        faults.push(`${place}: ${line}: ${message}`);
      }
    }
  };
  for (const { language, code, place } of snippets) {
    if (language === "sh" || language === "text") { for (const line of commandsIn(code)) check(line, place); }
  }
  for (const { path, text } of await readAllDocuments()) {
    if (/^CHANGELOG|decisions/.test(path)) continue; // they name what there was
    for (const line of commandsInText(text)) check(line, path, true);
  }
  assert.deepEqual(faults, []);
  assert.ok(found > 150, String(found));
});
