import assert from "node:assert/strict";
import { dirname, join } from "node:path/posix";

const ROOT = new URL("../..", import.meta.url).pathname;

/** Modules that are light enough for every start: `--help` loads all of them. */
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

Deno.test("the commands' heavy modules are imported in their bodies, so that --help doesn't load them", async () => {
  const loaded = await loadedBy("cli.ts");
  assert.ok(loaded.has("src/cli/commands/alerts/alert_rules.ts"), "the scan follows imports");
  assert.deepEqual([...loaded].filter((path) => !LIGHT.test(path)), []);
});
