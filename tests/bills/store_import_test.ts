import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import {
  beginImport,
  type BillStore,
  END,
  failImport,
  findDoubled,
  findImport,
  finishImport,
  type LinesOf,
  listImports,
  restartImport,
  stagePage,
} from "../../src/bills/import/store_import.ts";
import type { BillLine } from "../../src/bills/lines/bill_line.ts";
import { addDecimals, movePoint } from "../../src/bills/lines/decimal.ts";
import { readBillLines } from "../../src/bills/lines/line_rows.ts";
import { readCsv } from "../../src/kernel/files/read_csv.ts";
import { DAY_MS, fixedClock } from "../../src/kernel/clock.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { dialectKinds } from "../harness/databases.ts";
import { cases } from "../harness/thorough.ts";

/** The staging and showing of the lines of bills, on each dialect. */

const START = Date.parse("2026-11-25T00:00:00Z");
const WHOLE: LinesOf = { wholeSeries: ["usage", "cost"], areRowsDistinct: false };
const ROWS: LinesOf = { wholeSeries: [], areRowsDistinct: true };

const cost = (model: string, amount: string, more: Partial<BillLine> = {}): BillLine => ({
  series: "cost",
  category: "usage",
  startsAt: START,
  endsAt: START + DAY_MS,
  model,
  part: "input_tokens",
  amount,
  currency: "USD",
  ...more,
});

const query = (more: Partial<Parameters<typeof beginImport>[1]> = {}) => ({
  source: "anthropic",
  account: "",
  from: START,
  to: START + DAY_MS,
  queryHash: "q1",
  ...more,
});

async function importAll(ctx: BillStore, lines: readonly BillLine[], of = WHOLE, of_query = query()) {
  const begun = await beginImport(ctx, of_query);
  return await finishImport(ctx, await stagePage(ctx, begun, { lines }), of);
}

async function current(ctx: BillStore, source = "anthropic") {
  const lines = await readBillLines(ctx, { source }, { limit: 1_000 });
  return lines.map(({ model, amount, revision }) => [model, amount, revision]).sort();
}

for (const kind of dialectKinds()) {
  const test = (
    name: string,
    body: (ctx: BillStore & { clock: ReturnType<typeof fixedClock> }) => Promise<void>,
  ) =>
    Deno.test({
      name: `${kind.name}: ${name}`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        const store = await database.open();
        const clock = fixedClock("2026-11-27T12:00:00Z");
        try {
          await body({ store, clock, ids: createIds(clock) });
        } finally {
          await store.close();
        }
      },
    });

  test("an import shows its lines at its end, and the same answer again changes nothing", async (ctx) => {
    const begun = await beginImport(ctx, query());
    const first = await stagePage(ctx, begun, {
      lines: [cost("a", "1.50")],
      next: "p2",
      unknown: { "field x": 1 },
    });
    assert.deepEqual(await current(ctx), []);
    const last = await stagePage(ctx, first, { lines: [cost("b", "2e-3")], unknown: { "field x": 2 } });
    assert.equal(last.page, END);
    const done = await finishImport(ctx, last, WHOLE);
    assert.deepEqual([done.status, done.lines, done.newLines, done.revisedLines], ["done", 2, 2, 0]);
    assert.deepEqual(done.unknown, { "field x": 3 });
    assert.deepEqual(await current(ctx), [["a", "1.5", 1], ["b", "0.002", 1]]);
    const before = await readBillLines(ctx, {}, { limit: 10 });
    const again = await importAll(ctx, [cost("b", "0.0020"), cost("a", "1.5")]);
    assert.deepEqual([again.lines, again.newLines, again.revisedLines], [2, 0, 0]);
    assert.deepEqual(await readBillLines(ctx, {}, { limit: 10 }), before);
  });

  test("a changed line is a revision, and one that the source has no more is replaced by nothing", async (ctx) => {
    await importAll(ctx, [
      cost("a", "1"),
      cost("b", "2"),
      cost("late", "3", { startsAt: START + DAY_MS, endsAt: START + 2 * DAY_MS }),
    ]);
    const revised = await importAll(ctx, [cost("a", "1.25"), cost("c", "4")]);
    assert.deepEqual([revised.newLines, revised.revisedLines], [1, 2]);
    assert.deepEqual(await current(ctx), [["a", "1.25", 2], ["c", "4", 1], ["late", "3", 1]]);
    const replaced = await readBillLines(ctx, { state: "replaced" }, { limit: 10 });
    assert.deepEqual(replaced.map(({ model, replacedBy }) => [model, replacedBy]), [
      ["a", revised.importId],
      ["b", revised.importId],
    ]);
    await importAll(ctx, [cost("a", "1"), cost("b", "2")]);
    assert.deepEqual(await current(ctx), [["a", "1", 3], ["b", "2", 2], ["late", "3", 1]]);
  });

  test("only the series, the source and the account that were read lose lines", async (ctx) => {
    await importAll(ctx, [cost("a", "1"), {
      ...cost("u", "0"),
      series: "usage",
      amount: undefined,
      currency: undefined,
    }]);
    await importAll(ctx, [cost("other", "9")], WHOLE, query({ account: "acme" }));
    await importAll(ctx, [cost("b", "2")], { wholeSeries: ["cost"], areRowsDistinct: false });
    assert.deepEqual(await current(ctx), [["b", "2", 1], ["other", "9", 1], ["u", undefined, 1]]);
    await importAll(ctx, [], { wholeSeries: [], areRowsDistinct: false });
    assert.equal((await current(ctx)).length, 3);
  });

  test("the same row twice in a file is two lines, in any order; twice in an answer it is one", async (ctx) => {
    const rows = [cost("a", "1"), cost("a", "1"), cost("a", "7")];
    assert.equal((await importAll(ctx, rows, ROWS)).newLines, 3);
    const again = await importAll(ctx, rows.toReversed(), ROWS);
    assert.deepEqual([again.newLines, again.revisedLines], [0, 0]);
    assert.deepEqual((await current(ctx)).map(([, amount]) => amount), ["1", "1", "7"]);
    const one = await importAll(ctx, [cost("b", "1"), cost("b", "2")], WHOLE, query({ source: "openai" }));
    assert.equal(one.newLines, 1);
    assert.deepEqual(await current(ctx, "openai"), [["b", "2", 1]]);
  });

  test("an import that was cut off goes on at its page, and another process can't do a page twice", async (ctx) => {
    const begun = await beginImport(ctx, query());
    const staged = await stagePage(ctx, begun, { lines: [cost("a", "1")], next: "p2", refreshedAt: START });
    const found = await beginImport(ctx, query());
    assert.deepEqual(found, staged);
    await assert.rejects(
      stagePage(ctx, begun, { lines: [cost("a", "1")], next: "p2" }),
      /Cannot go on .*another process does/,
    );
    assert.notEqual((await beginImport(ctx, query({ queryHash: "q2" }))).importId, begun.importId);
    const done = await finishImport(ctx, await stagePage(ctx, found, { lines: [cost("b", "2")] }), WHOLE);
    assert.deepEqual([done.newLines, done.refreshedAt], [2, START]);
    await assert.rejects(finishImport(ctx, { ...done, page: END }, WHOLE), /another process does/);
  });

  test("what is begun anew, failed or a day old leaves no line", async (ctx) => {
    const begun = await beginImport(ctx, query());
    const staged = await stagePage(ctx, begun, { lines: [cost("a", "1")], next: "p2" });
    const restarted = await restartImport(ctx, staged);
    assert.deepEqual([restarted.page, restarted.lines], [null, 0]);
    await stagePage(ctx, restarted, { lines: [cost("a", "1")], next: "p2" });
    await failImport(ctx, begun, "no");
    assert.equal((await findImport(ctx, begun))?.error, "no");
    await stagePage(ctx, await beginImport(ctx, query()), { lines: [cost("a", "1")], next: "p2" });
    ctx.clock.advance(DAY_MS + 1);
    assert.equal((await beginImport(ctx, query())).page, null);
    const { rows } = await ctx.store.read({ sql: "SELECT count(*) FROM bill_lines" });
    assert.equal(rows[0]![0], 0n);
    const imports = await listImports(ctx, { source: "anthropic", limit: 10 });
    assert.deepEqual(imports.map(({ status }) => status), ["in_progress", "failed", "failed"]);
    const [newest] = imports;
    assert.equal(
      (await listImports(ctx, { before: [newest!.createdAt, newest!.importId], limit: 10 })).length,
      2,
    );
  });

  test("a bad line stages nothing of its page", async (ctx) => {
    const begun = await beginImport(ctx, query());
    const bad: [Partial<BillLine>, RegExp][] = [
      [{ amount: "1,5" }, /the amount .* 1,5 is not a number/],
      [{ currency: undefined }, /an amount without a currency/],
      [{ endsAt: START - 1 }, /ends before it starts/],
      [{ sku: "x".repeat(1_001) }, /more than 1000 characters/],
      [{ quantity: "1e999" }, /more than 200 digits/],
    ];
    for (const [more, message] of bad) {
      await assert.rejects(stagePage(ctx, begun, { lines: [cost("a", "1"), cost("b", "1", more)] }), message);
    }
    const { rows } = await ctx.store.read({ sql: "SELECT count(*) FROM bill_lines" });
    assert.equal(rows[0]![0], 0n);
  });

  test("39 decimals, negative amounts and other currencies are kept as they are", async (ctx) => {
    const exact = "0.000412500000000000000000000000000000001";
    await importAll(ctx, [
      cost("a", exact, { responseId: "r", isBatch: true, other: { b: "2", a: "1" } }),
      cost("b", "-0.0000000005", { category: "credit" }),
      cost("c", "12.5", { currency: "EUR" }),
      cost("d", "0E-6176"),
    ]);
    const lines = await readBillLines(ctx, { month: "2026-11", account: "", from: START, to: START + 1 }, {
      limit: 10,
    });
    assert.deepEqual(lines.map(({ amount, amountNanoUsd }) => [amount, amountNanoUsd]), [
      [exact, 412_500n],
      ["-0.0000000005", 0n],
      ["12.5", undefined],
      ["0", 0n],
    ]);
    const { position: _, importId: __, ...first } = lines[0]!;
    assert.deepEqual(first, {
      ...cost("a", exact, { responseId: "r", isBatch: true, other: { a: "1", b: "2" } }),
      source: "anthropic",
      account: "",
      state: "current",
      revision: 1,
      month: "2026-11",
      amountNanoUsd: 412_500n,
    });
  });

  test("a second import of the same usage under another source or without its account is found", async (ctx) => {
    await importAll(ctx, [cost("a", "1")]);
    assert.equal(await findDoubled(ctx, query(), ["anthropic-legacy"]), undefined);
    const found = { source: "anthropic", account: "" };
    assert.deepEqual(await findDoubled(ctx, query({ account: "acme" }), []), found);
    assert.deepEqual(await findDoubled(ctx, query({ source: "anthropic-legacy" }), ["anthropic"]), found);
    const later = query({ source: "anthropic-legacy", from: START + DAY_MS, to: START + 2 * DAY_MS });
    assert.equal(await findDoubled(ctx, later, ["anthropic"]), undefined);
  });

  test("the current lines are those of the last answer, after any answers", async (ctx) => {
    const answer = fc.uniqueArray(
      fc.record({ model: fc.constantFrom("a", "b", "c", "d"), amount: fc.constantFrom("1", "2", "-3") }),
      { selector: ({ model }) => model, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(answer, { minLength: 1, maxLength: 4 }),
        fc.uuid(),
        async (answers, account) => {
          for (const lines of answers) {
            await importAll(
              ctx,
              lines.map(({ model, amount }) => cost(model, amount)),
              WHOLE,
              query({ account }),
            );
          }
          const lines = await readBillLines(ctx, { account }, { limit: 100 });
          const texts = (all: readonly { model?: string; amount?: string }[]) =>
            all.map(({ model, amount }) => `${model} ${amount}`).sort();
          assert.deepEqual(texts(lines), texts(answers.at(-1)!));
        },
      ),
      { numRuns: cases(5) },
    );
  });
}

Deno.test("movePoint() and addDecimals() are exact, as of integers", () => {
  assert.equal(movePoint("2.88384", -2), "0.0288384");
  assert.equal(movePoint("-12", -2), "-0.12");
  assert.equal(movePoint("1.5e-3", 4), "15");
  fc.assert(
    fc.property(
      fc.array(fc.bigInt({ min: -(10n ** 60n), max: 10n ** 60n })),
      fc.nat(39),
      (numbers, scale) => {
        const texts = numbers.map((number) => movePoint(String(number), -scale));
        assert.equal(
          movePoint(addDecimals(texts), scale),
          String(numbers.reduce((sum, each) => sum + each, 0n)),
        );
      },
    ),
  );
});

Deno.test("readCsv() reads any cells, quoted or not, in chunks of any size", async () => {
  const cell = fc.string({ unit: fc.constantFrom("a", ",", '"', "\n", "\r\n", " ", "é") });
  const rows = fc.integer({ min: 2, max: 4 }).chain((width) =>
    fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 5 })
  );
  await fc.assert(
    fc.asyncProperty(rows, fc.integer({ min: 1, max: 7 }), fc.boolean(), async (rows, size, hasEnd) => {
      const quoted = (text: string) => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      const text = rows.map((cells) => cells.map(quoted).join(",")).join("\r\n") + (hasEnd ? "\n" : "");
      async function* chunks() {
        yield "\uFEFF";
        for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
      }
      assert.deepEqual(await Array.fromAsync(readCsv(chunks())), rows);
    }),
  );
});
