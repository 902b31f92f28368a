import assert from "node:assert/strict";
import type { BillLine } from "../../src/bills/lines/bill_line.ts";
import type { BillPeriod, ReconciliationDetail } from "../../src/contract/bills/reconciliations.ts";
import { amendCalls } from "../../src/calls/sightings/entries.ts";
import { DAY_MS, HOUR_MS } from "../../src/kernel/clock.ts";
import { toModelCall } from "../../src/ledger/mod.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import { tables } from "../../src/store/mod.ts";
import type { Alert, AlertDetail } from "../../src/contract/alerts/alerts.ts";
import { type AlertRule, readAlertNotification } from "../../src/alerts/mod.ts";
import {
  type Bills,
  CALL_USD,
  causesOf,
  estimate,
  line,
  linesOf,
  OCTOBER,
  openBills,
  testBills,
} from "./open_bills.ts";

/** Bills and calls that change while they are compared, corrected and closed, by several processes. */

const PERIOD = { source: "anthropic", month: "2026-10" };
interface Charges {
  columns: { name: string }[];
  rows: (string | null)[][];
}

const totalsOf = async (bills: Bills) => {
  const [found] = await bills.send<{ cost_usd: number; estimated_calls: number; output_tokens: number }[]>(
    "/costs?group_by=model",
  );
  return [found!.cost_usd, found!.estimated_calls, found!.output_tokens];
};

/** Returns the results of requests at the same time: answers, and the sentences of those that were refused. */
async function atOnce<Answer>(bills: Bills, path: string, bodies: object[]) {
  const sent = await Promise.all(bodies.map((body) =>
    bills.app.request(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    })
  ));
  const read = await Promise.all(sent.map(async (one) => [one.status, await one.json()] as const));
  return {
    done: read.filter(([status]) => status === 200).map(([, body]) => body as Answer),
    refused: read.filter(([status]) => status !== 200).map(([status, { detail }]) => `${status} ${detail}`),
  };
}

testBills(
  "comparisons at the same time correct a call once, and its correction is taken back once",
  async (bills) => {
    await estimate(bills);
    const found = await bills.reconcile();
    assert.deepEqual(causesOf(found), { lost: 0.0009 });
    // Another limit is another comparison, with proposals of its own.
    const bodies = [1, 2, 3].map((limit_usd) => ({ ...PERIOD, correct: true, limit_usd }));
    const { done, refused } = await atOnce<ReconciliationDetail>(bills, "/reconciliations", bodies);
    for (const one of refused) {
      assert.equal(one, "409 Cannot correct the calls: another process is doing so");
    }
    assert.equal(done.reduce((sum, { corrections }) => sum + corrections.applied, 0), 1);
    assert.deepEqual(await totalsOf(bills), [CALL_USD, 0, 100]);
    const [corrected] = done.filter(({ corrections }) => corrections.applied > 0);
    const undo = `/reconciliations/${corrected!.reconciliation_id}/undo`;
    await atOnce(bills, undo, [{}, {}, {}]);
    assert.deepEqual(await totalsOf(bills), [0.0036, 1, 40]);
  },
);

testBills("a bill of a provider that the ledger has no calls of is compared with none", async (bills) => {
  await bills.book({});
  await bills.importLines([line({ amount: "2", other: { provider: "Acme" } })], { source: "focus" });
  const found = await bills.reconcile({ source: "focus" });
  assert.deepEqual([causesOf(found), found.calls, found.ledger_usd], [{ bypass: 2 }, 0, 0]);
});

testBills(
  "a month is closed as it was compared, once, and not with lines or calls that came later",
  async (bills) => {
    await bills.book({});
    await bills.importLines(linesOf(1));
    await bills.reconcile();
    const close = () => bills.send<{ detail: string }>("/bills/periods/close", PERIOD, 409);
    const changed =
      "Cannot close 2026-10 of anthropic: its bill or its calls have changed since it was compared; purser reconcile anthropic --month 2026-10";
    await bills.importLines([...linesOf(1), line({ amount: "100", part: "output_tokens", sku: "other" })]);
    assert.equal((await close()).detail, changed);
    await bills.importLines(linesOf(1));
    await bills.reconcile();
    await bills.book({ at: OCTOBER + HOUR_MS });
    assert.equal((await close()).detail, changed);
    await bills.importLines(linesOf(2));
    await bills.reconcile();
    // Calls of other months and other providers are none of its own.
    await bills.book({ at: OCTOBER + 40 * DAY_MS }, { provider: "openai" });
    const { done, refused } = await atOnce<BillPeriod>(bills, "/bills/periods/close", [PERIOD, PERIOD]);
    assert.deepEqual(done.map(({ state, bill_usd }) => [state, bill_usd]), [["closed", 2 * CALL_USD]]);
    assert.match(
      refused[0]!,
      /^409 Cannot close 2026-10 of anthropic: (?:it is closed|another process has )/,
    );
    await bills.importLines([], {
      account: "acme",
      from: OCTOBER + 40 * DAY_MS,
      to: OCTOBER + 41 * DAY_MS,
    });
    const { detail } = await bills.send<{ detail: string }>(
      "/reconciliations",
      { ...PERIOD, account: "acme", correct: true },
      409,
    );
    assert.match(detail, /^Cannot reconcile 2026-10 of anthropic: it is closed; /);
    await bills.importLines(linesOf(2, { price: 2 }));
    const { variances: [correction] } = await bills.reconcile({ month: "2026-11" });
    assert.equal(
      (await bills.send<BillLine[]>(correction!.lines)).length,
      linesOf(1).length,
      "the lines of the closed month",
    );
    const chargesOf = async (from: string, to: string) => {
      const { columns, rows } = await bills.send<Charges>(`/exports/focus?from=${from}&to=${to}`);
      const at = (name: string) => columns.findIndex((column) => column.name === name);
      return rows.filter((row) => row[at("ChargeCategory")] === "Purchase").map((row) =>
        ["BilledCost", "ChargeClass"].map((name) => row[at(name)])
      );
    };
    for (const amount of ["1.5", "2.5"]) {
      await bills.importLines([
        ...linesOf(2, { price: 2 }),
        line({ category: "fee", amount, sku: "seats" }),
      ]);
      assert.deepEqual(await chargesOf("2026-10-01", "2026-11-01"), []);
      assert.deepEqual(await chargesOf("2026-11-01", "2026-12-01"), [[amount, "Correction"]]);
    }
    const { corrections } = await bills.send<BillPeriod>("/bills/periods/reopen", {
      ...PERIOD,
      reason: "a new invoice",
    });
    assert.deepEqual(corrections, []);
    assert.equal((await bills.reconcile()).bill_usd, 4 * CALL_USD + 2.5);
    assert.deepEqual(await chargesOf("2026-10-01", "2026-11-01"), [["2.5", null]]);
    assert.deepEqual(await chargesOf("2026-11-01", "2026-12-01"), []);
  },
);

testBills(
  "a rule fires when more of a month is unexplained, once until that changes, and is resolved by its explanation",
  async (bills) => {
    const rule = {
      name: "Bill",
      threshold_type: "unexplained_above",
      threshold_usd: 0.05,
      severity: "warning",
    };
    const refused = (more: object) =>
      bills.send<{ detail: string }>("/alerts/rules", { ...rule, ...more }, 400);
    assert.match((await refused({ agent_id: "x" })).detail, /a rule about bills is of all of them/);
    assert.match((await refused({ repeat: "cooldown" })).detail, /a rule about bills fires once per month/);
    assert.match((await refused({ threshold_usd: undefined })).detail, /is needed by a rule of the type /);
    await bills.book({}, { at: OCTOBER + DAY_MS }, { at: OCTOBER + 2 * DAY_MS });
    const wrong = async (amount: string) => {
      await bills.importLines([
        ...linesOf(1),
        ...linesOf(1, { day: 1 }).map((one) =>
          one.part === "output_tokens" && one.amount ? { ...one, amount } : one
        ),
        ...linesOf(1, { day: 2 }),
      ]);
      return await bills.reconcile();
    };
    const history = async () =>
      (await bills.send<Alert[]>("/alerts/history")).map(({ value_usd, state }) => [value_usd, state]);
    const found = await wrong("0.1015");
    assert.equal(found.unexplained_usd, 0.1);
    const { rule_id } = await bills.send<{ rule_id: string }>("/alerts/rules", rule, 201);
    // Compared already: the rule is asked all the same.
    await bills.reconcile();
    const [alert] = await bills.send<Alert[]>("/alerts/history");
    assert.deepEqual([alert!.value_usd, alert!.threshold_usd, alert!.state, alert!.deliveries.length], [
      0.1,
      0.05,
      "firing",
      1,
    ]);
    const { reconciliation_id } = found;
    assert.deepEqual(alert!.bill, {
      source: "anthropic",
      month: "2026-10",
      account: null,
      reconciliation_id,
    });
    const told = await readAlertNotification({ ...bills.core, environment: "test" }, alert!.alert_id);
    assert.equal(
      told!.title,
      "Bill: $0.1 of the bill of anthropic for 2026-10 are unexplained, more than $0.05",
    );
    assert.equal((await bills.send<AlertDetail>(`/alerts/history/${alert!.alert_id}`)).causes, null);
    await bills.book({ at: OCTOBER + 3 * DAY_MS, provider: "openai" });
    await bills.reconcile({ limit_usd: 1 });
    assert.deepEqual(await history(), [[0.1, "firing"]]);
    await wrong("0.2015");
    assert.deepEqual(await history(), [[0.2, "firing"], [0.1, "resolved"]]);
    const shown = await bills.send<AlertRule>(`/alerts/rules/${rule_id}`);
    assert.deepEqual([shown.value_usd, shown.repeat, shown.cooldown_seconds], [0.2, "once_per_window", 0]);
    // No more than the amount is explained as well as it has to be; and the same amount again is news.
    await wrong("0.0515");
    assert.deepEqual(await history(), [[0.2, "resolved"], [0.1, "resolved"]]);
    await wrong("0.1015");
    assert.deepEqual((await history())[0], [0.1, "firing"]);
  },
);

Deno.test("what a log has corrected after the bill stays when the correction by the bill is taken back", async () => {
  await using bills = await openBills();
  await estimate(bills);
  const { reconciliation_id } = await bills.reconcile({ correct: true });
  const [row] = await bills.core.query.select().from(tables.calls);
  const from = { ...toModelCall(row!), usage: usageOf({ inputTokens: 1_000, outputTokens: 100 }) };
  const to = { ...from, usage: usageOf({ inputTokens: 1_000, outputTokens: 110 }), isEstimated: false };
  const amended = { ...from, isEstimated: false, costNanoUsd: 4_500_000n };
  await bills.core.store.write(
    amendCalls([{ entryId: "log", from: amended, to: { ...to, costNanoUsd: 4_650_000n } }]),
  );
  const undone = await bills.send<ReconciliationDetail>(`/reconciliations/${reconciliation_id}/undo`, {});
  assert.deepEqual(undone.corrections, { proposed: 1, applied: 1, undone: 0 });
  assert.deepEqual(await totalsOf(bills), [0.00465, 0, 110]);
});

Deno.test("a bill in another currency owes what it states, and a negative amount of usage is no price", async () => {
  await using bills = await openBills();
  await bills.book({});
  const inEuros = linesOf(1).map((one) => ({ ...one, ...one.amount && { currency: "EUR" } }));
  for (const lines of [inEuros, inEuros.filter(({ series }) => series === "cost")]) {
    await bills.importLines(lines);
    const found = await bills.reconcile();
    assert.deepEqual([causesOf(found), found.bill_usd, found.coverage.of_ledger], [
      { fx: -CALL_USD },
      0,
      0,
    ]);
    assert.deepEqual(found.others, [{ currency: "EUR", lines: 2, amount: "0.0045" }]);
    assert.equal(found.variances[0]!.evidence, "the bill states it in EUR");
  }
  await bills.importLines([...linesOf(1), line({ amount: "-2", part: "output_tokens", sku: "other" })]);
  const negative = await bills.reconcile();
  assert.deepEqual([causesOf(negative), negative.is_within_limit], [{ unexplained: -2 }, false]);
  assert.equal(negative.coverage.matched_usd, 0.003);
});
