import assert from "node:assert/strict";
import { beginImport, finishImport, stagePage } from "../../src/bills/import/store_import.ts";
import type { BillLine } from "../../src/bills/lines/bill_line.ts";
import type { BillPeriod, ReconciliationDetail } from "../../src/contract/bills/reconciliations.ts";
import { createApp } from "../../src/http/mod.ts";
import { DAY_MS, HOUR_MS } from "../../src/kernel/clock.ts";
import { type ModelCall, recordCalls, recordPrices, recordUpstreams } from "../../src/ledger/mod.ts";
import { priceCall } from "../../src/calls/make_call.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import { databaseKinds } from "../harness/databases.ts";
import { modelCall } from "../harness/model_calls.ts";
import { openTestBooks } from "../harness/test_books.ts";

export const OCTOBER = Date.parse("2026-10-01T00:00:00Z");
const MODEL = "claude-test";
const PRICES = [{
  provider: "anthropic",
  model: MODEL,
  input_usd_per_million: 3,
  output_usd_per_million: 15,
  cache_read_usd_per_million: 0.3,
}];

/** Opens a database for calls and lines of bills, and the API that compares them. */
export async function openBills(
  options: Pick<NonNullable<Parameters<typeof openTestBooks>[0]>, "dbUrl" | "providers" | "fetch"> = {},
) {
  const books = await openTestBooks({ prices: PRICES as never, ...options });
  const { core } = books;
  const app = await createApp(core);
  let calls = 0;
  const send = async <Answer>(path: string, body?: object, status = 200): Promise<Answer> => {
    const response = await app.request(path, {
      ...body &&
        { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } },
    });
    const text = await response.text();
    assert.equal(response.status, status, text);
    return JSON.parse(text);
  };
  return {
    ...books,
    app,
    send,
    /** Books calls at their prices, as the gateway does. */
    async book(...all: Partial<ModelCall>[]) {
      await core.prices.ready?.();
      const booked = all.map((fields) => {
        const call = modelCall({
          callId: `call_${++calls}`,
          provider: "anthropic",
          model: MODEL,
          at: OCTOBER,
          source: "gateway",
          upstream: { credential: "ANTHROPIC_API_KEY", keyHash: "00" },
          usage: usageOf({ inputTokens: 1_000, outputTokens: 100 }),
          ...fields,
        });
        return { ...call, ...call.planNanoUsd === undefined && priceCall(core.prices, call) };
      });
      await core.store.write([
        ...recordPrices(booked, new Set()).statements,
        ...recordUpstreams(booked, new Set()).statements,
        ...recordCalls(booked),
      ]);
    },
    nameKey: (keyId: string) => core.store.write([{ sql: "UPDATE upstreams SET key_id = ?", args: [keyId] }]),
    /** Imports lines, as a source does that has the whole month. */
    async importLines(
      lines: BillLine[],
      { source = "anthropic", account = "", to = OCTOBER + 31 * DAY_MS, from = OCTOBER } = {},
    ) {
      const begun = await beginImport(core, { source, account, from, to, queryHash: "q" });
      await finishImport(core, await stagePage(core, begun, { lines, refreshedAt: to }), {
        wholeSeries: ["usage", "cost"],
        areRowsDistinct: false,
      });
    },
    reconcile: (more: object = {}) =>
      send<ReconciliationDetail>("/reconciliations", { source: "anthropic", month: "2026-10", ...more }),
    periods: () => send<BillPeriod[]>("/bills/periods?source=anthropic"),
  };
}

/** A line of the model on the first day of October. */
export const line = (more: Partial<BillLine>): BillLine => ({
  series: "cost",
  category: "usage",
  startsAt: OCTOBER,
  endsAt: OCTOBER + DAY_MS,
  model: MODEL,
  ...more,
  ...more.amount !== undefined && { currency: "USD", ...more.currency && { currency: more.currency } },
});

/** The lines of some calls of the default usage in one hour: the usage by key, and the costs of the day. */
export function linesOf(
  calls: number,
  { day = 0, credential = "apikey_1", input = 1_000, output = 100, price = 1 } = {},
) {
  const startsAt = OCTOBER + day * DAY_MS;
  const usage = (part: string, quantity: number) =>
    line({
      series: "usage",
      part,
      quantity: String(quantity),
      credential,
      startsAt,
      endsAt: startsAt + HOUR_MS,
    });
  const cost = (part: string, usd: number) =>
    line({ part, amount: String(Number(usd.toFixed(9))), startsAt, endsAt: startsAt + DAY_MS });
  return [
    usage("requests", calls),
    usage("input_tokens", calls * input),
    usage("output_tokens", calls * output),
    cost("input_tokens", calls * input * 3e-6 * price),
    cost("output_tokens", calls * output * 15e-6 * price),
  ];
}

/** The cost of a call of the default usage. */
export const CALL_USD = 0.0045;
/** Returns the amounts by cause. */
export const causesOf = ({ causes }: ReconciliationDetail) =>
  Object.fromEntries(causes.map(({ cause, amount_usd }) => [cause, Number(amount_usd.toFixed(9))]));

export type Bills = Awaited<ReturnType<typeof openBills>>;

/** Defines a test on a database in memory and on PostgreSQL. */
export function testBills(sentence: string, body: (bills: Bills) => Promise<void>): void {
  for (const { name, ignore, create } of databaseKinds()) {
    if (name !== "memory" && name !== "postgres") continue;
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = name === "postgres" ? await create() : undefined;
        await using bills = await openBills(database && { dbUrl: await database.address!() });
        await body(bills);
      },
    });
  }
}

/** Books an estimate, and imports the bill that proves its counts. */
export async function estimate(bills: Bills): Promise<void> {
  const usage = (part: string, quantity: string) =>
    line({ series: "usage", endsAt: OCTOBER + 60_000, part, quantity });
  await bills.book({ isEstimated: true, usage: usageOf({ inputTokens: 1_000, outputTokens: 40 }) });
  await bills.importLines([
    ...linesOf(1).filter(({ series }) => series === "cost"),
    usage("requests", "1"),
    usage("input_tokens", "1000"),
    usage("output_tokens", "100"),
  ]);
}
