import assert from "node:assert/strict";
import { CAUSES } from "../../src/contract/bills/causes.ts";

Deno.test("docs/reconciliation.md has the causes of the code", async () => {
  const document = await Deno.readTextFile(new URL("../../docs/reconciliation.md", import.meta.url));
  const [, table = ""] = /<!-- causes -->\n([^]*?)<!-- end -->/.exec(document) ?? [];
  const rows = table.split("\n").filter((line) => line.startsWith("| `"))
    .map((line) => line.slice(1, -1).split("|").map((cell) => cell.trim()));
  const expected = Object.entries(CAUSES).map(([cause, { test, advice }]) => [`\`${cause}\``, test, advice]);
  assert.deepEqual(
    rows,
    expected,
    `Write:\n${expected.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}`,
  );
});
