import assert from "node:assert/strict";
import { gzipSync, zstdCompressSync } from "node:zlib";
import fc from "#dev/fast_check.ts";
import { parquetWriteBuffer } from "hyparquet-writer";
import { formatDecimal } from "../lines/decimal.ts";
import focus from "../sources/focus.ts";
import { openBillFile } from "./open_bill_file.ts";
import { readParquet } from "./read_parquet.ts";

type Written = Parameters<typeof parquetWriteBuffer>[0];

/** Writes a file for a test. */
async function inFile<Result>(content: string | Uint8Array, test: (path: string) => Promise<Result>) {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
    return await test(path);
  } finally {
    await Deno.remove(path);
  }
}

const toParquet = (written: Omit<Written, "writer">) => new Uint8Array(parquetWriteBuffer(written));

async function linesOf(content: string | Uint8Array) {
  return await inFile(content, async (path) => {
    const pages = await Array.fromAsync(focus.readFile!(await openBillFile(path, {})));
    return { lines: pages.flatMap(({ lines }) => lines), unknown: pages.map(({ unknown }) => unknown) };
  });
}

const NAMES = [
  "BillingAccountId",
  "BilledCost",
  "BillingCurrency",
  "ChargeCategory",
  "ChargePeriodStart",
  "ChargePeriodEnd",
  "ServiceName",
  "Tags",
];
const CSV = `${NAMES.join(",")}
123,1.25,USD,Usage,2026-11-25T10:00:00Z,2026-11-25T11:00:00Z,Amazon Bedrock,"{""team"":""a,b""}"
123,-0.000000001,USD,Credit,2026-11-25T10:00:00Z,2026-11-25T11:00:00Z,Amazon Bedrock,
123,7,USD,Usage,2026-11-25T10:00:00Z,2026-11-25T11:00:00Z,Amazon EC2,
`;
/** In units of the ninth decimal. */
const COSTS = [1_250_000_000n, -1n, 7_000_000_000n];
const TIMES = ["2026-11-25T10:00:00Z", "2026-11-25T11:00:00Z"].map((time) => BigInt(Date.parse(time)));

const DECIMALS: Record<string, object> = {
  "INT32": { type: "INT32", converted_type: "DECIMAL", precision: 9, scale: 3 },
  "INT64": { type: "INT64", converted_type: "DECIMAL", precision: 18, scale: 9 },
  "bytes": { type: "BYTE_ARRAY", converted_type: "DECIMAL", precision: 38, scale: 9 },
  "fixed bytes": {
    type: "FIXED_LEN_BYTE_ARRAY",
    type_length: 16,
    converted_type: "DECIMAL",
    precision: 38,
    scale: 9,
  },
  "floating-point numbers": { type: "DOUBLE" },
  "text": { type: "BYTE_ARRAY", converted_type: "UTF8" },
};

const CLOCKS: Record<string, [object, factor: bigint]> = {
  "milliseconds": [{ type: "INT64", converted_type: "TIMESTAMP_MILLIS" }, 1n],
  "microseconds": [{ type: "INT64", converted_type: "TIMESTAMP_MICROS" }, 1_000n],
  "nanoseconds": [
    { type: "INT64", logical_type: { type: "TIMESTAMP", unit: "NANOS", isAdjustedToUTC: true } },
    1_000_000n,
  ],
};

/** Writes the rows of the table, and how its decimals, times and pages are written. */
function focusIn(decimal: string, clock: string, codec: "SNAPPY" | "GZIP" | "ZSTD") {
  const [time, factor] = CLOCKS[clock]!;
  const costs = COSTS.map((units) => {
    if (decimal === "INT32") return units / 1_000_000n;
    if (decimal === "floating-point numbers") return Number(units) / 1e9;
    return decimal === "text" ? formatDecimal({ units, scale: 9 }) : units;
  });
  const columns: [object, unknown[]][] = [
    [{ type: "BYTE_ARRAY", converted_type: "UTF8" }, ["123", "123", "123"]],
    [DECIMALS[decimal]!, costs],
    [{ type: "BYTE_ARRAY" }, ["USD", "USD", "USD"].map((text) => new TextEncoder().encode(text))],
    [{ type: "BYTE_ARRAY", logical_type: { type: "STRING" } }, ["Usage", "Credit", "Usage"]],
    [time, [TIMES[0]! * factor, TIMES[0]! * factor, TIMES[0]! * factor]],
    [time, [TIMES[1]! * factor, TIMES[1]! * factor, TIMES[1]! * factor]],
    [{ type: "BYTE_ARRAY", converted_type: "UTF8" }, ["Amazon Bedrock", "Amazon Bedrock", "Amazon EC2"]],
    [{ type: "BYTE_ARRAY", converted_type: "UTF8" }, ['{"team":"a,b"}', null, ""]],
  ];
  const schema = columns.map(([type], index) => ({
    name: NAMES[index]!,
    repetition_type: "OPTIONAL",
    ...type,
  }));
  return toParquet({
    schema: [{ name: "root", num_children: columns.length }, ...schema] as Written["schema"],
    columnData: columns.map(([, data], index) => ({ name: NAMES[index]!, data })),
    rowGroupSize: 2,
    codec,
    compressors: { GZIP: (bytes) => gzipSync(bytes), ZSTD: (bytes) => zstdCompressSync(bytes) },
  });
}

Deno.test("a FOCUS file in Parquet has the lines of its CSV, in each type of decimals and times", async () => {
  const expected = await linesOf(CSV);
  assert.equal(expected.lines.length, 2);
  for (const decimal of Object.keys(DECIMALS)) {
    const found = await linesOf(focusIn(decimal, "milliseconds", "SNAPPY"));
    // INT32 has three decimals here.
    const [first, second] = expected.lines;
    const lines = decimal === "INT32" ? [first!, { ...second!, amount: "0" }] : expected.lines;
    assert.deepEqual(found, { ...expected, lines }, decimal);
  }
  for (const clock of Object.keys(CLOCKS)) {
    for (const codec of ["SNAPPY", "GZIP", "ZSTD"] as const) {
      assert.deepEqual(await linesOf(focusIn("fixed bytes", clock, codec)), expected, `${clock} ${codec}`);
    }
  }
});

Deno.test("readParquet() keeps each digit of a decimal, in any number of row groups", async () => {
  const most = 10n ** 38n - 1n;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.option(fc.bigInt({ min: -most, max: most })), { minLength: 1, maxLength: 20 }),
      fc.nat({ max: 38 }),
      fc.constantFrom("bytes", "fixed bytes"),
      async (units, scale, kind) => {
        const element = { name: "a", repetition_type: "OPTIONAL", ...DECIMALS[kind], scale };
        const bytes = toParquet({
          schema: [{ name: "root", num_children: 1 }, element] as Written["schema"],
          columnData: [{ name: "a", data: units }],
          rowGroupSize: 7,
        });
        const rows = await inFile(bytes, (path) => Array.fromAsync(readParquet(path)));
        assert.deepEqual(rows, [
          ["a"],
          ...units.map((one) => [one === null ? "" : formatDecimal({ units: one, scale })]),
        ]);
      },
    ),
    { numRuns: 30 },
  );
});

Deno.test("readParquet() gives maps as JSON, dates as days, and refuses what is cut off or broken", async () => {
  const bytes = toParquet({
    schema: [
      { name: "root", num_children: 3 },
      { name: "tags", repetition_type: "OPTIONAL", num_children: 1, converted_type: "MAP" },
      { name: "key_value", repetition_type: "REPEATED", num_children: 2 },
      { name: "key", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "REQUIRED" },
      { name: "value", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" },
      { name: "day", type: "INT32", converted_type: "DATE", repetition_type: "OPTIONAL" },
      { name: "count", type: "INT64", repetition_type: "OPTIONAL" },
    ],
    columnData: [
      { name: "tags", data: [{ team: "ü" }, null] },
      { name: "day", data: [new Date("2026-11-25"), null] },
      { name: "count", data: [2n ** 60n, null] },
    ],
  });
  await inFile(bytes, async (path) => {
    assert.deepEqual(await Array.fromAsync(readParquet(path)), [
      ["tags", "day", "count"],
      ['{"team":"ü"}', "2026-11-25", String(2n ** 60n)],
      ["", "", ""],
    ]);
  });
  const broken = bytes.slice();
  // The last 8 bytes are the length of the footer, and the mark.
  broken.fill(0xff, 4, broken.length / 3);
  for (const content of [bytes.slice(0, -9), bytes.slice(0, 4), bytes.slice(0, 40), broken]) {
    await inFile(content, async (path) => {
      await assert.rejects(
        Array.fromAsync(readParquet(path)),
        /^PurserError: Cannot import .*: its Parquet can't be read \(.+\); is it whole\?$/s,
      );
    });
  }
});
