import assert from "node:assert/strict";
import { CAUSES } from "../../src/contract/bills/causes.ts";
import { blocks, readDocument } from "../harness/documents.ts";
import { inDirectory } from "../harness/in_directory.ts";
import { openTestBooks } from "../harness/test_books.ts";

Deno.test("docs/reconciliation.md has the causes of the code", async () => {
  const document = await readDocument("docs/reconciliation.md");
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

Deno.test("the commands of docs/reconciliation.md work as they are written", () =>
  inDirectory(async (directory) => {
    const document = await readDocument("docs/reconciliation.md");
    await Deno.writeTextFile(`${directory}/bill.csv`, blocks(document, "text")[0]!);
    await using books = await openTestBooks();
    const printed: string[] = [];
    for (const line of blocks(document, "sh").join("").trim().split("\n")) {
      const { code, out, err } = await books.purser(
        line.replace(/^purser /, "").replace("bill.csv", `${directory}/bill.csv`),
      );
      assert.equal(code, 0, `${line}\n${out}${err}`);
      printed.push(out);
    }
    assert.match(
      printed[1]!,
      /^csv, 2026-10: open, [^]*\nPast Purser: \$2 by a key that is not known\nUnexplained: \$0\n/,
    );
    assert.equal(JSON.parse(printed[4]!).limit_usd, 0.5);
    assert.match(printed[5]!, /^2026-10 of csv is (soft )?closed/);
    assert.equal(printed[6], "2026-10 of csv is reopened\n");
  }));
