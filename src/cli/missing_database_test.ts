import assert from "node:assert/strict";
import { inDirectory } from "../../tests/harness/in_directory.ts";
import type { Command } from "./command.ts";
import { loadAllCommands } from "./command_table.ts";
import { EXIT } from "./exit_code.ts";
import { main } from "./mod.ts";
import { memoryTerminal } from "../../tests/harness/memory_terminal.ts";

const COMMANDS = await loadAllCommands();

/** A named database that is missing: probably a mistyped path, which no command that reads may create. */

/** The commands that use a database and don't create one. `state show` reads a file alone. */
const READING = COMMANDS.filter(({ name, isReadOnly, needsDatabase }) =>
  (isReadOnly || needsDatabase) && name !== "state show"
);

/** Options without which a command is refused. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  reprice: ["--unpriced"],
  "state export": ["--output", "-"],
  "alerts set": ["--disabled"],
  "budgets set": ["--disabled"],
  "budgets raise": ["--usd", "1"],
  "keys set": ["--tag", "team=search"],
  "budgets release": ["--reason", "x"],
  "approvals approve": ["--reason", "x"],
  "approvals deny": ["--reason", "x"],
  "reconcile reopen": ["--reason", "x"],
  "export calls": ["--to", "archive"],
  statement: ["--by", "team"],
};

function lineOf({ name, args }: Command): string[] {
  const values = args.filter(({ isOptional }) => !isOptional).map(({ values }) =>
    values?.live === "key" ? "key_1" : "ses_1"
  );
  return [...name.split(" "), ...values, ...NEEDED[name] ?? []];
}

async function purser(line: readonly string[], env: Record<string, string>) {
  const terminal = memoryTerminal();
  const code = await main(line, { terminal, env });
  return { code, out: terminal.out, err: terminal.err };
}

const namesIn = async (folder: string) =>
  (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);

Deno.test("a command that reads refuses a named database that is missing, and creates nothing", () =>
  inDirectory(async (directory) => {
    assert.ok(READING.length > 15);
    for (const command of READING) {
      const { code, out, err } = await purser([...lineOf(command), "--db", `${directory}/typo/books.db`], {
        HOME: directory,
      });
      const said = command.name === "doctor" ? out : err;
      assert.ok(
        said.includes(
          `Cannot open database ${directory}/typo/books.db, named by --db: there is no such file`,
        ),
        `${command.name}: ${out}${err}`,
      );
      assert.equal(code, command.name === "doctor" ? EXIT.failed : EXIT.notFound, command.name);
    }
    assert.deepEqual(await namesIn(directory), []);
  }));

/** The commands whose answer depends on the settings alone, or on a file. */
const WITHOUT_DATABASE: readonly string[][] = [
  ["bills", "sources"],
  ["channels", "list"],
  ["channels", "test", "log"],
  ["profiles", "list"],
  ["completions", "bash"],
  ["gateway", "env", "claude-code"],
];

Deno.test("a command that needs no database works where the named one is missing or unreachable, and creates nothing", () =>
  inDirectory(async (directory) => {
    const marked = COMMANDS.filter(({ needsNoDatabase }) => needsNoDatabase).map(({ name }) => name);
    assert.deepEqual(marked.sort(), ["bills sources", "channels list", "channels test"]);
    for (const PURSER_DB of [`${directory}/typo/books.db`, "http://127.0.0.1:1", directory]) {
      for (const line of WITHOUT_DATABASE) {
        const env = { HOME: directory, PURSER_API_KEY: "psr_a", PURSER_DB };
        const { code, out, err } = await purser(line, env);
        assert.equal(code, EXIT.done, `${line.join(" ")}: ${err}`);
        assert.ok(out.length > 0 || line[0] === "profiles", line.join(" "));
      }
    }
    assert.deepEqual(await namesIn(directory), []);
  }));

Deno.test("the refusal names the setting: the variable, the profile or the config file", () =>
  inDirectory(async (directory) => {
    const configPath = `${directory}/purser.json`;
    const refusal = async (config: object, line: readonly string[], env: Record<string, string> = {}) => {
      await Deno.writeTextFile(configPath, JSON.stringify(config));
      const { code, out, err } = await purser([...line, "--config", configPath], { HOME: directory, ...env });
      assert.deepEqual([code, out], [EXIT.notFound, ""]);
      return /named by (.*?):/.exec(err)?.[1];
    };
    assert.equal(await refusal({}, ["cost"], { PURSER_DB: "missing.db" }), "PURSER_DB");
    assert.equal(await refusal({ db: "missing.db" }, ["cost"]), "db of the config file");
    const profiles = { books: { db: "missing.db" } };
    assert.equal(await refusal({ profiles }, ["cost", "--profile", "books"]), "db of the profile books");
    assert.deepEqual(await namesIn(directory), ["purser.json"]);
  }));

Deno.test("without a named database, commands read an empty one until the first command that writes", () =>
  inDirectory(async (directory) => {
    const env = { HOME: directory, XDG_DATA_HOME: `${directory}/data` };
    assert.deepEqual(await purser(["cost"], env), {
      code: EXIT.done,
      out: "No model call has been booked yet\n",
      err: "",
    });
    assert.deepEqual(await namesIn(directory), []);
    const line = ["agents", "set", "helper", "--model", "demo:echo"];
    assert.equal((await purser(line, env)).code, EXIT.done);
    assert.ok((await Deno.stat(`${directory}/data/purser/purser.db`)).isFile);
  }));

Deno.test("a command that writes creates a named database", () =>
  inDirectory(async (directory) => {
    const line = ["agents", "set", "helper", "--model", "demo:echo", "--db", `${directory}/new/books.db`];
    assert.equal((await purser(line, { HOME: directory })).code, EXIT.done);
    assert.ok((await Deno.stat(`${directory}/new/books.db`)).isFile);
  }));
