import assert from "node:assert/strict";
import { PROGRAM_NAMES } from "../../src/cli/commands/env/env_commands.ts";
import { OTLP_PROGRAMS } from "../../src/cli/commands/env/otlp_programs.ts";
import { DIALECTS } from "../../src/ingest/otlp/dialects/registry.ts";
import { allBlocks, readDocument } from "../harness/documents.ts";

/** docs/agents.md agrees with the code. tests/otlp/senders_test.ts executes its programs. */

const document = await readDocument("docs/agents.md");

Deno.test("the lines for Codex are those that the command prints, and the text names each of its programs", () => {
  const { file } = OTLP_PROGRAMS.find(({ name }) => name === "codex")!;
  const printed = allBlocks(document).filter(({ language }) => language === "toml").map(({ code }) => code);
  assert.deepEqual(printed, [file!.text("http://127.0.0.1:8420")]);
  const [, named] = /`purser otlp env` prints the variables for ([^]*?), for the/.exec(document)!;
  assert.deepEqual(
    [...named!.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    PROGRAM_NAMES,
  );
});

Deno.test("the table of dialects has each, with what it leaves out", () => {
  const rows = document.split("\n### Dialects\n")[1]!.split("\n### ")[0]!.split("\n").filter((line) =>
    /^\| `/.test(line)
  );
  assert.deepEqual(
    rows.map((row) => row.split("|").slice(1, -1).map((cell) => cell.trim())),
    DIALECTS.map((
      { name, seen, holes },
    ) => [`\`${name}\``, seen, holes.join(" ") || "nothing that is known"]),
  );
});
