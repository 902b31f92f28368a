import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "#dev/fast_check.ts";
import { parquetReadObjects } from "#dev/hyparquet.ts";
import { exportCalls, openTarget } from "../src/bills/exports/files/mod.ts";
import { readCalls } from "../src/bills/exports/mod.ts";
import type { ExportFormat } from "../src/contract/values.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { formatUsd, parseTotalUsd } from "../src/kernel/money.ts";
import { readCostTotal, recordCalls } from "../src/ledger/mod.ts";
import type { Store } from "../src/store/mod.ts";
import { adjustCall } from "./harness/adjust.ts";
import { createBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { memoryTarget } from "./harness/memory_target.ts";
import { anyCalls, modelCall } from "./harness/model_calls.ts";
import { isThorough } from "./harness/thorough.ts";

type Target = ReturnType<typeof memoryTarget>["target"];

const exportTo = (
  store: Store,
  target: Target,
  more: { format?: ExportFormat; fromPosition?: number; rowsPerFile?: number } = {},
) =>
  exportCalls({
    target,
    format: "parquet",
    rowsPerFile: 7,
    readPage: (after) => readCalls({ store }, { after, limit: 5 }),
    ...more,
  });

const call = (n: number, costNanoUsd: bigint | null = 123_456_789n) =>
  modelCall({ callId: `call_${String(n).padStart(3, "0")}`, costNanoUsd });
const calls = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => call(from + index));

/** Returns the rows of all files of an archive, as Parquet's reader gives them. */
async function rowsOf(files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>) {
  const rows: Record<string, unknown>[] = [];
  for (const [name, bytes] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (name.endsWith(".parquet")) rows.push(...await parquetReadObjects({ file: bytes.slice().buffer }));
  }
  return rows;
}

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name:
      `${name}: the sums of an archive are the totals of the ledger, with adjustments, whatever was booked`,
    ignore,
    async fn() {
      await fc.assert(
        fc.asyncProperty(anyCalls, fc.nat(40), async (booked, adjusted) => {
          if (booked.length === 0) return;
          await using database = await create();
          const { store } = await createBooking(await database.open());
          const { target, files } = memoryTarget();
          await store.write(recordCalls(booked));
          const first = await exportTo(store, target);
          const { callId, costNanoUsd } = booked[adjusted % booked.length]!;
          await store.write([
            adjustCall("adj_1", callId, { costNanoUsd: -5n, unpriced: costNanoUsd === null ? -1 : 0 }),
          ]);
          const manifest = await exportTo(store, target);
          assert.equal(manifest.entries, first.entries + 1);
          const total = await readCostTotal(store, {});
          assert.deepEqual(
            [manifest.calls, manifest.input_tokens, manifest.output_tokens, manifest.total_tokens],
            [total.model_calls, total.input_tokens, total.output_tokens, total.total_tokens],
          );
          const nano = booked.reduce((sum, each) => sum + (each.costNanoUsd ?? 0n), -5n);
          assert.equal(manifest.cost_usd, formatUsd(nano));
          const rows = await rowsOf(files);
          assert.deepEqual(
            rows.map(({ position }) => Number(position)),
            booked.map((_, index) => index + 1).concat(booked.length + 1),
          );
          assert.equal(rows.at(-1)!.adjusts, callId);
          for (const file of manifest.files) {
            assert.ok(file.entries <= 7 && files.get(file.name)!.length === file.bytes);
          }
          assert.equal(
            formatUsd(manifest.files.reduce((sum, { cost_usd }) => sum + parseTotalUsd(cost_usd), 0n)),
            manifest.cost_usd,
          );
        }),
        { numRuns: isThorough ? 30 : name === "file" ? 4 : 2 },
      );
    },
  });
}

/** A store in memory with 20 calls. */
async function openLedger(count = 20) {
  const [{ create }] = dialectKinds() as [ReturnType<typeof dialectKinds>[number]];
  const database = await create();
  const { store } = await createBooking(await database.open());
  if (count > 0) await store.write(recordCalls(calls(0, count)));
  return { store, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
}

Deno.test("an export that broke off continues after its last whole file, and no row is there twice", async () => {
  await using ledger = await openLedger();
  // Two files with their manifests are written, and the third file, but not its manifest.
  const { target, files, names } = memoryTarget({ failAfter: 5 });
  await assert.rejects(exportTo(ledger.store, target), /no space left/);
  assert.equal(names().length, 4);
  const { target: again } = { target: { ...memoryTarget().target, ...share(files) } };
  await ledger.store.write(recordCalls(calls(20, 23)));
  const manifest = await exportTo(ledger.store, again);
  assert.deepEqual([manifest.from_position, manifest.to_position, manifest.entries], [1, 23, 23]);
  const rows = await rowsOf(files);
  assert.deepEqual(rows.map(({ call_id }) => call_id), calls(0, 23).map(({ callId }) => callId));
  const before = names();
  assert.deepEqual(await exportTo(ledger.store, again), manifest);
  assert.deepEqual(names(), before);
});

/** The functions of a target over files that another one has written. */
function share(files: Map<string, Uint8Array<ArrayBuffer>>): Partial<Target> {
  return {
    readText: (name) =>
      Promise.resolve(files.has(name) ? new TextDecoder().decode(files.get(name)) : undefined),
    put: (name, bytes) => Promise.resolve(void files.set(name, bytes)),
  };
}

Deno.test("an archive refuses entries of another ledger, of an older backup, another format and a gap", async () => {
  await using ledger = await openLedger();
  const { target, files } = memoryTarget();
  await exportTo(ledger.store, target);
  const before = new Map(files);
  await using other = await openLedger(0);
  await assert.rejects(exportTo(other.store, target), /the ledger has none yet/);
  await other.store.write(recordCalls([modelCall({ callId: "other" })]));
  await assert.rejects(
    exportTo(other.store, target),
    /^PurserError: Cannot export to memory: its manifest is of another ledger; name another folder/,
  );
  await using older = await openLedger(12);
  await assert.rejects(
    exportTo(older.store, target),
    /up to 20 that this ledger does not have, as after a restore/,
  );
  await older.store.write(recordCalls(calls(50, 70)));
  await assert.rejects(exportTo(older.store, target), /that this ledger does not have/);
  await assert.rejects(exportTo(ledger.store, target, { format: "csv" }), /its files are parquet, not csv/);
  await assert.rejects(
    exportTo(ledger.store, target, { fromPosition: 30 }),
    /ends at position 20, and 30 does not follow/,
  );
  assert.deepEqual(files, before);
  files.set("manifest.json", new TextEncoder().encode('{"name":"something else"}'));
  await assert.rejects(
    exportTo(ledger.store, target),
    /manifest\.json there is not that of an export of calls/,
  );
});

Deno.test("an archive may begin at a later position, and CSV has the exact amounts of Parquet", async () => {
  await using ledger = await openLedger(3);
  await ledger.store.write(recordCalls([call(3, 2n ** 53n + 1n), call(4, null)]));
  const { target, files } = memoryTarget();
  const manifest = await exportTo(ledger.store, target, { format: "csv", fromPosition: 3 });
  assert.deepEqual([manifest.from_position, manifest.entries, manifest.cost_usd], [
    3,
    3,
    "9007199.378197782",
  ]);
  const [head, ...lines] = new TextDecoder().decode(files.get("calls-000000000003.csv")).trim().split("\r\n");
  const at = head!.split(",").indexOf("cost_usd");
  // No cell before the cost has a comma.
  assert.deepEqual(lines.map((line) => line.split(",")[at]), ["0.123456789", "9007199.254740993", ""]);
});

Deno.test("in a folder no file is half written where the folder can't be written to", async () => {
  await using ledger = await openLedger();
  await inDirectory(async (folder) => {
    const ctx = { env: {}, clock: systemClock, fetch: globalThis.fetch };
    const target = await openTarget(ctx, join(folder, "a", "b"));
    await exportTo(ledger.store, target);
    assert.deepEqual(
      [...Deno.readDirSync(join(folder, "a", "b"))].map(({ name }) => name).sort(),
      [
        "calls-000000000001.parquet",
        "calls-000000000008.parquet",
        "calls-000000000015.parquet",
        "manifest.json",
      ],
    );
    await Deno.writeTextFile(join(folder, "file"), "");
    await assert.rejects(
      openTarget(ctx, join(folder, "file", "x")),
      /^PurserError: Cannot create .*: not a directory/,
    );
    await assert.rejects(openTarget(ctx, "gs://bucket/x"), /only a folder or s3:\/\/BUCKET\/PREFIX/);
  });
});

const { "@duckdb/node-api": duckdb } = JSON.parse(
  await Deno.readTextFile(new URL("./packages/thorough.json", import.meta.url)),
);

Deno.test({
  name: `DuckDB reads an archive with the exact sums of its manifest${
    isThorough ? "" : " (skipped: it is downloaded for a thorough run)"
  }`,
  ignore: !isThorough,
  async fn() {
    await using ledger = await openLedger();
    await ledger.store.write(recordCalls([call(98, 2n ** 60n + 1n), call(99, null)]));
    await inDirectory(async (folder) => {
      const target = await openTarget({ env: {}, clock: systemClock, fetch: globalThis.fetch }, folder);
      const manifest = await exportTo(ledger.store, target);
      const sql =
        "SELECT count(*)::INT, sum(cost_usd)::VARCHAR, sum(total_tokens)::INT, typeof(any_value(cost_usd)), " +
        `min("at")::VARCHAR FROM read_parquet('${folder}/*.parquet')`;
      await Deno.writeTextFile(
        join(folder, "read.ts"),
        `import { DuckDBInstance } from ${JSON.stringify(duckdb)};
const db = await (await DuckDBInstance.create(":memory:")).connect();
console.log(JSON.stringify((await db.runAndReadAll(${JSON.stringify(sql)})).getRows()));`,
      );
      const lock = `--lock=${new URL("./packages/thorough.lock", import.meta.url).pathname}`;
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-RWENS",
          "--allow-ffi",
          "--quiet",
          "--no-config",
          lock,
          "--cached-only",
          join(folder, "read.ts"),
        ],
      }).output();
      const said = new TextDecoder().decode(stdout);
      assert.ok(said, new TextDecoder().decode(stderr));
      const [[entries, cost, tokens, type, first]] = JSON.parse(said);
      assert.deepEqual([entries, tokens, type], [manifest.entries, manifest.total_tokens, "DECIMAL(38,9)"]);
      assert.equal(cost, "1152921507.075982757");
      assert.equal(parseTotalUsd(cost), parseTotalUsd(manifest.cost_usd));
      assert.equal(first, "2026-11-21 09:30:00");
    });
  },
});
