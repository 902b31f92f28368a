import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { renderStatementCsv, renderStatementHtml } from "../src/bills/statements/mod.ts";
import { makeStatement } from "../src/bills/statements/make_statement.ts";
import { SHARED_RULES } from "../src/contract/values.ts";
import type { CostStatement } from "../src/contract/statements.ts";
import { divideHalfEven, formatUsd, parseTotalUsd } from "../src/kernel/money.ts";
import { type ModelCall, recordCalls } from "../src/ledger/mod.ts";
import { adjustCall } from "./harness/adjust.ts";
import { billLine } from "./harness/bill_lines.ts";
import { modelCall } from "./harness/model_calls.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

const OCTOBER = Date.parse("2026-10-10T12:00:00Z");
const NOVEMBER = Date.parse("2026-11-10T12:00:00Z");

let calls = 0;
const book = (purser: TestPurser, ...fields: Partial<ModelCall>[]) =>
  purser.core.store.write(
    recordCalls(
      fields.map((one) => modelCall({ at: OCTOBER, ...one, callId: one.callId ?? `call_${calls++}` })),
    ),
  );

const team = (name: string) => ({ tags: { team: name } });

const draft = async (purser: TestPurser, query: string): Promise<CostStatement> =>
  (await purser.api("GET", `/statements?${query}`)).body;

/** Issues by team. */
async function issue(purser: TestPurser, month: string, more: object = {}): Promise<CostStatement> {
  const { status, body } = await purser.api("POST", "/statements", { month, by: "team", ...more });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const totals = ({ subjects }: CostStatement) =>
  subjects.map(({ subject, total_usd }) => [subject, total_usd]);

Deno.test("a statement has the calls of its month by subject and model, with a markup, and those without the tag apart", async () => {
  await using purser = await openTestPurser();
  purser.clock.advance(Date.parse("2026-12-05T00:00:00Z") - purser.clock.now());
  await book(
    purser,
    { ...team("red"), costNanoUsd: 1_000_000_001n },
    { ...team("red"), costNanoUsd: 2_000_000_000n, model: "large" },
    { ...team("blue"), costNanoUsd: 10n },
    { ...team("blue"), costNanoUsd: null },
    { costNanoUsd: 7n },
    { ...team("red"), costNanoUsd: 99n, at: NOVEMBER },
    { ...team("red"), costNanoUsd: 99n, at: Date.parse("2026-09-30T23:59:59.999Z") },
  );
  const statement = await draft(purser, "month=2026-10&by=team&markup=2.5");
  assert.deepEqual(totals(statement), [["blue", "0.00000001"], ["red", "3.075000001"], [
    null,
    "0.000000007",
  ]]);
  assert.deepEqual(
    statement.lines.map((
      { subject, model, model_calls, unpriced_calls, amount_usd, markup_usd },
    ) => [subject, model, model_calls, unpriced_calls, amount_usd, markup_usd]),
    [
      ["blue", "echo", 2, 1, "0.00000001", "0"],
      ["red", "large", 1, 0, "2", "0.05"],
      ["red", "echo", 1, 0, "1.000000001", "0.025"],
      [null, "echo", 1, 0, "0.000000007", "0"],
    ],
  );
  assert.deepEqual([statement.version, statement.total.total_usd, statement.total.unpriced_calls], [
    null,
    "3.075000018",
    1,
  ]);
});

Deno.test("versions say what has changed, an unchanged one is not issued again, and none is ever altered", async () => {
  await using purser = await openTestPurser();
  purser.clock.advance(Date.parse("2026-12-05T00:00:00Z") - purser.clock.now());
  await book(purser, { ...team("red"), costNanoUsd: 100n, callId: "first" }, {
    ...team("blue"),
    costNanoUsd: 50n,
  });
  const first = await issue(purser, "2026-10");
  assert.deepEqual([first.version, first.changes], [1, null]);
  await book(purser, { ...team("red"), costNanoUsd: 9n, at: NOVEMBER });
  assert.deepEqual(await issue(purser, "2026-10"), first);
  await purser.core.store.write([adjustCall("adj", "first", { costNanoUsd: -30n })]);
  await book(purser, { ...team("green"), costNanoUsd: 1n });
  const second = await issue(purser, "2026-10");
  assert.equal(second.version, 2);
  assert.deepEqual(second.changes, [
    { subject: "green", before_usd: "0", after_usd: "0.000000001", difference_usd: "0.000000001" },
    { subject: "red", before_usd: "0.0000001", after_usd: "0.00000007", difference_usd: "-0.00000003" },
  ]);
  assert.deepEqual(await draft(purser, "month=2026-10&by=team&version=1"), first);
  assert.deepEqual((await draft(purser, "month=2026-10&by=team")).latest_version, 2);
  await assert.rejects(
    purser.core.store.write([{ sql: "UPDATE statements SET version = 9" }]),
    /never changed/,
  );
  const missing = await purser.api("GET", "/statements?month=2026-10&by=team&version=3");
  assert.match(missing.body.detail, /version 3 of the statement of 2026-10 by team: the newest is 2/);
});

Deno.test("what is booked late is a correction of the next statement, once, whichever months are issued", async () => {
  await using purser = await openTestPurser();
  purser.clock.advance(Date.parse("2027-02-05T00:00:00Z") - purser.clock.now());
  const monthAt = (month: string) => Date.parse(`${month}-15T00:00:00Z`);
  await book(purser, { ...team("red"), costNanoUsd: 100n, callId: "oct" }, {
    ...team("red"),
    costNanoUsd: 10n,
    at: monthAt("2026-11"),
  });
  await issue(purser, "2026-10");
  await purser.core.store.write([adjustCall("adj1", "oct", { costNanoUsd: -40n })]);
  await book(purser, { ...team("blue"), costNanoUsd: 3n });
  const november = await issue(purser, "2026-11");
  assert.deepEqual(
    november.corrections.map((
      { of_month, subject, model_calls, amount_usd },
    ) => [of_month, subject, model_calls, amount_usd]),
    [["2026-10", "blue", 1, "0.000000003"], ["2026-10", "red", 0, "-0.00000004"]],
  );
  assert.deepEqual(totals(november), [["blue", "0.000000003"], ["red", "-0.00000003"]]);
  // October can't be issued again: its late calls would be charged twice.
  await book(purser, { ...team("red"), costNanoUsd: 5n });
  const again = await purser.api("POST", "/statements", { month: "2026-10", by: "team" });
  assert.deepEqual([again.status, again.body.code], [409, "conflict"]);
  assert.match(again.body.detail, /that of 2026-11 is issued, in which late calls are corrections/);
  const december = await issue(purser, "2026-12");
  assert.deepEqual(december.corrections.map(({ of_month, amount_usd }) => [of_month, amount_usd]), [[
    "2026-10",
    "0.000000005",
  ]]);
  // All that was charged is all that was booked.
  const charged = [november, december].reduce((sum, { total }) => sum + parseTotalUsd(total.total_usd), 100n);
  const { body: total } = await purser.api("GET", "/costs/total");
  assert.equal(charged, parseTotalUsd(total.cost_usd));
});

Deno.test("shared costs are divided by the stated rule to the last nano-USD", async () => {
  await using purser = await openTestPurser();
  purser.clock.advance(Date.parse("2026-12-05T00:00:00Z") - purser.clock.now());
  await book(purser, { ...team("a"), costNanoUsd: 2n }, { ...team("b"), costNanoUsd: 1n }, {
    costNanoUsd: 1n,
  });
  await purser.core.store.write([
    billLine(1, { category: "fee", amountNanoUsd: 12n }),
    billLine(2, { category: "credit", amountNanoUsd: -2n }),
    billLine(3, { category: "usage", amountNanoUsd: 999n }),
  ]);
  const shares = async (rule: string) => {
    const { subjects, unshared_usd, shared_costs, total } = await draft(
      purser,
      `month=2026-10&by=team&shared=${rule}`,
    );
    assert.equal(shared_costs.length, 2);
    assert.equal(parseTotalUsd(total.shared_usd) + parseTotalUsd(unshared_usd), 10n);
    return subjects.map(({ shared_usd }) => Number(parseTotalUsd(shared_usd)));
  };
  assert.deepEqual(await shares("by-share"), [5, 3, 2]);
  assert.deepEqual(await shares("even"), [5, 5, 0]);
  assert.deepEqual(await shares("none"), [0, 0, 0]);
});

const HEAD = {
  month: "2026-10",
  by: "team",
  time_zone: "UTC",
  from: "2026-10-01T00:00:00.000Z",
  to: "2026-11-01T00:00:00.000Z",
  version: null,
  issued_at: null,
  latest_version: null,
  up_to_position: 9,
  markup_percent: "0",
  shared: "even" as const,
};

Deno.test("every total of a statement is the sum of its lines, for any amounts", () => {
  const anySum = fc.record({
    value: fc.constantFrom(null, "a", "b", "c"),
    provider: fc.constantFrom("p", "q"),
    model: fc.string(),
    modelCalls: fc.nat(9),
    unpricedCalls: fc.nat(9),
    totalTokens: fc.nat(),
    costNanoUsd: fc.bigInt({ min: -(10n ** 12n), max: 10n ** 18n }),
  });
  const anyMarkup = fc.tuple(fc.nat(99), fc.nat(9_999)).map(([a, b]) =>
    String(Number(`${a}.${String(b).padStart(4, "0")}`))
  );
  fc.assert(fc.property(
    fc.array(anySum),
    fc.array(anySum, { maxLength: 3 }),
    fc.array(fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }), { maxLength: 3 }),
    anyMarkup,
    fc.constantFrom(...SHARED_RULES),
    (sums, late, pool, markup, shared) => {
      const statement = makeStatement({
        head: { ...HEAD, markup_percent: markup, shared },
        sums,
        corrections: late.map((sum) => ({ ...sum, ofMonth: "2026-09" })),
        sharedCosts: pool.map((amount) => ({
          of_month: null,
          source: "s",
          category: "fee",
          description: "",
          amount_usd: formatUsd(amount),
        })),
        before: undefined,
      });
      const add = (of: readonly object[], name: string) =>
        of.reduce((sum, each) => sum + parseTotalUsd((each as Record<string, string>)[name]!), 0n);
      const { total, subjects, lines, corrections } = statement;
      for (
        const name of ["amount_usd", "corrections_usd", "shared_usd", "markup_usd", "total_usd"] as const
      ) {
        assert.equal(add(subjects, name), parseTotalUsd(total[name]), name);
      }
      assert.equal(add(lines, "amount_usd"), parseTotalUsd(total.amount_usd));
      assert.equal(add(corrections, "amount_usd"), parseTotalUsd(total.corrections_usd));
      assert.equal(
        parseTotalUsd(total.shared_usd) + parseTotalUsd(statement.unshared_usd),
        pool.reduce((sum, each) => sum + each, 0n),
      );
      const parts = BigInt(Math.round(Number(markup) * 10_000));
      const ofShares = subjects.reduce(
        (sum, { shared_usd }) => sum + divideHalfEven(parseTotalUsd(shared_usd) * parts, 1_000_000n),
        0n,
      );
      assert.equal(
        add(lines, "markup_usd") + add(corrections, "markup_usd") + ofShares,
        parseTotalUsd(total.markup_usd),
      );
      assert.equal(
        add(lines, "total_usd") + add(corrections, "total_usd") + parseTotalUsd(total.shared_usd) + ofShares,
        parseTotalUsd(total.total_usd),
      );
      renderStatementHtml(statement);
      assert.equal(
        renderStatementCsv(statement).split("\r\n").length,
        1 + lines.length + corrections.length + subjects.length + subjects.filter(({ shared_usd }) =>
          shared_usd !== "0"
        ).length + 2,
      );
    },
  ));
});

Deno.test("a page of a statement escapes all names, has no script, and nothing from elsewhere", () => {
  const name = `<script>alert("x")</script>&'`;
  const statement = makeStatement({
    head: { ...HEAD, version: 1, issued_at: "2026-11-02T00:00:00.000Z" },
    sums: [{
      value: name,
      provider: name,
      model: name,
      modelCalls: 1_234,
      unpricedCalls: 1,
      totalTokens: 1,
      costNanoUsd: 1_234_500_000_001n,
    }],
    corrections: [],
    sharedCosts: [{
      of_month: "2026-09",
      source: name,
      category: "fee",
      description: name,
      amount_usd: "0.000000001",
    }],
    before: undefined,
  });
  const html = renderStatementHtml(statement);
  assert.ok(!/<script|<link|<img|src=|href=|url\(/i.test(html));
  assert.ok(html.includes(", correction of 2026-09"));
  assert.ok(html.includes("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;"));
  assert.match(html, /@page \{ size: A4/);
  assert.match(html, /1,234\.500000001/);
  assert.match(html, /1 calls have no known price|1 call/);
});

Deno.test("what can't be a statement is refused: months, tags and markups", async () => {
  await using purser = await openTestPurser();
  await book(purser, { ...team("red"), at: OCTOBER });
  const refused = async (query: string) => (await purser.api("GET", `/statements?${query}`)).body;
  assert.match((await refused("month=2026-13&by=team")).detail, /must be a month, such as 2026-10/);
  assert.match((await refused("month=2027-01&by=team")).detail, /2027-01 is in the future/);
  assert.match((await refused("month=2026-10&by=taem")).detail, /no call has that tag; did you mean team\?/);
  for (const markup of ["-5", "1000", "5%", "100.0001"]) {
    assert.equal(
      (await refused(`month=2026-10&by=team&markup=${encodeURIComponent(markup)}`)).code,
      "invalid",
      markup,
    );
  }
  const early = await purser.api("POST", "/statements", { month: "2026-11", by: "team" });
  assert.match(early.body.detail, /Cannot issue the statement of 2026-11: the month ends on 2026-12-01/);
});
