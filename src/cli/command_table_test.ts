import assert from "node:assert/strict";
import { dirname, join } from "node:path/posix";
import { loadAllCommands, loadCommands } from "./command_table.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

/** Modules that are light enough for the help and for completion, which may load all commands. */
const LIGHT =
  /^(cli\.ts|src\/(cli|config|kernel|redaction\/values)\/.*|src\/contract\/(budgets\/subjects|calendars\/(calendar_input|zones)|issue_message|limits|windows|costs\/(dimensions|stated_costs)|tags\/tags|values)\.ts)$/;

/** The modules that a module loads statically, itself included, with the packages among them. */
async function loadedBy(path: string, seen = new Set<string>()): Promise<Set<string>> {
  if (seen.has(path)) return seen;
  seen.add(path);
  if (!path.endsWith(".ts")) return seen;
  const text = await Deno.readTextFile(join(ROOT, path));
  for (
    const [, names, specifier] of text.matchAll(/^(?:import|export) (?!type )([^;"]*) from "([^"]+)";/gm)
  ) {
    const isErased = /^\{[^}]*\}$/.test(names!) &&
      names!.slice(1, -1).split(",").every((name) => /^\s*(type .*)?$/s.test(name));
    if (!isErased) {
      await loadedBy(
        specifier!.startsWith(".") ? join(dirname(path), specifier!) : specifier!,
        seen,
      );
    }
  }
  return seen;
}

Deno.test("a line loads the commands of its first word, whose heavy modules are imported in their bodies", async () => {
  const loaded = await loadedBy("cli.ts");
  assert.ok(loaded.has("src/cli/command_table.ts"), "the scan follows imports");
  assert.deepEqual([...loaded].filter((path) => path.startsWith("src/cli/commands/")), []);
  const table = await Deno.readTextFile(join(ROOT, "src/cli/command_table.ts"));
  for (const [, path] of table.matchAll(/\bimport\("\.\/([^"]+)"\)/g)) {
    await loadedBy(`src/cli/${path}`, loaded);
  }
  assert.ok(loaded.has("src/cli/commands/alerts/alert_rules.ts"), "the scan follows dynamic imports");
  assert.deepEqual([...loaded].filter((path) => !LIGHT.test(path)), []);
});

Deno.test("the commands of a first word are together in the help, and each is loaded by it alone", async () => {
  const all = await loadAllCommands();
  for (const word of new Set(all.map(({ name }) => name.split(" ")[0]!))) {
    const own = await loadCommands(word);
    assert.deepEqual(own, all.filter(({ name }) => name.split(" ")[0] === word));
    assert.deepEqual(own, all.slice(all.indexOf(own[0]!), all.indexOf(own[0]!) + own.length));
  }
  for (const word of [undefined, "", "constructor", "x"]) assert.deepEqual(await loadCommands(word), []);
});
