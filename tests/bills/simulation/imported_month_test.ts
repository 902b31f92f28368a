import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { addLines, beginFile, loadSource, stepImport } from "../../../src/bills/import/mod.ts";
import { reconcileMonth } from "../../../src/bills/reconcile/reconcile_month.ts";
import { getReconciliation } from "../../../src/bills/reconcile/stored_reconciliations.ts";
import type { BillPage } from "../../../src/bills/sources/bill_source.ts";
import type { Cause } from "../../../src/contract/bills/causes.ts";
import type { ReconciliationDetail } from "../../../src/contract/bills/reconciliations.ts";
import { DAY_MS, fixedClock, toIso } from "../../../src/kernel/clock.ts";
import { toNano } from "../../../src/bills/reconcile/exact.ts";
import { formatUsd } from "../../../src/kernel/money.ts";
import { recordCalls, recordPrices, recordUpstreams } from "../../../src/ledger/mod.ts";
import { priceLines, sumLines, usageOf } from "../../../src/pricing/mod.ts";
import { flatRates } from "../../harness/flat_rates.ts";
import { modelCall } from "../../harness/model_calls.ts";
import { openTestPurser } from "../../harness/test_purser.ts";
import { cases } from "../../harness/thorough.ts";
import { FAKE_BILLS, fakeApi, KEY } from "../fakes.ts";
import { API_FORMS } from "./api_forms.ts";
import { FILE_FORMS } from "./file_forms.ts";
import { type Bill, type Call, DAYS, END, type Fate, type Form, priceOf, PRICES, START } from "./form.ts";

/**
 * Calls of some days, their bill as each importer's source makes it by its own rules, in an answer of its API or in a file, the import of
 * it, and the comparison with the ledger: at first with the last day missing and one amount too high, then revised.
 */

const CARD = flatRates(PRICES);
const MISTAKE = 10n ** 18n;
const LAST = END - DAY_MS;

/** The call as the ledger has it. */
const bookedOf = (call: Call): Call =>
  call.fate === "cut" ? { ...call, output: Math.floor(call.output / 2) } : call;

async function open(form: Form) {
  let bill: Bill;
  let refreshedAt = LAST;
  const source = await loadSource(form.source, []);
  const fake = FAKE_BILLS.find((one) => one.source === form.source);
  // Pages are of no matter here: an answer has all of its rows.
  const { token: _, ...api } = fake ?? FAKE_BILLS[0]!;
  const rows = (url: URL, body: Record<string, unknown>) => {
    const answered = api.rows(url, body);
    return Array.isArray(answered) ? form.rows!(bill, url, body) : answered;
  };
  const wrap: typeof api.wrap = (all, _, url) =>
    api.wrap(all, undefined, url).replace("2026-11-26T01:00:00Z", toIso(refreshedAt))
      .replace(/"day":\d+/, `"day":${url.searchParams.get("day")}`);
  // As soon as the source has counted all but the last day.
  const clock = fixedClock(toIso(LAST + source.delayMs));
  const purser = await openTestPurser({
    clock,
    fetch: fakeApi({ ...api, rows, wrap }).fetch,
    ...source.fetch && { env: { [source.fetch.key.variable]: KEY } },
  });
  const { core } = purser;

  async function importFile(): Promise<void> {
    const { text, columns = {} } = form.file!(bill);
    const all: Pick<BillPage, "lines" | "unknown"> = { lines: [], unknown: {} };
    const pages = source.readFile!({
      name: "bill.csv",
      columns,
      async *text() {
        yield text;
      },
    });
    for await (const { lines, unknown } of pages) {
      all.lines.push(...lines);
      Object.assign(all.unknown, unknown);
    }
    assert.deepEqual(all.unknown, form.source === "focus" ? { "rows of other services": 1 } : {});
    const file = { source: source.name, sha256: String(clock.now()), how: "", from: START, to: END };
    await addLines(core, (await beginFile(core, file)).importId, { ...all, offset: 0, isLast: true });
  }

  return {
    ...{ clock, source },
    async book(calls: readonly Call[]): Promise<void> {
      const booked = calls.map((call) => {
        const { id, at, model, input, cacheRead, output, fate } = bookedOf(call);
        const counts = { inputTokens: input + cacheRead, cacheReadTokens: cacheRead, outputTokens: output };
        const usage = usageOf(counts);
        return modelCall({
          ...{
            callId: `call_${id}`,
            at,
            model,
            usage,
            durationMs: 0,
            provider: form.provider,
            responseId: id,
          },
          ...{ source: "gateway", priceSource: "test", rates: CARD, isEstimated: fate === "cut" },
          upstream: { credential: form.credential ?? "k" },
          costNanoUsd: sumLines(CARD, priceLines(CARD, usage)).costNanoUsd,
        });
      });
      await core.store.write([
        ...recordPrices(booked, new Set()).statements,
        ...recordUpstreams(booked, new Set()).statements,
        ...recordCalls(booked),
        { sql: "UPDATE upstreams SET key_id = credential" },
      ]);
    },
    async compare(next: Bill, counted: number): Promise<ReconciliationDetail> {
      [bill, refreshedAt] = [next, counted];
      if (!source.fetch) await importFile();
      else {
        const range = { source: source.name, account: form.account, from: START, to: END };
        const done = await stepImport(core, range);
        assert.deepEqual([done.status, done.unknown], ["done", {}]);
      }
      const input = { terms: source, account: undefined, month: "2026-11", limitNanoUsd: undefined };
      return await getReconciliation(core, await reconcileMonth(core, input));
    },
    [Symbol.asyncDispose]: () => purser[Symbol.asyncDispose](),
  };
}

const sum = (calls: readonly Call[], amountOf: (call: Call) => bigint) =>
  calls.reduce((sum, call) => sum + amountOf(call), 0n);
const toUsd = (atto: bigint) => Number(atto / 1_000_000_000n) / 1e9;

/** Returns the amounts by cause that the rules have made of some calls. */
function causesIn(calls: readonly Call[], { share, extras, mistake }: Bill, until: number) {
  const isLate = ({ at }: Call) => at >= until;
  const of = (...fates: Fate[]) => calls.filter((call) => fates.includes(call.fate) && !isLate(call));
  const paid = sum(of("both", "past", "cut"), (call) => priceOf(call)) + mistake;
  const causes: Partial<Record<Cause, bigint>> = {
    ...extras,
    bypass: sum(of("past"), (call) => priceOf(call)),
    not_billed: -sum(of("unbilled", "blocked"), (call) => priceOf(call)),
    lost: sum(of("cut"), (call) => priceOf(call) - priceOf(bookedOf(call))),
    late: -sum(calls.filter(isLate), (call) => priceOf(call)),
    unexplained: mistake,
  };
  const cause = share > 100n ? "fee" : "discount";
  causes[cause] = (causes[cause] ?? 0n) + paid * (share - 100n) / 100n;
  const matched = sum(of("both", "cut"), (call) => priceOf(bookedOf(call))) * share / 100n;
  return { causes, matched };
}

function check(found: ReconciliationDetail, calls: readonly Call[], bill: Bill, until: number): void {
  const { causes, matched } = causesIn(calls, bill, until);
  const context = JSON.stringify({
    found: found.causes,
    causes: Object.fromEntries(Object.entries(causes).map(([cause, atto]) => [cause, toUsd(atto)])),
    variances: found.variances.map((
      one,
    ) => [one.cause, one.from, one.part, one.quantity, one.amount_usd, one.evidence]),
    calls: calls.map((call) => ({ ...call, at: toIso(call.at) })),
    share: String(bill.share),
  });
  const near = (one: number, other: number, what: string) =>
    assert.ok(
      Math.abs(one - other) <= found.rounding_bound_usd + 1e-8,
      `${what}: ${one}, not ${other}: ${context}`,
    );
  const byCause = new Map(found.causes.map(({ cause, amount_usd }) => [cause, amount_usd]));
  for (const cause of new Set([...byCause.keys(), ...Object.keys(causes) as Cause[]])) {
    near(byCause.get(cause) ?? 0, toUsd(causes[cause] ?? 0n), cause);
  }
  if (bill.mistake === 0n) assert.equal(found.unexplained_usd, 0, context);
  near(found.coverage.matched_usd, toUsd(matched), "matched");
  const { of_ledger, confirmed_usd } = found.coverage;
  near(confirmed_usd, found.ledger_usd + toUsd((causes.not_billed ?? 0n) + (causes.late ?? 0n)), "confirmed");
  assert.equal((of_ledger ?? 1) === 1, !causes.not_billed && !causes.late, context);
}

/** The fate of calls by the day; on the first and the last one they are on both sides. */
const FATES: readonly (Fate | undefined)[] = [undefined, "past", "unbilled", "cut", undefined];

const anyCall = (models: readonly string[]) =>
  fc.record({
    day: fc.nat(DAYS - 1),
    second: fc.nat(86_000),
    model: fc.constantFrom(...models),
    input: fc.integer({ min: 1, max: 200_000 }),
    cacheRead: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 100_000 })),
    // More than a cent, which is the least that a bill states.
    output: fc.integer({ min: 4_000, max: 60_000 }),
    isChanged: fc.boolean(),
    other: fc.boolean(),
  });

/** Calls of each model on the first two days, so that the price of each count is known, and some more. */
function anyCalls({ models, fates = ["unbilled"], onlyAmountsMs, hasNoModels }: Form): fc.Arbitrary<Call[]> {
  const known = [0, 1].flatMap((day) =>
    models.map((model) =>
      anyCall(models).map((call) => ({
        ...call,
        ...{ day, model, second: 100, isChanged: false, cacheRead: call.cacheRead + 1 },
      }))
    )
  );
  return fc.tuple(fc.tuple(...known), fc.array(anyCall(models), { minLength: 4, maxLength: 9 })).map(
    (drawn) => {
      const fateOf = new Map<string, Fate>();
      return drawn.flat().map(({ day, second, isChanged, other, ...call }, index): Call => {
        const at = START + day * DAY_MS + second * 1_000;
        const changed = day === 2 ? fates[Number(other) % fates.length] : FATES[day];
        const key = onlyAmountsMs === undefined
          ? String(index)
          : `${at - at % onlyAmountsMs} ${hasNoModels ? "" : call.model}`;
        if (!fateOf.has(key)) fateOf.set(key, isChanged && changed || "both");
        return { ...call, id: `gen-${index}`, at, fate: fateOf.get(key)! };
      });
    },
  );
}

for (const [name, form] of Object.entries({ ...API_FORMS, ...FILE_FORMS })) {
  Deno.test(`${name}: each difference of an imported bill has its true cause, also of late and revised lines`, async () => {
    await fc.assert(
      fc.asyncProperty(anyCalls(form), fc.constantFrom(...form.shares ?? [100n]), async (calls, share) => {
        await using world = await open(form);
        await world.book(calls.filter(({ fate }) => fate !== "past"));
        const billed = calls.filter(({ fate }) => fate !== "unbilled");
        const early = billed.filter(({ at }) => at < LAST);
        const bill = { share, extras: form.extras ?? {}, mistake: 0n };
        const wrong = { ...bill, calls: early, mistake: MISTAKE };
        const [own, mistake] = form.isEstimate ? [[], 0n] : [calls, MISTAKE];
        check(await world.compare(wrong, LAST), own, { ...wrong, mistake }, LAST);
        world.clock.advance(7 * DAY_MS);
        const whole = { ...bill, calls: billed };
        const found = await world.compare(whole, END);
        check(found, own, whole, END);
        const estimate = formatUsd(toNano(sum(billed, (call) => priceOf(call))));
        const equivalent = form.isEstimate ? estimate : form.equivalent;
        assert.deepEqual(
          found.others.map(({ currency, amount }) => [currency, amount]),
          equivalent ? [["equivalent", equivalent]] : [],
        );
      }),
      { numRuns: cases(1) },
    );
  });
}
