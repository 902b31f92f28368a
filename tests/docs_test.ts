import assert from "node:assert/strict";
import { loadConfig } from "../src/config.ts";
import { loadToolModules } from "../src/runner/mod.ts";

/** What the documents tell people to do is done here, so that it can't rot. */

const ROOT = new URL("../", import.meta.url);

async function readDocument(path: string): Promise<string> {
  return await Deno.readTextFile(new URL(path, ROOT));
}

/** The code blocks of one language below a heading, or of the whole document. */
function blocks(document: string, language: string, heading?: string): string[] {
  const part = heading === undefined ? document : document.split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!;
  return [...part.matchAll(/```(\w+)\n([^]*?)```/g)].filter(([, name]) => name === language).map((
    [, , code],
  ) => code!);
}

async function deno(args: string[], env: Record<string, string> = {}, cwd: string | URL = ROOT) {
  const output = await new Deno.Command(Deno.execPath(), { args, env: { NO_COLOR: "1", ...env }, cwd })
    .output();
  const text = new TextDecoder();
  return { code: output.code, stdout: text.decode(output.stdout), stderr: text.decode(output.stderr) };
}

/** Cuts a command line into words; quotes hold words together. */
function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);
}

async function inDirectory(test: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await test(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("the README's first steps work as they are written", () =>
  inDirectory(async (directory) => {
    const lines = blocks(await readDocument("README.md"), "sh", "First steps").join("").trim().split("\n");
    assert.ok(lines.length >= 4);
    let output = "";
    for (const line of lines) {
      const [program, ...args] = words(line.replace(/\s+#.*$/, ""));
      assert.equal(program, "purser");
      const { code, stdout, stderr } = await deno(["run", "-A", "--quiet", "cli.ts", ...args], {
        XDG_CONFIG_HOME: directory,
        XDG_DATA_HOME: directory,
      });
      assert.equal(code, 0, `${line}\n${stderr}`);
      output += stdout;
    }
    assert.match(output, /391/);
    assert.match(output, /helper/);
  }));

Deno.test("the commands of the document on snapshots work as they are written", () =>
  inDirectory(async (directory) => {
    const lines = blocks(await readDocument("docs/snapshots.md"), "sh").join("").trim().split("\n");
    let output = "";
    for (const line of lines) {
      const [program, ...args] = words(line);
      assert.equal(program, "purser");
      const { code, stdout, stderr } = await deno(
        ["run", "-A", "--quiet", new URL("cli.ts", ROOT).href, ...args],
        { XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory },
        directory,
      );
      assert.equal(code, 0, `${line}\n${stderr}`);
      output += stdout;
    }
    assert.match(output, /Nothing was written\nRestored session ses_42 of helper: 4 messages/);
    assert.match(output, /calculator says 414/);
  }));

Deno.test("the library example on snapshots runs", () =>
  inDirectory(async (directory) => {
    const [code] = blocks(await readDocument("docs/snapshots.md"), "ts");
    const path = `${directory}/example.ts`;
    await Deno.writeTextFile(
      path,
      code!.replaceAll('"./src/mod.ts"', JSON.stringify(new URL("src/mod.ts", ROOT).href)),
    );
    const config = new URL("deno.json", ROOT).pathname;
    const result = await deno(["run", "-A", "--quiet", "--config", config, path], {}, directory);
    assert.equal(result.code, 0, result.stderr);
    assert.equal(result.stdout, "2 messages restored\n");
  }));

Deno.test("the README names only tasks that exist, and each with its form for Node", async () => {
  const readme = await readDocument("README.md");
  const { tasks } = JSON.parse(await readDocument("deno.json"));
  const named = [...readme.matchAll(/deno(@[\d.]+)? task (\w+)/g)].map(([, , task]) => task!);
  assert.deepEqual([...new Set(named)].sort(), ["demo", "test"]);
  for (const task of named) assert.ok(task in tasks, `deno.json has the task ${task}`);
  for (const task of ["demo", "test"]) assert.ok(readme.includes(`npx -y deno@2.9.6 task ${task}`));
});

Deno.test("the README's library example runs", () =>
  inDirectory(async (directory) => {
    const [code] = blocks(await readDocument("README.md"), "ts", "As a library");
    const path = `${directory}/example.ts`;
    await Deno.writeTextFile(
      path,
      code!.replaceAll('"./src/mod.ts"', JSON.stringify(new URL("src/mod.ts", ROOT).href)),
    );
    const result = await deno(["run", "-A", "--quiet", "--config", "deno.json", path]);
    assert.equal(result.code, 0, result.stderr);
    assert.match(result.stdout, /You said: Hello 0\.\d+/);
  }));

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

Deno.test("every relative link in the documents leads to a file", async () => {
  const documents = ["README.md", "CHANGELOG.md", "bench/README.md"];
  for await (const entry of Deno.readDir(new URL("docs/", ROOT))) {
    if (entry.isFile) documents.push(`docs/${entry.name}`);
  }
  for (const path of documents) {
    for (const [, target] of (await readDocument(path)).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)) {
      await Deno.stat(new URL(target!, new URL(path, ROOT)));
    }
  }
});
