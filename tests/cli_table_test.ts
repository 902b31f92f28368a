import assert from "node:assert/strict";
import { loadAllCommands } from "../src/cli/command_table.ts";
import { ROWS } from "./cli_table/rows.ts";
import { testCliTable } from "./cli_table/run_table.ts";
import { installCli } from "./harness/installed_cli.ts";
import { skipSqld } from "./harness/sqld.ts";
import { isThorough } from "./harness/thorough.ts";

const COMMANDS = await loadAllCommands();

/**
 * One contract: a command does the same over every kind of database, in a process and through a server. A server's client
 * does not see the database; `tests/rest/` holds what a server does over each.
 */

Deno.test("the table has every command, succeeding and failing", () => {
  for (const { name } of COMMANDS) {
    const rows = ROWS.filter(({ line }) => line === name || line.startsWith(`${name} `));
    // `serve` is at work wherever the table is run through a server; the others work on the machine alone. The logs of
    // `import` and the settings of agents are in a home folder: tests/import_command_test.ts, tests/gate/install_test.ts,
    // tests/statusline_test.ts.
    // `capture` needs a permission: tests/capture_test.ts. `whoami` needs a key of a server: tests/own_view_test.ts.
    // `service` writes into a home folder: tests/deployment_test.ts, and `config` reads files: tests/config_command_test.ts.
    // `apply` needs a file: tests/apply_test.ts.
    const elsewhere = [
      "serve",
      "prices update",
      "backup",
      "restore",
      "import",
      "capture",
      "apply",
      "gate install",
      "gate uninstall",
      "statusline install",
      "statusline uninstall",
      "config show",
      "service install",
      "service uninstall",
      "whoami",
    ];
    if (!elsewhere.includes(name)) {
      assert.ok(rows.some(({ code, out }) => code === undefined || out), `${name} at work`);
    }
    const mayFail = [
      "agents list",
      "alerts list",
      "alerts history",
      "budgets list",
      "channels list",
      "doctor",
      "profiles list",
      "config check",
      "config show",
    ];
    if (!mayFail.includes(name)) assert.ok(rows.some(({ code }) => code !== undefined), `${name} failing`);
  }
});

Deno.test("every command does the same in a process and through a server, over a file, and in a thorough run over sqld", async () => {
  const folder = await Deno.makeTempDir({ prefix: "purser_cli_table_" });
  const installed = [await installCli(folder)];
  await testCliTable([
    { program: installed, database: "file" },
    { server: installed, database: "file" },
    ...(skipSqld || !isThorough ? [] : [{ database: "sqld" }] as const),
  ]);
  await Deno.remove(folder, { recursive: true });
});
