import { BUDGET_FIELDS } from "../src/contract/budgets/budgets.ts";
import { RESERVATION_SECONDS } from "../src/contract/limits.ts";
import { BUDGET_PERIODS, REFUSAL_REASONS, SCOPES } from "../src/contract/values.ts";
import assert from "node:assert/strict";
import { withLists } from "../build/architecture.ts";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { loadConfig, SETTING_ROWS } from "../src/config/mod.ts";
import { KEY_CACHE_MS } from "../src/keys/mod.ts";
import { ADD_BUDGET, ADD_RULE, RUN_AGENT } from "../src/ui/views/commands.ts";
import { loadToolModules } from "../src/runner/tools/mod.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { blocks, deno, readDocument, ROOT, runExample, runLines, words } from "./harness/documents.ts";

/** Executes the commands and examples of the documents, so that they can't rot. */

Deno.test("the README's first steps work as they are written", () =>
  inDirectory(async (directory) => {
    const lines = blocks(await readDocument("README.md"), "sh", "First steps").join("").trim().split("\n");
    assert.ok(lines.length >= 4);
    const output = await runLines(lines.map((line) => line.replace(/\s+#.*$/, "")), directory);
    assert.match(output, /391/);
    assert.match(output, /helper/);
  }));

Deno.test("the commands that empty pages of the dashboard teach work on an empty database", () =>
  inDirectory(async (directory) => {
    const output = await runLines([...RUN_AGENT.split("\n"), ADD_BUDGET, ADD_RULE], directory);
    assert.match(output, /391[^]*Added budget [^]*Daily limit/);
  }));

Deno.test("the commands of docs/snapshots.md work as they are written", () =>
  inDirectory(async (directory) => {
    const lines = blocks(await readDocument("docs/snapshots.md"), "sh").join("").trim().split("\n");
    const output = await runLines(lines, directory);
    assert.match(output, /Nothing was written\nRestored session ses_42 of helper: 4 messages/);
    assert.match(output, /calculator says 414/);
  }));

Deno.test("the library example of docs/snapshots.md runs", () =>
  inDirectory(async (directory) => {
    const [code] = blocks(await readDocument("docs/snapshots.md"), "ts");
    const result = await runExample(code!, directory);
    assert.equal(result.out, "2 messages restored\n");
  }));

Deno.test("the README names only tasks that exist, and each with its form for Node", async () => {
  const readme = await readDocument("README.md");
  const { tasks } = JSON.parse(await readDocument("deno.json"));
  const named = [...readme.matchAll(/deno(@[\d.]+)? task (\w+)/g)].map(([, , task]) => task!);
  assert.deepEqual([...new Set(named)].sort(), ["demo", "npm", "test"]);
  for (const task of named) assert.ok(task in tasks, `deno.json has the task ${task}`);
  for (const task of ["demo", "test"]) assert.ok(readme.includes(`npx -y deno@2.9.6 task ${task}`));
});

Deno.test("the README's library example runs", () =>
  inDirectory(async (directory) => {
    const [code] = blocks(await readDocument("README.md"), "ts", "As a library");
    const result = await runExample(code!, directory);
    assert.match(result.out, /You said: Hello 0\.\d+/);
  }));

Deno.test("the library document's example of typed reads runs", () =>
  inDirectory(async (directory) => {
    const code = blocks(await readDocument("docs/library.md"), "ts").find((each) => each.includes("costs({"));
    const result = await runExample(code!, directory);
    assert.match(result.out, /^\d{4}-\d\d-\d\d 0\.\d+\nfirst\n$/);
  }));

Deno.test("every openPurser() of the documents' programs names its database, which is required", async () => {
  const calls: string[] = [];
  for (
    const path of [
      "README.md",
      ...["library", "alerts", "budgets", "snapshots"].map((name) => `docs/${name}.md`),
    ]
  ) {
    const programs = (await readDocument(path)).match(/^```ts\n[^]*?^```$/gm) ?? [];
    calls.push(...programs.flatMap((program) => program.match(/await openPurser\(\{?[^:}]*/g) ?? []));
  }
  assert.ok(calls.length >= 6);
  assert.deepEqual(calls.filter((call) => !/\(\{\s*db$/.test(call)), []);
});

Deno.test("the config file of the docs is valid, and so is the tool module", () =>
  inDirectory(async (directory) => {
    const document = await readDocument("docs/getting_started.md");
    const [config] = blocks(document, "jsonc");
    const [tools] = blocks(document, "ts");
    await Deno.writeTextFile(`${directory}/purser.json`, config!);
    await Deno.writeTextFile(`${directory}/tools.ts`, tools!);
    const loaded = await loadConfig({
      env: { HOME: directory, LOCAL_KEY: "key" },
      options: { configPath: `${directory}/purser.json` },
    });
    assert.equal(loaded.providers.local!.apiKey, "key");
    assert.equal(loaded.prices.length, 1);
    assert.deepEqual(Object.keys(await loadToolModules(loaded.tools)), ["dice"]);
  }));

Deno.test("the table of settings has each setting with its option, its variable and its default", async () => {
  const lines = (await readDocument("docs/getting_started.md")).split("\n");
  for (const { key, optionName, option, variable, hasVariable, default: usual } of SETTING_ROWS) {
    const row = lines.find((line) => line.startsWith("|") && line.split("|")[1]!.includes(`\`${key}\``));
    assert.ok(row !== undefined, `docs/getting_started.md has no row of ${key}`);
    assert.equal(row.includes(`\`--${optionName}\``), option !== undefined, `${row}: --${optionName}`);
    assert.equal(row.includes(`\`${variable}\``), hasVariable === true, `${row}: ${variable}`);
    assert.ok(row.includes(`\`${usual}\``), `${row}: ${usual}`);
  }
});

Deno.test("the README links every document, and how to report a vulnerability", async () => {
  const readme = await readDocument("README.md");
  const documents = ["SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md"];
  for await (const { name, isFile } of Deno.readDir(new URL("docs/", ROOT))) {
    if (isFile && name.endsWith(".md")) documents.push(`docs/${name}`);
  }
  assert.ok(documents.length > 15);
  assert.deepEqual(documents.filter((path) => !readme.includes(`](${path})`)), []);
});

/** A path of the repository in backquotes; one with a placeholder, such as `NAME` or `…`, is no path. */
const NAMED_PATH = /`((?:src|tests|build|plugins|bench)\/[\w./-]*)`/g;

/** Splits a document into its list items, table rows and paragraphs, each as one line. */
function itemsOf(document: string): string[] {
  return document.replace(/^```[^]*?^```$/gm, "").split(/\n(?=\s*(?:\n|\d+\. |- |\|))/)
    .map((item) => item.replaceAll(/\s+/g, " ").trim());
}

for (const path of ["docs/architecture.md", "CONTRIBUTING.md"]) {
  Deno.test(`the files and functions that ${path} names exist`, async () => {
    const document = await readDocument(path);
    const missing: string[] = [];
    for (const [, file] of document.matchAll(NAMED_PATH)) {
      const isPlaceholder = /[A-Z]{4}/.test(file!);
      if (!isPlaceholder && !await Deno.stat(new URL(file!, ROOT)).catch(() => undefined)) {
        missing.push(file!);
      }
    }
    let checked = 0;
    for (const item of itemsOf(document)) {
      const links = [...item.matchAll(/\]\(([^):#]+\.tsx?)\)/g)].map(([, link]) => link!);
      // A link that leads nowhere is reported by its own name.
      const texts = await Promise.all(
        links.map((link) =>
          Deno.readTextFile(new URL(link, new URL(path, ROOT))).catch(() => (missing.push(link), ""))
        ),
      );
      for (const [, name] of links.length === 0 ? [] : item.matchAll(/`(\w+)\(\)`/g)) {
        checked++;
        const definition = new RegExp(
          `\\b(?:function\\*?|const|class) ${name}\\b|^  (?:async )?${name}\\(`,
          "m",
        );
        if (!texts.some((text) => definition.test(text))) missing.push(`${name}() in ${links.join(" or ")}`);
      }
    }
    assert.deepEqual(missing, []);
    if (path === "docs/architecture.md") assert.ok(checked > 40, "the scan found the functions");
  });
}

Deno.test("the lists of docs/architecture.md are those of the code", async () => {
  const document = await readDocument("docs/architecture.md");
  assert.equal(document, withLists(document), "Run: deno task map");
});

Deno.test("the commands on profiles work as they are written", () =>
  inDirectory(async (directory) => {
    const lines = blocks(await readDocument("docs/getting_started.md"), "sh", "Profiles").join("").trim();
    const output = await runLines(lines.split("\n"), directory);
    assert.match(
      output,
      /^staging +server +https:\/\/purser\.example\.com .*\nbooks +db +\/.*books\.db +none$/m,
    );
    assert.match(output, /^helper +demo:echo .*\nRemoved profile staging/m);
  }));

Deno.test("the quick start on budgets works as it is written: a run is refused, and made after a raise", () =>
  inDirectory(async (directory) => {
    const text = blocks(await readDocument("docs/budgets.md"), "sh", "Quick start").join("");
    const lines = text.trim().split("\n");
    const refused = lines.indexOf('purser run helper "Hello again"');
    const before = await runLines(lines.slice(0, refused), directory);
    assert.match(before, /^Added budget bud_\w+ Day: [^]*\nDay +\$0\.00001 [^]*\nYou said: Hello\n$/m);
    const [, ...args] = words(lines[refused]!);
    const env = { XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory };
    const cli = new URL("cli.ts", ROOT).href;
    const { code, err } = await deno(["run", ...CLI_PERMISSIONS, "--quiet", cli, ...args], env, directory);
    assert.equal(code, 5, err);
    const [message] = blocks(await readDocument("docs/budgets.md"), "text", "Quick start");
    const plain = (text: string) =>
      text.replaceAll(/\b(run|bud)_(\w+|…)/g, "$1_ID").replaceAll(/\d{4}-\d\d-\d\dT00:00Z/g, "MIDNIGHT");
    assert.equal(plain(err.split("\n")[0]!), plain(message!.trim()));
    const after = await runLines(lines.slice(refused + 1), directory);
    assert.match(
      after,
      / reached [^]*\nRaised budget Day by \$0\.01 [^]*\nYou said: Hello again\n[^]*^Refused +1 call/m,
    );
  }));

Deno.test("the commands of docs/budgets.md that add, change and raise budgets work as they are written", () =>
  inDirectory(async (directory) => {
    const document = await readDocument("docs/budgets.md");
    const lines = blocks(document, "sh", "Adding and changing").join("").trim().split("\n");
    const output = await runLines(lines, directory);
    assert.match(output, /Research: \$200 for a month of researcher, strict/);
    assert.match(output, /^Changed budget bud_\w+ Trial: [^]*warns at 50%, 80%, 100%\n/m);
    assert.match(output, /Raised budget Research by \$20 until .*: its limit is \$220 now/);
  }));

Deno.test("the library example on budgets prints what it says", () =>
  inDirectory(async (directory) => {
    const document = await readDocument("docs/budgets.md");
    const result = await runExample(blocks(document, "ts", "In a program")[0]!, directory);
    const printed = [
      ...document.split("\n## In a program\n")[1]!.matchAll(/It prints `([^`]+)` and `([^`]+)`/g),
    ][0]!;
    assert.equal(result.out, `${printed[1]}\n${printed[2]}\n`);
  }));

Deno.test("docs/budgets.md has every field of a budget, every window and every reason", async () => {
  const document = await readDocument("docs/budgets.md");
  const named = new Set(
    [...document.matchAll(/^\| (`[^|]+`) +\|/gm)].flatMap(([, cell]) =>
      cell!.split(", ").map((name) => name.replaceAll("`", ""))
    ),
  );
  for (const name of [...BUDGET_FIELDS, ...BUDGET_PERIODS, ...REFUSAL_REASONS]) {
    assert.ok(named.has(name), name);
  }
  const { default: seconds, max } = RESERVATION_SECONDS;
  const text = document.replaceAll(/\s+/g, " ");
  assert.ok(text.includes(`\`ttl_seconds\`, ${seconds} unless given, at most ${max}.`));
});

for (const [path, heading] of [["docs/keys.md", undefined], ["README.md", "Serve"]] as const) {
  Deno.test(`the commands on keys of ${path} work as they are written`, () =>
    inDirectory(async (directory) => {
      const lines = blocks(await readDocument(path), "sh", heading).join("").trim().split("\n")
        .filter((line) => line.startsWith("purser keys")).map((line) => line.replace(/\s+#.*$/, ""));
      assert.ok(lines.length >= 2);
      const output = await runLines(lines, directory);
      assert.match(output, /^psr_[0-9a-hjkmnp-tv-z]{26}_[0-9a-hjkmnp-tv-z]{39}$/m);
    }));
}

Deno.test("the figures in docs/keys.md are those of the code", async () => {
  const document = await readDocument("docs/keys.md");
  assert.ok(document.includes(`within ${KEY_CACHE_MS / 1000} seconds`));
  const scopes = [...document.matchAll(/^\| `(\w+)` /gm)].map(([, scope]) => scope);
  assert.deepEqual(scopes, [...SCOPES]);
});

Deno.test("docs/operating.md names every check of the doctor, and no other", async () => {
  const table = (await readDocument("docs/operating.md")).split("\n## Health checks\n")[1]!.split(
    "\n## ",
  )[0]!;
  const named = [...table.matchAll(/^\| `([^`]+)` /gm)].map(([, name]) => name!);
  await using purser = await openTestPurser({
    env: { OPENAI_API_KEY: "sk-hunter2" },
    fetch: () => Promise.resolve(Response.json({})),
  });
  const { body } = await purser.api("GET", "/doctor");
  const checks = body.map(({ name }: { name: string }) => name.replace(/^(channel|provider) .*/, "$1 NAME"));
  assert.deepEqual(named, ["connection", ...checks]);
});
