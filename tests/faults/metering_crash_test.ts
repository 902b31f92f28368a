import assert from "node:assert/strict";
import { generateText } from "ai";
import { createShared, sharedInTime, type SharedWhere } from "../harness/database_servers.ts";
import { fakeModel } from "../harness/fake_model.ts";
import { TextLineStream } from "../harness/text_lines.ts";
import { bundleWorker } from "../harness/shared_build.ts";
import type { BudgetMode } from "../../src/contract/values.ts";
import { openPurser } from "../../src/mod.ts";
import { DATABASE_NOW } from "../../src/store/mod.ts";
import { AGENT_ID, PRICES } from "./metering_crash_worker.ts";
import { openDatabase } from "./budget_calls_worker.ts";

/** A program that meters its own model is killed (SIGKILL) in a call, outside of any run: nothing ever ends one there. */

const WORKER = await bundleWorker("metering_crash");

/** Room for two calls, not for three. */
const LIMIT = 0.004;

/** Kills such a program in its second call; `alive` is called before. */
async function killInCall(db: string, alive: () => Promise<void>): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-RWENS", "--quiet", ...WORKER, db],
    stdout: "piped",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  const reader = lines.getReader();
  try {
    assert.equal((await reader.read()).value, "calling");
    await alive();
  } finally {
    child.kill("SIGKILL");
    await child.status;
    await reader.cancel();
  }
}

async function openScene(where: SharedWhere, mode: BudgetMode = "strict", limit = LIMIT) {
  const stack = new AsyncDisposableStack();
  const { db } = stack.use(await createShared(where));
  const budgets = [
    { name: "Day", limit_usd: limit, per: "day", mode },
    { name: "Life", limit_usd: 100, per: "lifetime", mode },
  ] as const;
  const purser = await openPurser({ db, env: {}, prices: PRICES, budgets: [...budgets] });
  stack.defer(() => purser.close());
  const store = await openDatabase(db);
  stack.defer(() => store.close());
  const read = async () => {
    const budgets = await purser.budgets();
    const named = (name: string) => budgets.find((budget) => budget.name === name)!;
    return { day: named("Day"), life: named("Life") };
  };
  return { db, purser, store, read, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

for (const { where, ignore } of sharedInTime) {
  Deno.test({
    name:
      `${where}: what a strict budget held for a killed program stays held until its window ends, or is released`,
    ignore,
    async fn() {
      await using scene = await openScene(where);
      let held = 0;
      await killInCall(scene.db, async () => void (held = (await scene.read()).day.reserved_usd));
      const { rows: leases } = await scene.store.read({
        sql: `SELECT DISTINCT is_lost, expires_at - ${DATABASE_NOW} <= 60000 FROM reservations ORDER BY 1`,
      });
      assert.deepEqual(leases, [[0n, 1n], [1n, 0n]]);
      // A minute passes.
      await scene.store.write([{ sql: "UPDATE reservations SET expires_at = 1 WHERE is_lost = 0" }]);
      const { day, life } = await scene.read();
      assert.ok(held > LIMIT / 2, `${held}`);
      assert.deepEqual([day.reserved_usd, day.held_usd], [held, held]);
      assert.deepEqual([life.reserved_usd, life.held_usd], [held, held]);
      // The window ends; that of the other never does.
      await scene.store.write([{ sql: "UPDATE reservations SET at = at - 86400000" }]);
      const after = await scene.read();
      assert.deepEqual([after.day.reserved_usd, after.life.reserved_usd], [0, held]);
    },
  });
}

Deno.test("file: what a stop budget counted for a killed program is given to the next call at once", async () => {
  const limit = 0.0001; // less than the estimate of the call that was killed
  await using scene = await openScene("file", "stop", limit);
  const { purser, read } = scene;
  await killInCall(scene.db, async () => assert.ok((await read()).day.reserved_usd > limit));
  const { model } = fakeModel(() => Promise.resolve({ inputTokens: 5, outputTokens: 5 }));
  const metered = purser.meter(model, { agentId: AGENT_ID });
  const { text } = await generateText({ model: metered, prompt: "x".repeat(40), maxOutputTokens: 50 });
  assert.equal(text, "hello");
  assert.equal((await read()).day.reserved_usd, 0);
  const { rows } = await scene.store.read({ sql: "SELECT count(*) FROM reservations" });
  assert.equal(rows[0]![0], 0n);
});
