import assert from "node:assert/strict";
import type { BillPeriod, ReconciliationDetail } from "../../src/contract/bills/reconciliations.ts";
import { DAY_MS } from "../../src/kernel/clock.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import { cases, isThorough } from "../harness/thorough.ts";
import { openApi } from "./killed_worker.ts";
import { line, linesOf, OCTOBER, openBills } from "./open_bills.ts";

/** Processes that are killed while they close a month or correct calls, on a file. */

const MONTH = { source: "anthropic", month: "2026-10" };
const WORKER = new URL("./killed_worker.ts", import.meta.url).pathname;
const CALLS = 3;

/** Makes a file with a month that agrees with its bill, or of estimates that the bill corrects. */
async function withMonth(isEstimated: boolean, use: (db: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser_bills_" });
  const db = `${folder}/books.db`;
  try {
    const bills = await openBills({ dbUrl: db });
    const days = Array.from({ length: CALLS }, (_, day) => day);
    const outputTokens = isEstimated ? 40 : 100;
    await bills.book(...days.map((day) => ({
      at: OCTOBER + day * DAY_MS,
      isEstimated,
      usage: usageOf({ inputTokens: 1_000, outputTokens }),
    })));
    const minute = (day: number, part: string, quantity: string) =>
      line({
        series: "usage",
        startsAt: OCTOBER + day * DAY_MS,
        endsAt: OCTOBER + day * DAY_MS + 60_000,
        part,
        quantity,
      });
    await bills.importLines(days.flatMap((day) => [
      ...linesOf(1, { day }).filter(({ series }) => series === "cost"),
      minute(day, "requests", "1"),
      minute(day, "input_tokens", "1000"),
      minute(day, "output_tokens", "100"),
    ]));
    await bills.reconcile();
    await bills[Symbol.asyncDispose]();
    await use(db);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Returns whether a process was killed before its request was answered. */
async function isKilled(
  db: string,
  path: string,
  body: object,
  part: string,
  turn: number,
): Promise<boolean> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-RWENS", "--allow-run", "--quiet", "--no-check", WORKER, db, path]
      .concat([JSON.stringify(body), part, String(turn)]),
    stdout: "piped",
    stderr: "piped",
  });
  const { signal, stdout, stderr } = await child.output();
  if (signal === "SIGKILL") return true;
  assert.equal(new TextDecoder().decode(stdout), "200\n", new TextDecoder().decode(stderr));
  return false;
}

/** Asks the API over a file, in this process. */
async function ask<Answer>(db: string, path: string, body?: object): Promise<Answer> {
  const { core, app } = await openApi(db);
  try {
    const headers = { "content-type": "application/json" };
    const answer = await app.request(path, body && { method: "POST", body: JSON.stringify(body), headers });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return JSON.parse(text);
  } finally {
    await core.close({ graceMs: 0 });
  }
}

/** In the gate one kill, in the middle of the commit; else one after each of its first statements. */
const kills = (inMiddle: string): [string, number][] =>
  isThorough ? Array.from({ length: cases(1) * 20 }, (_, turn) => ["", turn * 5 + 1]) : [[inMiddle, 1]];

Deno.test("a process that is killed while it closes a month leaves it open or closed, with its entry in the audit log", async () => {
  for (const [part, turn] of kills("INTO bill_periods")) {
    await withMonth(false, async (db) => {
      const wasKilled = await isKilled(db, "/bills/periods/close", MONTH, part, turn);
      const [period] = await ask<BillPeriod[]>(db, "/bills/periods");
      const audited = async () => (await ask<unknown[]>(db, "/audit?kind=period")).length;
      assert.ok(["open", "closed"].includes(period!.state));
      if (part !== "") assert.deepEqual([wasKilled, period!.state], [true, "open"]);
      assert.equal(await audited(), Number(period!.state === "closed"));
      if (period!.state === "open") await ask(db, "/bills/periods/close", MONTH);
      const [closed] = await ask<BillPeriod[]>(db, "/bills/periods");
      assert.deepEqual([closed!.state, closed!.bill_usd, await audited()], ["closed", 0.0135, 1]);
    });
  }
});

Deno.test("a process that is killed while it corrects calls has corrected all or none, and the same command completes it", async () => {
  const body = { ...MONTH, correct: true };
  for (const [part, turn] of kills("UPDATE bill_corrections")) {
    await withMonth(true, async (db) => {
      const wasKilled = await isKilled(db, "/reconciliations", body, part, turn);
      const read = async () => {
        const [{ cost_usd, estimated_calls }] = await ask<[{ cost_usd: number; estimated_calls: number }]>(
          db,
          "/costs?group_by=model",
        );
        return [Number(cost_usd.toFixed(9)), estimated_calls];
      };
      const [none, all] = [[0.0108, CALLS], [0.0135, 0]];
      const left = await read();
      assert.ok([none, all].some((one) => String(one) === String(left)), String(left));
      if (part !== "") assert.deepEqual([wasKilled, left], [true, none]);
      await ask(db, "/reconciliations", body);
      const { causes } = await ask<ReconciliationDetail>(db, "/reconciliations", MONTH);
      assert.deepEqual([await read(), causes], [all, []]);
    });
  }
});
