import assert from "node:assert/strict";
import { type Column, renderTable } from "./render_table.ts";
import { createStyle } from "../terminal/style.ts";
import { textWidth } from "../terminal/text_width.ts";

interface Row {
  name: string;
  count: number;
}

const style = createStyle(false);
const rows: Row[] = [{ name: "a", count: 5 }, { name: "日本語", count: 12_000 }];
const columns: Column<Row>[] = [
  { title: "NAME", cell: ({ name }) => name, cutTo: 3 },
  { title: "", cell: () => "", drop: 0, stretch: { min: 2, max: 6, draw: (_, width) => "=".repeat(width) } },
  { title: "COUNT", align: "right", cell: ({ count }) => String(count), drop: 1 },
];
const render = (width: number | undefined) =>
  renderTable(rows, columns, { columns: width, style }).split("\n");

Deno.test("renderTable() aligns columns by their width on the screen", () => {
  assert.deepEqual(render(undefined), [
    "NAME            COUNT",
    "a       ======      5",
    "日本語  ======  12000",
  ]);
});

Deno.test("renderTable() narrows bars, then drops columns, then cuts texts, then drops the remaining optional columns", () => {
  assert.deepEqual(render(19), ["NAME          COUNT", "a       ====      5", "日本語  ====  12000"]);
  assert.deepEqual(render(16), ["NAME", "a       ======", "日本語  ======"]);
  assert.deepEqual(render(9), ["NAME", "a      ==", "日本…  =="]);
  assert.deepEqual(render(6), ["NAME", "a", "日本語"]);
  assert.deepEqual(render(4), ["NAME", "a", "日…"]);
});

Deno.test("renderTable() never gets wider than the terminal while it can drop and cut", () => {
  for (let width = 3; width < 40; width++) {
    for (const line of render(width)) assert.ok(textWidth(line) <= width, `${width}: ${line}`);
  }
});

Deno.test("renderTable() escapes cells and paints outside of the padding", () => {
  const text = renderTable([{ name: "\x1b[31mx", count: 1 }], [
    { title: "NAME", cell: ({ name }) => name, paint: (_, { red }) => red },
    { title: "N", cell: ({ count }) => String(count) },
  ], { columns: 80, style: createStyle(true) });
  assert.equal(text, "\x1b[2mNAME\x1b[22m       \x1b[2mN\x1b[22m\n\x1b[31m\\x1b[31mx\x1b[39m  1");
});

Deno.test("renderTable() marks cuts in ASCII where there is nothing else", () => {
  const text = renderTable([{ name: "abcdefgh", count: 1 }], columns.slice(0, 1), {
    columns: 5,
    style,
    hasUnicode: false,
  });
  assert.equal(text, "NAME\nabcd~");
});
