import assert from "node:assert/strict";
import type { BillPeriod, ReconciliationDetail } from "../../src/contract/bills/reconciliations.ts";
import { main } from "../../src/cli/mod.ts";
import { DAY_MS, HOUR_MS, systemClock } from "../../src/kernel/clock.ts";
import { toUsd } from "../../src/kernel/money.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import { newPlace } from "../harness/cli_process.ts";
import { inProcess as purser } from "../harness/in_process.ts";
import { memoryTerminal } from "../harness/memory_terminal.ts";
import { CALL_USD, causesOf, line, linesOf, OCTOBER, openBills } from "./open_bills.ts";

/** Comparisons over the API, with calls and lines of bills in a database. */

Deno.test("a bill that agrees with the calls is covered whole, and compared once", async () => {
  await using bills = await openBills();
  await bills.book({}, {}, { at: OCTOBER + DAY_MS });
  await bills.nameKey("apikey_1");
  await bills.importLines([...linesOf(2), ...linesOf(1, { day: 1 })]);
  const found = await bills.reconcile();
  assert.deepEqual(found.causes, []);
  assert.deepEqual(
    [found.bill_usd, found.ledger_usd, found.difference_usd, found.unexplained_usd, found.is_within_limit],
    [toUsd(13_500_000n), toUsd(13_500_000n), 0, 0, true],
  );
  assert.deepEqual([found.coverage.of_scope, found.coverage.of_account, found.coverage.of_ledger], [1, 1, 1]);
  assert.deepEqual([found.state, found.final_on, found.lines, found.calls], ["open", "2026-11-06", 10, 3]);
  assert.equal((await bills.reconcile()).reconciliation_id, found.reconciliation_id);
  await bills.book({ at: OCTOBER + 2 * DAY_MS });
  const later = await bills.reconcile();
  assert.notEqual(later.reconciliation_id, found.reconciliation_id);
  assert.deepEqual(causesOf(later), { not_billed: -CALL_USD });
  const listed = await bills.send<ReconciliationDetail[]>("/reconciliations?source=anthropic");
  assert.deepEqual(listed.map((one) => one.reconciliation_id), [
    later.reconciliation_id,
    found.reconciliation_id,
  ]);
});

Deno.test("traffic of another key is listed by the key, and other prices and free requests are told", async () => {
  await using bills = await openBills();
  await bills.book({}, { at: OCTOBER + DAY_MS }, { at: OCTOBER + 2 * DAY_MS }, { at: OCTOBER + 3 * DAY_MS });
  await bills.nameKey("apikey_1");
  await bills.importLines([
    ...linesOf(1),
    ...linesOf(2, { day: 0, credential: "apikey_2" }).filter(({ series }) => series === "usage"),
    ...linesOf(2, { day: 0 }).filter(({ series }) => series === "cost").map((one) => ({
      ...one,
      sku: "second",
    })),
    ...linesOf(1, { day: 1, price: 1.5 }),
    ...linesOf(1, { day: 2, price: 1.5 }),
    ...linesOf(1, { day: 3 }).map((one) => ({ ...one, ...one.amount && { amount: "0" } })),
    line({ category: "tax", amount: "1" }),
    line({ amount: "5", currency: "EUR", part: "input_tokens" }),
  ]);
  const found = await bills.reconcile();
  assert.deepEqual(causesOf(found), {
    tax: 1,
    bypass: 2 * CALL_USD,
    price: CALL_USD,
    not_billed: -CALL_USD,
  });
  assert.deepEqual(found.bypass.map(({ credential, amount_usd }) => [credential, amount_usd]), [[
    "apikey_2",
    0.009,
  ]]);
  assert.deepEqual(found.others, [{ currency: "EUR", lines: 1, amount: "5" }]);
  assert.equal(found.unexplained_usd, 0);
  const [variance] = found.variances.filter(({ cause }) => cause === "bypass");
  assert.equal(variance!.credential, "apikey_2");
  assert.match(variance!.lines, /^\/bills\/lines\?source=anthropic&from=2026-10-01T00/);
  const page = await bills.send<unknown[]>(
    `/reconciliations/${found.reconciliation_id}/variances?cause=price&limit=1`,
  );
  assert.equal(page.length, 1);
});

Deno.test("an amount that nothing explains is over the limit, and keeps the month open", async () => {
  await using bills = await openBills();
  await bills.book({}, { at: OCTOBER + DAY_MS }, { at: OCTOBER + 2 * DAY_MS });
  await bills.importLines([
    ...linesOf(1),
    ...linesOf(1, { day: 1 }).map((one) =>
      one.part === "output_tokens" && one.amount ? { ...one, amount: "0.1015" } : one
    ),
    ...linesOf(1, { day: 2 }),
  ]);
  const found = await bills.reconcile();
  assert.deepEqual([found.unexplained_usd, found.is_within_limit], [0.1, false]);
  const { day, bucket } = found.coverage.levels;
  assert.deepEqual([day, bucket, found.coverage.matched_usd], [0, 0.0135, 0.0135]);
  const refused = await bills.send<{ detail: string }>("/bills/periods/close", {
    source: "anthropic",
    month: "2026-10",
  }, 409);
  assert.match(refused.detail, /^Cannot close 2026-10 of anthropic: 0\.1 USD are unexplained, more than /);
  assert.equal((await bills.reconcile({ limit_usd: 0.1 })).is_within_limit, true);
});

Deno.test("a closed month never changes: what comes later is a correction in the next one, until it is reopened", async () => {
  await using bills = await openBills();
  await bills.book({}, { at: OCTOBER + 31 * DAY_MS });
  await bills.importLines(linesOf(1));
  const october = await bills.reconcile();
  const period = { source: "anthropic", month: "2026-10" };
  const closed = await bills.send<BillPeriod>("/bills/periods/close", period);
  assert.deepEqual([closed.state, closed.reconciliation_id], ["closed", october.reconciliation_id]);
  await bills.importLines(linesOf(1, { price: 2 }));
  await bills.book({ at: OCTOBER + HOUR_MS });
  const refused = await bills.send<{ detail: string }>("/reconciliations", period, 409);
  assert.match(refused.detail, /^Cannot reconcile 2026-10 of anthropic: it is closed; /);
  assert.deepEqual(
    await bills.send(`/reconciliations/${october.reconciliation_id}`),
    { ...october, state: "closed" },
  );
  await bills.importLines(linesOf(1, { day: 31 }), {
    from: OCTOBER + 31 * DAY_MS,
    to: OCTOBER + 51 * DAY_MS,
  });
  const november = await bills.reconcile({ month: "2026-11" });
  assert.deepEqual(causesOf(november), { correction: 0 });
  assert.equal(
    november.variances[0]!.evidence,
    "since 2026-10 was closed, its bill has changed by 0.0045 USD and its calls by 0.0045 USD",
  );
  assert.deepEqual([november.bill_usd, november.ledger_usd], [0.009, 0.009]);
  const reopened = await bills.send<BillPeriod>("/bills/periods/reopen", {
    ...period,
    reason: "a new invoice",
  });
  assert.deepEqual([reopened.state, reopened.reason], ["reopened", "a new invoice"]);
  const again = await bills.reconcile();
  assert.deepEqual([again.bill_usd, again.ledger_usd], [0.009, 0.009]);
  const audit = await bills.send<{ action: string; subject_id: string }[]>("/audit?kind=period");
  assert.deepEqual(audit.map(({ action, subject_id }) => [action, subject_id]), [
    ["reopened", "anthropic 2026-10"],
    ["closed", "anthropic 2026-10"],
  ]);
});

Deno.test("an estimate that is the only request of its minute is corrected by the bill, and the correction taken back", async () => {
  await using bills = await openBills();
  const minute = { startsAt: OCTOBER, endsAt: OCTOBER + 60_000, series: "usage" as const };
  await bills.book({ isEstimated: true, usage: usageOf({ inputTokens: 1_000, outputTokens: 40 }) }, {
    at: OCTOBER + HOUR_MS,
  });
  await bills.importLines([
    ...linesOf(2).filter(({ series }) => series === "cost"),
    line({ ...minute, part: "requests", quantity: "1" }),
    line({ ...minute, part: "input_tokens", quantity: "1000" }),
    line({ ...minute, part: "output_tokens", quantity: "100" }),
    ...linesOf(1).filter(({ series }) => series === "usage").map((one) => ({
      ...one,
      startsAt: OCTOBER + HOUR_MS,
      endsAt: OCTOBER + HOUR_MS + 60_000,
    })).map(({ credential: _, ...one }) => one),
  ]);
  const found = await bills.reconcile();
  assert.deepEqual(causesOf(found), { lost: 0.0009 });
  assert.deepEqual(found.corrections, { proposed: 1, applied: 0, undone: 0 });
  const corrected = await bills.reconcile({ correct: true });
  assert.deepEqual(corrected.corrections, { proposed: 1, applied: 1, undone: 0 });
  const costs = async () => (await bills.send<{ cost_usd: number }[]>("/costs?group_by=model"))[0]!.cost_usd;
  assert.equal(await costs(), 0.009);
  assert.deepEqual((await bills.reconcile()).causes, []);
  const undone = await bills.send<ReconciliationDetail>(
    `/reconciliations/${found.reconciliation_id}/undo`,
    {},
  );
  assert.deepEqual(undone.corrections, { proposed: 1, applied: 1, undone: 1 });
  assert.equal(await costs(), 0.0081);
  assert.deepEqual(causesOf(await bills.reconcile()), { lost: 0.0009 });
});

Deno.test("a cut stream of OpenRouter is corrected by its generation, once it is written, and the correction taken back", async () => {
  const KEY = "sk-or-MARKED";
  const asked: string[] = [];
  const answers: Record<string, Response[]> = {
    // $0.0021 for 1,200 tokens in, of which 1,000 were cached, and 90 out, of which 40 were reasoning.
    "gen-cut-1": [
      Response.json({ error: { message: "not found" } }, { status: 404 }),
      Response.json({
        data: {
          ...{
            id: "gen-cut-1",
            total_cost: 0.0021,
            is_byok: false,
            upstream_inference_cost: null,
            cancelled: true,
          },
          ...{ native_tokens_prompt: 1_200, native_tokens_cached: 1_000, native_tokens_completion: 90 },
          ...{ native_tokens_reasoning: 40, tokens_prompt: 1_100, tokens_completion: 80 },
        },
      }),
    ],
    "gen-cut-2": [
      new Response("{}", { status: 429, headers: { "retry-after": "7" } }),
      Response.json({ data: { native_tokens_prompt: null, total_cost: 0 } }),
      Response.json({ data: { native_tokens_prompt: null, total_cost: 0 } }),
    ],
  };
  await using bills = await openBills({
    providers: { openrouter: { baseUrl: "https://openrouter.ai/api/v1", apiKey: KEY } },
    fetch: (input, init) => {
      const url = new URL(input as string);
      asked.push(url.href);
      assert.equal(url.origin + url.pathname, "https://openrouter.ai/api/v1/generation");
      assert.equal(new Headers(init?.headers).get("authorization"), `Bearer ${KEY}`);
      return Promise.resolve(answers[url.searchParams.get("id")!]!.shift()!);
    },
  });
  const cut = (index: number) => ({
    ...{
      callId: `cut_${index}`,
      provider: "openrouter",
      responseId: `gen-cut-${index}`,
      at: OCTOBER + index,
    },
    ...{ isEstimated: true, usage: usageOf({ inputTokens: 1_000, outputTokens: 400 }) },
  });
  const fits = { provider: "openrouter", responseId: "gen-whole-1", at: OCTOBER + 9 };
  await bills.book(cut(1), cut(2), fits, { ...cut(3), responseId: "chatcmpl-3" });
  await bills.importLines([], { source: "openrouter" });
  const correct = async () => {
    asked.length = 0;
    const { corrections, reconciliation_id } = await bills.reconcile({ source: "openrouter", correct: true });
    return { ...corrections, reconciliation_id, asked: asked.map((url) => url.slice(-1)).join() };
  };
  const event = async () => (await bills.send<{ call: Record<string, unknown> }>("/costs/calls/cut_1")).call;
  const before = await event();
  // OpenRouter takes no more requests now; then none of them is written yet.
  const first = await correct();
  assert.deepEqual([first.proposed, first.applied, first.asked], [0, 0, "2"]);
  const second = await correct();
  assert.deepEqual([second.applied, second.asked], [0, "2,1"]);
  const third = await correct();
  assert.deepEqual([third.proposed, third.applied, third.asked], [1, 1, "2,1"]);
  const after = await event();
  const facts = (
    { input_tokens, cache_read_tokens, output_tokens, reasoning_tokens, cost_usd, price_source }:
      typeof after,
  ) => [input_tokens, cache_read_tokens, output_tokens, reasoning_tokens, cost_usd, price_source];
  assert.deepEqual(facts(after), [1_200, 1_000, 90, 40, 0.0021, "provider"]);
  answers["gen-cut-2"] = [Response.json({ error: "no" }, { status: 401 })];
  assert.deepEqual((await correct()).asked, "2", "one that is corrected isn't asked for again");
  const undone = await bills.send<ReconciliationDetail>(
    `/reconciliations/${third.reconciliation_id}/undo`,
    {},
  );
  assert.equal(undone.corrections.undone, 1);
  assert.deepEqual(facts(await event()), facts(before));
});

Deno.test("calls without a price cost what the bill says, beside those with one, and the remedy is the command", async () => {
  await using bills = await openBills();
  const model = "claude-new";
  await bills.book({}, { model }, { model });
  const lines = [...linesOf(1), ...linesOf(3).map((one) => ({ ...one, model }))];
  await bills.importLines([...lines, line({ category: "fee", sku: "currency-conversion", amount: "0.25" })]);
  const found = await bills.reconcile();
  assert.deepEqual(causesOf(found), { fx: 0.25, unpriced: 2 * CALL_USD, bypass: CALL_USD });
  const [unpriced] = found.causes.filter(({ cause }) => cause === "unpriced");
  assert.match(unpriced!.advice, /purser prices set PROVIDER:MODEL --input … --output …/);
  const variance = found.variances.find(({ cause }) => cause === "unpriced");
  assert.equal(variance!.evidence, "the ledger has no price of anthropic:claude-new");
  assert.deepEqual([found.unexplained_usd, found.coverage.matched_usd], [0, 0.0135]);
});

Deno.test("months, sources and accounts that can't be compared are refused with a remedy", async () => {
  await using bills = await openBills();
  await bills.book({});
  const refuse = async (body: object, status: number) =>
    (await bills.send<{ detail: string }>("/reconciliations", {
      source: "anthropic",
      month: "2026-10",
      ...body,
    }, status)).detail;
  assert.equal(
    await refuse({}, 404),
    "Cannot reconcile anthropic: no bill of it is imported; purser bills import anthropic",
  );
  await bills.importLines([]);
  assert.deepEqual(causesOf(await bills.reconcile()), { not_billed: -CALL_USD });
  assert.equal(await refuse({ month: "2027-01" }, 400), "Cannot reconcile 2027-01: it is in the future");
  assert.match(await refuse({ source: "antropic" }, 400), /no source antropic; did you mean anthropic\?/);
  assert.match(
    await refuse({ account: "acme" }, 404),
    /^Cannot reconcile anthropic: no bill of the account acme is imported; /,
  );
  const empty = await bills.reconcile({ month: "2026-09" });
  assert.deepEqual([empty.lines, empty.calls, empty.bill_usd, empty.ledger_usd, empty.coverage.of_scope], [
    0,
    0,
    0,
    0,
    null,
  ]);
});

Deno.test("calls that a plan pays for and calls that were taken back are none of a bill", async () => {
  await using bills = await openBills();
  await bills.book({}, { planNanoUsd: 4_500_000n, costNanoUsd: 0n }, { source: "log" });
  await bills.core.store.write([{
    sql:
      `INSERT INTO calls (call_id, adjusts, stands, at, agent_id, tools, provider, model, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, total_tokens, cost_nano_usd, unpriced, price_source, is_estimated)
SELECT 'withdrawn', 'call_3', 'call_1', at, agent_id, '[]', provider, model, -input_tokens, -output_tokens, 0, 0, 0, 0, -total_tokens, -cost_nano_usd,
  0, price_source, 0 FROM calls WHERE call_id = 'call_3'`,
  }]);
  await bills.importLines(linesOf(1));
  const found = await bills.reconcile();
  assert.deepEqual([found.causes, found.calls, found.coverage.of_ledger], [[], 1, 1]);
});

Deno.test("usage without amounts is priced as the ledger does, and one line of a month is compared with its sum", async () => {
  await using bills = await openBills();
  await bills.book({}, { at: OCTOBER + 20 * DAY_MS, durationMs: 2 * HOUR_MS });
  await bills.nameKey("apikey_1");
  const usage = (calls: number, day: number) =>
    linesOf(calls, { day }).filter(({ series }) => series === "usage");
  await bills.importLines([...usage(2, 0), ...usage(1, 20)]);
  const found = await bills.reconcile();
  assert.deepEqual(causesOf(found), { bypass: CALL_USD });
  assert.deepEqual([found.bill_usd, found.ledger_usd, found.coverage.levels.bucket], [0.0135, 0.009, 0.009]);
  assert.deepEqual(found.bypass, [{ credential: "apikey_1", amount_usd: CALL_USD, cells: 2 }]);
  await bills.importLines([line({ endsAt: OCTOBER + 31 * DAY_MS, amount: "0.009" })]);
  const whole = await bills.reconcile();
  assert.deepEqual([whole.causes, whole.coverage.levels.total, whole.coverage.of_ledger], [[], 0.009, 1]);
});

Deno.test("a call that began before the month is counted where it ended, if the provider does so", async () => {
  await using bills = await openBills();
  const crossing = { at: OCTOBER - 60_000, durationMs: 120_000 };
  await bills.book(crossing, { at: OCTOBER + DAY_MS - 60_000, durationMs: 120_000 });
  await bills.importLines([...linesOf(1), ...linesOf(1, { day: 1 })].map(({ credential: _, ...one }) => one));
  const found = await bills.reconcile();
  assert.deepEqual([found.causes, found.ledger_usd, found.calls], [[], 0.009, 2]);
});

Deno.test("a comparison shows its days on a terminal, and nothing in a pipe or with --json", async () => {
  await using place = await newPlace();
  const path = `${place.folder}/a.csv`;
  await Deno.writeTextFile(path, "starts_at,model,amount\n2026-10-25,m,2\n");
  assert.equal((await purser(place, ["bills", "import", "csv", "--file", path])).code, 0);
  const shown = async (columns: number | undefined, ...more: string[]) => {
    const terminal = memoryTerminal({ ...columns !== undefined && { columns } });
    let at = 0;
    const clock = { ...systemClock, monotonic: () => at += 500 };
    const args = ["reconcile", "csv", "--month", "2026-10", "--limit", `${++limit}`, ...more];
    assert.equal(await main(args, { terminal, env: place.env, clock }), 0, terminal.err);
    return terminal.err;
  };
  let limit = 0;
  assert.ok((await shown(120)).endsWith(" 31 days of 31 days\r\x1b[K"));
  assert.equal(await shown(undefined), "");
  assert.equal(await shown(120, "--json"), "");
});
