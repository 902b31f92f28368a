import assert from "node:assert/strict";
import { beginImport, finishImport, stagePage } from "../../../src/bills/import/store_import.ts";
import { reconcileMonth } from "../../../src/bills/reconcile/reconcile_month.ts";
import { getReconciliation } from "../../../src/bills/reconcile/stored_reconciliations.ts";
import { addDecimals } from "../../../src/bills/lines/decimal.ts";
import { closePeriod } from "../../../src/bills/periods/change_periods.ts";
import { readCharges } from "../../../src/bills/exports/mod.ts";
import type { ReconciliationDetail } from "../../../src/contract/bills/reconciliations.ts";
import { ALL_SEEING } from "../../../src/ledger/mod.ts";
import { toNano } from "../../../src/bills/reconcile/exact.ts";
import { toUsd } from "../../../src/kernel/money.ts";
import { type ModelCall, recordCalls, recordPrices, recordUpstreams } from "../../../src/ledger/mod.ts";
import { priceLines, type Rates, sumLines, usageOf } from "../../../src/pricing/mod.ts";
import { flatRates } from "../../harness/flat_rates.ts";
import { modelCall } from "../../harness/model_calls.ts";
import { openTestBooks } from "../../harness/test_books.ts";
import { makeMonth, type Month } from "./month.ts";
import { toAtto, toText } from "./provider_lines.ts";
import { DAY } from "./providers.ts";
import { rates, type SimulatedCall } from "./simulated_calls.ts";

/** Months of the simulation in a database: its rows give the causes that the rules have made. */

const TERMS = { name: "anthropic", provider: "anthropic", delayMs: 0, finalAfterDays: 5, mapping: 1 };
const cards = new Map<string, Rates>();

function cardOf(model: string): Rates {
  let card = cards.get(model);
  if (!card) {
    const { input_tokens: input, output_tokens: output, cache_read_tokens: cacheRead } = rates(model);
    cards.set(model, card = flatRates({ input, output, cacheRead }));
  }
  return card;
}

function toCall(
  { id, at, endedAt, model, credential, counts, doubtful, isUnpriced }: SimulatedCall,
): ModelCall {
  const { input_tokens, cache_read_tokens: cacheReadTokens, output_tokens: outputTokens } = counts;
  const usage = usageOf({ inputTokens: input_tokens + cacheReadTokens, cacheReadTokens, outputTokens });
  const card = cardOf(model);
  return modelCall({
    callId: id,
    at,
    durationMs: endedAt - at,
    provider: "anthropic",
    model,
    usage,
    responseId: id,
    source: "gateway",
    isEstimated: doubtful,
    priceSource: isUnpriced ? "unknown" : "test",
    rates: isUnpriced ? null : card,
    costNanoUsd: isUnpriced ? null : sumLines(card, priceLines(card, usage)).costNanoUsd,
    upstream: { credential },
  });
}

async function reconcile({ calls, lines, setup }: Month) {
  await using books = await openTestBooks();
  const { core } = books;
  const booked = calls.map(toCall);
  await core.store.write([
    ...recordPrices(booked, new Set()).statements,
    ...recordUpstreams(booked, new Set()).statements,
    ...recordCalls(booked),
    { sql: "UPDATE upstreams SET key_id = credential" },
  ]);
  const begun = await beginImport(core, {
    source: "anthropic",
    account: "",
    from: setup.from,
    to: setup.whole.to,
    queryHash: "q",
  });
  const page = { lines: lines.map(({ position: _, ...line }) => line), refreshedAt: setup.whole.to };
  await finishImport(core, await stagePage(core, begun, page), { wholeSeries: [], areRowsDistinct: true });
  const terms = { ...setup.terms, ...TERMS };
  const compare = async (month: string) =>
    await getReconciliation(
      core,
      await reconcileMonth(core, { terms, account: undefined, month, limitNanoUsd: undefined }),
    );
  const found = await compare("2026-10");
  return { found, ...await reviseClosed(books, lines, setup, terms, compare) };
}

/** Closes a month, doubles its fees and removes its credits; returns the change, and what the next month has of it. */
async function reviseClosed(
  { core }: Awaited<ReturnType<typeof openTestBooks>>,
  lines: Month["lines"],
  { from, to }: Month["setup"],
  terms: Parameters<typeof closePeriod>[1],
  compare: (month: string) => Promise<ReconciliationDetail>,
) {
  const chargesOf = async (month: string) => {
    const [start, end] = [
      Date.parse(`${month}-01T00:00:00Z`),
      Date.parse(`${month}-01T00:00:00Z`) + 31 * DAY,
    ];
    const query = {
      version: "1.4",
      from: start,
      to: end,
      perCall: false,
      viewer: ALL_SEEING,
      limit: 10_000,
    } as const;
    return await readCharges(core, query);
  };
  await closePeriod(core, terms, { source: "anthropic", account: undefined, month: "2026-10" });
  const closed = await chargesOf("2026-10");
  let change = 0n;
  const revised = lines.flatMap(({ position: _, ...line }) => {
    if (line.category !== "fee" && line.category !== "credit") return [line];
    const amount = toAtto(line.amount!);
    change += line.category === "fee" ? amount : -amount;
    return line.category === "fee" ? [{ ...line, amount: toText(2n * amount) }] : [];
  });
  const query = { source: "anthropic", account: "", from, to, queryHash: "revised" };
  const staged = await stagePage(core, await beginImport(core, query), { lines: revised, refreshedAt: to });
  await finishImport(core, staged, { wholeSeries: ["usage", "cost"], areRowsDistinct: true });
  assert.deepEqual(await chargesOf("2026-10"), closed);
  const billedIn = ({ columns, rows }: typeof closed) => {
    const amounts = ["BilledCost", "x_RoundingUsd"].map((one) =>
      columns.findIndex(({ name }) => name === one)
    );
    return Number(addDecimals(rows.flatMap((row) => amounts.map((index) => String(row[index])))));
  };
  const corrected = billedIn(await chargesOf("2026-11"));
  return { change, corrected, billed: billedIn(closed), next: await compare("2026-11") };
}

Deno.test("the rows of a month give the causes that its rules have made", async () => {
  const seeds = Deno.env.get("PURSER_THOROUGH") ? 200 : 24;
  let tried = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const month = makeMonth(seed);
    // By their ends, the calls at the end of the simulated days are of the day after them, whose bill isn't made.
    if (month.setup.terms.countsBy !== "start") continue;
    tried++;
    const { found, change, corrected, billed, next } = await reconcile(month);
    const context = `seed ${seed}, ${month.provider.name}, ${month.injected}: ${
      JSON.stringify(found.causes)
    }`;
    assert.equal(found.bill_usd, toUsd(toNano(month.billed)), context);
    assert.equal(found.ledger_usd, toUsd(month.booked), context);
    const byCause = new Map(found.causes.map(({ cause, amount_usd }) => [cause, amount_usd]));
    for (const cause of new Set([...byCause.keys(), ...month.expected.keys()])) {
      const difference = (byCause.get(cause) ?? 0) - toUsd(toNano(month.expected.get(cause) ?? 0n));
      assert.ok(
        Math.abs(difference) <= found.rounding_bound_usd + 1e-9,
        `${cause} is off by ${difference}: ${context}`,
      );
    }
    assert.equal(found.unexplained_usd, 0, context);
    const covered = found.coverage.matched_usd - toUsd(toNano(month.matched));
    assert.ok(Math.abs(covered) <= found.rounding_bound_usd + 1e-9, `covered ${covered} more: ${context}`);
    assert.equal(billed, found.bill_usd, context);
    assert.equal(corrected, toUsd(toNano(change)), context);
    const corrections = next.causes.filter(({ cause }) => cause === "correction");
    assert.equal(
      corrections.reduce((sum, { amount_usd }) => sum + amount_usd, 0),
      corrected,
      context,
    );
  }
  assert.ok(tried >= 4, `${tried} months`);
});
