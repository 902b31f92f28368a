import assert from "node:assert/strict";
import { COMMANDS } from "../command_table.ts";
import { renderHelp } from "./render_help.ts";
import { createStyle } from "../terminal/style.ts";

const style = createStyle(false);

Deno.test("renderHelp() names every command", () => {
  const help = renderHelp("", { columns: undefined, style });
  for (const { name, summary } of COMMANDS) {
    assert.match(help, new RegExp(`^  ${name}\\b`, "m"));
    assert.ok(help.includes(summary));
  }
});

Deno.test("renderHelp() of a group has its commands only", () => {
  const help = renderHelp("agents", { columns: undefined, style });
  assert.match(help, /^ {2}agents set NAME {5}Create or change/m);
  assert.doesNotMatch(help, /sessions list/);
});

Deno.test("renderHelp() of a command has usage, options and examples", () => {
  for (const { name, options, examples } of COMMANDS) {
    const help = renderHelp(name, { columns: undefined, style });
    assert.ok(help.includes(`Usage: purser ${name}`), name);
    for (const option of [...Object.keys(options), "db", "json"]) assert.ok(help.includes(`--${option}`));
    for (const [line] of examples) assert.ok(help.includes(line));
  }
});

Deno.test("renderHelp() breaks lines at the width of the terminal, but no command line", () => {
  for (const topic of ["", "agents", ...COMMANDS.map(({ name }) => name)]) {
    for (const columns of [60, 80]) {
      for (const line of renderHelp(topic, { columns, style }).split("\n")) {
        assert.ok(line.length <= columns || /^ {2}purser |^ {2}git /.test(line), line);
      }
    }
  }
});
