import assert from "node:assert/strict";
import type { BillLine } from "../../src/bills/lines/bill_line.ts";
import { addDecimals } from "../../src/bills/lines/decimal.ts";
import type { CostStatement } from "../../src/contract/statements.ts";
import { amendCalls } from "../../src/calls/sightings/entries.ts";
import { DAY_MS, HOUR_MS } from "../../src/kernel/clock.ts";
import { toModelCall } from "../../src/ledger/mod.ts";
import { tables } from "../../src/store/mod.ts";
import { CALL_USD, causesOf, estimate, line, linesOf, OCTOBER, openBills, testBills } from "./open_bills.ts";

/** Months that are closed: they never change, and every change of one is in the audit log. */

const PERIOD = { source: "anthropic", month: "2026-10" };

interface Charges {
  columns: { name: string }[];
  rows: (string | null)[][];
}

testBills(
  "a closed month is the same in every byte after its lines were revised and removed, and the next one has the difference",
  async (bills) => {
    const shared = (fee: string, more: BillLine[] = []) => [
      line({ category: "fee", amount: fee, sku: "seats" }),
      ...more,
    ];
    const gone = [
      line({ category: "credit", amount: "-3", sku: "voucher" }),
      line({ category: "tax", amount: "0.5" }),
    ];
    const october = (lines: BillLine[], to = OCTOBER + 31 * DAY_MS) => bills.importLines(lines, { to });
    const close = async (month: string) => {
      const { unexplained_usd } = await bills.reconcile({ month });
      assert.equal(unexplained_usd, 0);
      await bills.send("/bills/periods/close", { ...PERIOD, month });
    };
    const read = async (month: string, after: string) => {
      const query = `from=${month}-01&to=${after}-01`;
      const lines = await bills.send<{ amount: string; series: string }[]>(
        `/bills/lines?month=${month}&limit=1000`,
      );
      return {
        focus: await bills.send<Charges>(`/exports/focus?${query}`),
        statement: (await bills.send<CostStatement>(`/statements?month=${month}&by=team`)).shared_costs,
        lines: lines.map(({ amount, series }) => [series, amount]).sort(),
      };
    };
    const billedOf = ({ focus: { columns, rows } }: { focus: Charges }) => {
      const cell = (row: Charges["rows"][number], name: string) =>
        row[columns.findIndex((one) => one.name === name)]!;
      const sum = (names: string[]) =>
        Number(addDecimals(rows.flatMap((row) => names.map((name) => cell(row, name)))));
      const corrections = rows.filter((row) => cell(row, "ChargeClass") === "Correction");
      return [sum(["BilledCost", "x_RoundingUsd"]), corrections.length];
    };
    await bills.book({ tags: { team: "one" } }, { at: OCTOBER + 31 * DAY_MS });
    // The price of the bill is another one, and a key has passed Purser by.
    await october([...linesOf(2, { price: 2 }), ...shared("1.5", gone)]);
    await close("2026-10");
    const closed = await read("2026-10", "2026-11");
    assert.deepEqual(billedOf(closed), [4 * CALL_USD + 1.5 - 3 + 0.5, 0]);
    assert.deepEqual(closed.statement.map(({ of_month, amount_usd }) => [of_month, amount_usd]), [
      [null, "1.5"],
      [null, "-3"],
      [null, "0.5"],
    ]);
    const november = linesOf(1, { day: 31 });
    const importNovember = () =>
      bills.importLines(november, { from: OCTOBER + 31 * DAY_MS, to: OCTOBER + 55 * DAY_MS });
    await importNovember();
    // Revised twice: usage, and the fee; the credit and the tax are gone.
    await october([...linesOf(2, { price: 3 }), ...shared("9", gone)]);
    await october([...linesOf(1, { price: 2 }), ...shared("2.25")]);
    assert.deepEqual(await read("2026-10", "2026-11"), closed);
    // A late call, and a correction of one: the bill that was exported has paid for them.
    await bills.book({ at: OCTOBER + HOUR_MS });
    const [row] = await bills.core.query.select().from(tables.calls);
    const from = toModelCall(row!);
    await bills.core.store.write(
      amendCalls([{ entryId: "late", from, to: { ...from, costNanoUsd: 9_000_000n } }]),
    );
    assert.deepEqual((await read("2026-10", "2026-11")).focus, closed.focus);
    const next = await read("2026-11", "2026-12");
    const change = -2 * CALL_USD + (2.25 - 1.5) + 3 - 0.5;
    assert.deepEqual(billedOf(next), [Number((CALL_USD + change).toFixed(9)), 5]);
    assert.deepEqual(next.statement.map(({ of_month, amount_usd }) => [of_month, amount_usd]), [
      ["2026-10", "-1.5"],
      ["2026-10", "2.25"],
      ["2026-10", "3"],
      ["2026-10", "-0.5"],
    ]);
    const compared = await bills.reconcile({ month: "2026-11" });
    assert.deepEqual(causesOf(compared), { correction: Number((change - 2 * CALL_USD).toFixed(9)) });
    // The next month is closed with it, and what changes then is in the one after it.
    bills.clock.advance(60 * DAY_MS);
    await importNovember();
    await close("2026-11");
    const both = await read("2026-11", "2026-12");
    await october([...linesOf(1, { price: 2 }), ...shared("2")]);
    assert.deepEqual(await read("2026-10", "2026-11"), closed);
    assert.deepEqual(await read("2026-11", "2026-12"), both);
    assert.deepEqual(billedOf(await read("2026-12", "2027-01")), [-0.25, 2]);
    const reopen = (month: string, status: number) =>
      bills.send<{ detail: string }>(
        "/bills/periods/reopen",
        { ...PERIOD, month, reason: "an error" },
        status,
      );
    assert.match(
      (await reopen("2026-10", 409)).detail,
      /: 2026-11 is closed, and may have its corrections; reopen 2026-11 first$/,
    );
    await reopen("2026-11", 200);
    await reopen("2026-10", 200);
    const reopened = await read("2026-10", "2026-11");
    assert.deepEqual(billedOf(reopened), [3 * CALL_USD + 2, 0]);
    assert.deepEqual(
      reopened.lines,
      (await bills.send<{ amount: string; series: string }[]>(
        "/bills/lines?from=2026-10-01&to=2026-11-01&limit=1000",
      )).map(({ amount, series }) => [series, amount]).sort(),
    );
    assert.deepEqual(billedOf(await read("2026-11", "2026-12")), [CALL_USD, 0]);
  },
);

Deno.test("every change of months, corrections and statements is in the audit log, and a repeated one isn't", async () => {
  await using bills = await openBills();
  await estimate(bills);
  await bills.book({ at: OCTOBER + DAY_MS, tags: { team: "one" } });
  const { reconciliation_id: id } = await bills.reconcile();
  const statement = { month: "2026-10", by: "team" };
  const changes: [
    path: string,
    body: object,
    kind: string,
    subject: string,
    action: string,
    repeats: number,
  ][] = [
    ["/reconciliations", { ...PERIOD, correct: true }, "reconciliation", "rec", "applied", 200],
    [`/reconciliations/${id}/undo`, {}, "reconciliation", id, "undone", 200],
    ["/bills/periods/close", PERIOD, "period", "anthropic 2026-10", "closed", 409],
    ["/bills/periods/reopen", { ...PERIOD, reason: "new" }, "period", "anthropic 2026-10", "reopened", 409],
    ["/statements", statement, "statement", "2026-10 by team", "issued", 200],
  ];
  for (const [path, body, kind, subject, action, repeats] of changes) {
    const entries = async () =>
      (await bills.send<{ action: string; kind: string; subject_id: string }[]>(`/audit?kind=${kind}`))
        .map(({ action, subject_id }) => `${action} ${subject_id}`);
    const before = await entries();
    if (action === "closed") await bills.reconcile();
    await bills.send(path, body);
    const after = await entries();
    assert.match(after[0]!, new RegExp(`^${action} ${subject}`), path);
    assert.equal(after.length, before.length + 1, path);
    await bills.send(path, body, repeats);
    assert.deepEqual(await entries(), after, `${path} again`);
  }
});
