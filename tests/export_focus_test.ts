import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { parquetReadObjects } from "#dev/hyparquet.ts";
import { exportCharges } from "../src/bills/exports/files/mod.ts";
import { toCsv } from "../src/bills/exports/files/table_file.ts";
import { readCharges } from "../src/bills/exports/mod.ts";
import type { ExportCell } from "../src/contract/exports.ts";
import type { FocusVersion } from "../src/contract/values.ts";
import { createTurns } from "../src/kernel/turns.ts";
import { type ModelCall, recordCalls, recordPrices, recordUpstreams, viewerOf } from "../src/ledger/mod.ts";
import { priceLines, type Rates, sumLines } from "../src/pricing/mod.ts";
import type { CallContext } from "../src/calls/mod.ts";
import { toUnits } from "../src/bills/exports/decimal_text.ts";
import { billLine } from "./harness/bill_lines.ts";
import { createBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";
import { memoryTarget } from "./harness/memory_target.ts";
import { modelCall } from "./harness/model_calls.ts";
import { anyDetailedUsage, anyRates } from "./harness/price_arbitraries.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { cases, isThorough } from "./harness/thorough.ts";

const FROM = Date.parse("2026-10-01T00:00:00Z");
const TO = Date.parse("2026-11-01T00:00:00Z");
const HOUR = 3_600_000;
const turns = createTurns(() => Promise.resolve());

type Row = Record<string, ExportCell>;
interface More {
  version?: FocusVersion;
  perCall?: boolean;
  limit?: number;
  agentId?: string;
}

async function chargesOf(
  ctx: CallContext,
  { version = "1.4", perCall = false, limit = 2_000, agentId }: More = {},
) {
  const rows: Row[] = [];
  let pages = 0;
  let cursor: string | undefined;
  for (;;) {
    const viewer = viewerOf({ keyId: "key_x", ...agentId !== undefined && { agentId } });
    const page = await readCharges({ ...ctx, turns }, {
      version,
      from: FROM,
      to: TO,
      perCall,
      viewer,
      limit,
      cursor,
    });
    pages++;
    rows.push(
      ...page.rows.map((row) =>
        Object.fromEntries(page.columns.map(({ name }, index) => [name, row[index]!]))
      ),
    );
    if (page.next_cursor === null) return { rows, columns: page.columns.map(({ name }) => name), pages };
    cursor = page.next_cursor;
  }
}

/** Exact sums of decimal texts, in pico-USD. */
const sum = (rows: readonly Row[], ...names: string[]) =>
  rows.reduce(
    (total, row) => total + names.reduce((all, name) => all + toUnits(String(row[name]), 12), 0n),
    0n,
  );

/** The ways in which a call is paid. */
const anyBilling = fc.constantFrom<"rates" | "plan" | "unpriced" | "stated" | "own_key">(
  ...["rates", "rates", "plan", "unpriced", "stated", "own_key"] as const,
);

const anyMonth = fc.tuple(
  fc.array(anyRates, { minLength: 1, maxLength: 3 }),
  fc.array(
    fc.record({
      at: fc.oneof(fc.integer({ min: FROM, max: TO - 1 }), fc.nat(5).map((n) => FROM + n * HOUR)),
      card: fc.nat(2),
      usage: anyDetailedUsage.map(({ usage }) => usage),
      billing: anyBilling,
      stated: fc.bigInt({ min: 0n, max: 10n ** 12n }),
      provider: fc.constantFrom("anthropic", "bedrock", "openrouter", "unheard-of"),
      model: fc.constantFrom("claude-sonnet-5", "us.anthropic.claude-opus-5-v1:0", "openai/gpt-6-luna", "x"),
      agentId: fc.constantFrom("ann", "bob"),
      keyId: fc.constantFrom(null, "key_1"),
      serviceTier: fc.constantFrom(null, "flex"),
      tags: fc.constantFrom(undefined, { team: "a", z: '=1,"' }),
      isEstimated: fc.boolean(),
    }),
    { minLength: 1, maxLength: 30 },
  ),
);

type AnyCall = typeof anyMonth extends fc.Arbitrary<[unknown, (infer One)[]]> ? One : never;

function toCall(
  cards: readonly Rates[],
  { card, billing, stated, ...rest }: AnyCall,
  index: number,
): ModelCall {
  const rates = cards[card % cards.length]!;
  const price = sumLines(rates, priceLines(rates, rest.usage));
  const common = { ...rest, callId: `call_${index}` };
  if (billing === "unpriced") return modelCall({ ...common, costNanoUsd: null, priceSource: "none" });
  if (billing === "stated") return modelCall({ ...common, costNanoUsd: stated, priceSource: "provider" });
  const priced = { ...common, ...price, rates, priceSource: "config" };
  if (price.costNanoUsd === null) return modelCall({ ...priced, costNanoUsd: null });
  if (billing === "plan") return modelCall({ ...priced, costNanoUsd: 0n, planNanoUsd: price.costNanoUsd });
  return modelCall({ ...priced, ...billing === "own_key" && { statedNanoUsd: 1n, statedReason: "own_key" } });
}

const MANDATORY = [
  ...["BilledCost", "ListCost", "ContractedCost", "EffectiveCost", "BillingAccountId", "BillingCurrency"],
  ...["BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd", "ChargeCategory"],
  ...["InvoiceIssuerName", "ServiceCategory", "ServiceName"],
];
const CATEGORIES = ["Usage", "Purchase", "Tax", "Credit", "Adjustment"];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** The rules of FOCUS 1.2 and 1.4 for the dataset Cost and Usage, as far as a row can break them. */
function checkRules(row: Row, version: FocusVersion): void {
  for (const name of [...MANDATORY, version === "1.2" ? "ProviderName" : "ServiceProviderName"]) {
    assert.notEqual(row[name] ?? null, null, `${name}: ${JSON.stringify(row)}`);
  }
  assert.ok(CATEGORIES.includes(String(row.ChargeCategory)));
  for (
    const [unit, cost] of [["ListUnitPrice", "ListCost"], ["ContractedUnitPrice", "ContractedCost"]] as const
  ) {
    if (row[unit] === null || row.PricingQuantity === null) continue;
    const product = toUnits(String(row[unit]), 12) * toUnits(String(row.PricingQuantity), 12);
    assert.equal(
      product,
      toUnits(String(row[cost]), 12) * 10n ** 12n,
      `${unit} x PricingQuantity is not ${cost}`,
    );
  }
  for (const name of ["BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd"]) {
    assert.match(String(row[name]), TIME);
  }
  assert.ok(row.ChargePeriodStart! < row.ChargePeriodEnd! && row.BillingPeriodStart! < row.BillingPeriodEnd!);
  for (const name of ["Tags", "SkuPriceDetails"]) {
    if (row[name] === null) continue;
    for (const value of Object.values(JSON.parse(String(row[name])))) assert.equal(typeof value, "string");
  }
  for (const name of Object.keys(JSON.parse(String(row.SkuPriceDetails ?? "{}")))) assert.match(name, /^x_/);
  const priced = ["PricingQuantity", "PricingUnit", "SkuPriceId", "PricingCategory", "ListUnitPrice"];
  const isPriced = row.ChargeCategory === "Usage" && row.x_Unpriced === "false" ||
    row.ChargeCategory === "Purchase";
  for (const name of priced) assert.equal(row[name] !== null, isPriced, `${name}: ${JSON.stringify(row)}`);
  assert.equal(row.ConsumedQuantity === null, row.ConsumedUnit === null);
  if (row.ChargeCategory === "Tax") {
    assert.deepEqual([row.SkuId, row.SkuPriceId, row.PricingQuantity], [null, null, null]);
  }
  assert.match(String(row.PricingUnit ?? "Units"), /^(?:1000000 Tokens|(?:1000 )?Requests|Units)$/);
}

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name: `${name}: charges keep FOCUS's rules and add up to the ledger, for any month, by hour and by call`,
    ignore,
    async fn() {
      await fc.assert(
        fc.asyncProperty(
          anyMonth,
          fc.constantFrom<FocusVersion>("1.2", "1.4"),
          fc.boolean(),
          async ([cards, month], version, perCall) => {
            await using database = await create();
            const ctx = await createBooking(await database.open());
            const calls = month.map((one, index) => toCall(cards, one, index));
            await ctx.store.write([...recordPrices(calls, new Set()).statements, ...recordCalls(calls)]);
            const { rows, columns } = await chargesOf(ctx, { version, perCall });
            for (const row of rows) checkRules(row, version);
            assert.deepEqual(
              [
                columns.includes("ProviderName"),
                columns.includes("ServiceProviderName"),
                columns.includes("x_CallId"),
              ],
              [version === "1.2", version === "1.4", perCall],
            );
            const cost = (of: (call: ModelCall) => boolean) =>
              calls.filter(of).reduce((all, { costNanoUsd }) => all + (costNanoUsd ?? 0n), 0n) * 1_000n;
            assert.equal(sum(rows, "EffectiveCost", "x_RoundingUsd"), cost(() => true));
            const billed = rows.filter(({ x_BillingMode }) => x_BillingMode === null);
            assert.equal(
              sum(billed, "BilledCost", "x_RoundingUsd"),
              cost(({ planNanoUsd, statedReason }) =>
                planNanoUsd === undefined && statedReason !== "own_key"
              ),
            );
            assert.equal(sum(rows.filter(({ x_BillingMode }) => x_BillingMode !== null), "BilledCost"), 0n);
            // A part without a price keeps its tokens.
            const tokensOf = (of: readonly ModelCall[]) =>
              of.reduce((all, { usage }) => all + usage.inputTokens + usage.outputTokens, 0);
            const unpriced = rows.filter(({ SkuMeter }) => SkuMeter === "Tokens");
            assert.equal(
              unpriced.reduce((all, { x_ConsumedTokens }) => all + Number(x_ConsumedTokens), 0),
              tokensOf(calls.filter(({ costNanoUsd }) => costNanoUsd === null)),
            );
          },
        ),
        { numRuns: isThorough ? 60 : name === "file" ? 8 : 2 },
      );
    },
  });
}

async function openLedger(calls: readonly ModelCall[]) {
  const [{ create }] = dialectKinds() as [ReturnType<typeof dialectKinds>[number]];
  const database = await create();
  const ctx = await createBooking(await database.open());
  await ctx.store.write([...recordPrices(calls, new Set()).statements, ...recordCalls(calls)]);
  return { ctx, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
}

const spread = (count: number, fields: Partial<ModelCall> = {}) =>
  Array.from(
    { length: count },
    (_, index) =>
      modelCall({ callId: `call_${index}`, at: FROM + index * HOUR / 4, priceSource: "provider", ...fields }),
  );

/**
 * FOCUS's own checks, where Python has them on the PATH: `pip install focus-data-toolkit==0.14.1`, and with Python 3.12
 * `focus-validator==2.2.1 pyarrow\<22`, which has to run in its folder. No invoice is known when calls are booked.
 */
const CHECKS = [
  {
    program: "focus-toolkit",
    version: "1.4",
    command: "focus-toolkit validate --dataset cost-and-usage",
    fault: /^ +\[(\w+:\w+)\]/gm,
    expected: [],
  },
  {
    program: "focus-validator",
    version: "1.2",
    command:
      `cd "$(dirname "$(python3 -c 'import focus_validator as v; print(v.__path__[0])')")" && focus-validator ` +
      "--block-download --validate-version 1.2.0.1 --data-file",
    fault: /❌ (\S+): FAIL/g,
    expected: ["InvoiceId-C-005-C"],
  },
] as const;

for (const { program, version, command, fault, expected } of CHECKS) {
  const run = async (line: string) => {
    const { stdout, stderr } = await new Deno.Command("sh", { args: ["-c", line], stdin: "null" }).output();
    return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  };
  const isMissing = await run(`command -v ${program}`) === "";
  Deno.test({
    name: `${program} finds no fault in any month of charges, and finds one that is made${
      isMissing ? ` (skipped: ${program} is not on the PATH)` : ""
    }`,
    ignore: isMissing,
    fn: () =>
      inDirectory((folder) =>
        fc.assert(
          fc.asyncProperty(anyMonth, fc.boolean(), async ([cards, month], perCall) => {
            await using ledger = await openLedger(month.map((one, index) => toCall(cards, one, index)));
            const { rows, columns } = await chargesOf(ledger.ctx, { perCall, version });
            const faultsOf = async (category: ExportCell) => {
              const cells = rows.map((row) => ({ ...row, ChargeCategory: category }))
                .map((row: Row) => columns.map((name) => row[name]!));
              await Deno.writeTextFile(`${folder}/focus.csv`, toCsv([columns, ...cells]));
              const said = await run(`${command} ${folder}/focus.csv`);
              assert.match(said, /STRUCTURAL_VALID|PASS/);
              return [...said.matchAll(fault)].map(([, name]) => name!);
            };
            assert.deepEqual(await faultsOf("Usage"), expected);
            assert.ok((await faultsOf("Usages")).length > expected.length);
          }),
          { numRuns: cases(1) },
        )
      ),
  });
}

Deno.test("pages of charges are the same rows as one page, and a key of one agent gets its own", async () => {
  await using ledger = await openLedger([
    ...spread(40),
    ...spread(3, { agentId: "other" }).map((call, index) => ({ ...call, callId: `o${index}` })),
  ]);
  for (const perCall of [false, true]) {
    const whole = await chargesOf(ledger.ctx, { perCall });
    const paged = await chargesOf(ledger.ctx, { perCall, limit: 4 });
    assert.ok(paged.pages >= 3 && whole.pages === 1);
    assert.deepEqual(paged.rows, whole.rows);
    const own = await chargesOf(ledger.ctx, { perCall, agentId: "other" });
    assert.deepEqual([...new Set(own.rows.map(({ x_AgentId }) => x_AgentId))], ["other"]);
  }
  await assert.rejects(
    () =>
      readCharges({ ...ledger.ctx, turns }, {
        version: "1.4",
        from: FROM,
        to: TO,
        perCall: false,
        viewer: viewerOf({}),
        limit: 1,
        cursor: "x",
      }),
    /Cannot read cursor/,
  );
});

Deno.test("a charge is of the provider's account and project where they are known, else of the API key", async () => {
  const upstream = { credential: "OPENAI_API_KEY", account: "org-1", project: "proj-1" };
  const calls = spread(2, { keyId: "key_1" }).map((call, index) =>
    index === 0 ? { ...call, upstream } : call
  );
  await using ledger = await openLedger(calls);
  await ledger.ctx.store.write(recordUpstreams(calls, new Set()).statements);
  const { rows } = await chargesOf(ledger.ctx);
  assert.deepEqual(rows.map(({ BillingAccountId, SubAccountId }) => [BillingAccountId, SubAccountId]), [
    ["org-1", "proj-1"],
    ["demo", "key_1"],
  ]);
});

Deno.test("fees, taxes and credits of bills are charges of the month that they are billed in; usage is not there twice", async () => {
  await using ledger = await openLedger(spread(1, { costNanoUsd: 7n }));
  await ledger.ctx.store.write([
    billLine(1, { category: "fee", amountNanoUsd: 20_000_000_001n }),
    billLine(2, { category: "tax", amountNanoUsd: 3n }),
    billLine(3, { category: "credit", amountNanoUsd: -5n }),
    billLine(4, { category: "usage", amountNanoUsd: 999n }),
    billLine(5, { category: "fee", amountNanoUsd: 999n, state: "replaced" }),
    billLine(6, { category: "fee", amountNanoUsd: 999n, currency: "EUR" }),
    billLine(7, { category: "adjustment", amountNanoUsd: 11n, at: FROM - HOUR }),
    billLine(8, { category: "adjustment", amountNanoUsd: 999n, month: "2026-11" }),
  ]);
  const { rows } = await chargesOf(ledger.ctx);
  for (const row of rows) checkRules(row, "1.4");
  assert.deepEqual(
    rows.map(({ ChargeCategory, ChargeClass, BilledCost }) => [ChargeCategory, ChargeClass, BilledCost]),
    [
      ["Usage", null, "0.000000007"],
      ["Adjustment", "Correction", "0.000000011"],
      ["Purchase", null, "20.000000001"],
      ["Tax", null, "0.000000003"],
      ["Credit", null, "-0.000000005"],
    ],
  );
  assert.equal((await chargesOf(ledger.ctx, { agentId: "agent" })).rows.length, 1);
});

Deno.test("files of charges hold the exact decimals; a repeated export replaces them, and removes those that are too many", async () => {
  await using ledger = await openLedger(spread(12, { costNanoUsd: 123_456_789_012n }));
  const { target, files, names } = memoryTarget();
  const options = {
    version: "1.2",
    from: new Date(FROM).toISOString(),
    to: new Date(TO).toISOString(),
    target,
  } as const;
  const run = (format: "csv" | "parquet", rowsPerFile: number) =>
    exportCharges({
      ...options,
      format,
      rowsPerFile,
      readPage: (cursor) =>
        readCharges({ ...ledger.ctx, turns }, {
          version: "1.2",
          from: FROM,
          to: TO,
          perCall: true,
          viewer: viewerOf({}),
          limit: 5,
          cursor,
        }),
    });
  const first = await run("parquet", 5);
  assert.deepEqual([first.rows, first.files.length, first.billed_cost], [12, 3, "1481.481468144"]);
  const prefix = "focus-1.2-2026-10-01-2026-11-01";
  const [row] = await parquetReadObjects({ file: files.get(`${prefix}-0001.parquet`)!.slice().buffer });
  assert.deepEqual([row!.BilledCost, row!.ChargePeriodStart], [123.456789012, new Date(FROM)]);
  const second = await run("csv", 100);
  assert.deepEqual(names(), [`${prefix}-0001.csv`, `${prefix}.manifest.json`]);
  assert.equal(second.effective_cost, first.effective_cost);
  const [head, line] = new TextDecoder().decode(files.get(`${prefix}-0001.csv`)).split("\r\n");
  assert.match(line!, /^123\.456789012,demo,,USD,2026-11-01T00:00:00Z,/);
  assert.ok(head!.startsWith("BilledCost,BillingAccountId,"));
  await using other = await openLedger(spread(1).map((call) => ({ ...call, callId: "another" })));
  const read = ledger.ctx;
  Object.assign(ledger, { ctx: other.ctx });
  await assert.rejects(run("csv", 100), /manifest\.json is of another ledger; name another folder/);
  Object.assign(ledger, { ctx: read });
});
