import assert from "node:assert/strict";
import { type BudgetInCode, openPurser, type PurserError } from "../src/mod.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { rejection } from "./harness/test_purser.ts";

/** Budgets that a program defines. */

const DAY: BudgetInCode = { name: "Day", limit_usd: 5, per: "day" };
const AGENT = { name: "helper", model: "demo:echo" };

const open = (db: string, budgets: BudgetInCode[]) => openPurser({ db, env: {}, budgets });

Deno.test("a program's budgets are stored, listed and enforced", async () => {
  const purser = await open(":memory:", [DAY, { ...DAY, name: "None", limit_usd: 0, agent_id: "poor" }]);
  const { token_usage } = await purser.runAgent(AGENT, "hello");
  const budgets = await purser.budgets();
  assert.deepEqual(
    budgets.map((
      { name, limit_usd, spent_usd, reserved_usd, state },
    ) => [name, limit_usd, spent_usd, reserved_usd, state]),
    [["Day", 5, token_usage.cost_usd, 0, "ok"], ["None", 0, 0, 0, "reached"]],
  );
  const refusal = await rejection(purser.runAgent({ ...AGENT, name: "poor" }, "hello")) as PurserError;
  assert.equal(refusal.code, "budget_exceeded");
  assert.match(refusal.message, /“None” \(\$0 per UTC day, agent poor\)/);
  assert.equal((await purser.budgets())[1]!.refused_calls, 1);
  await purser.close();
});

Deno.test("at the next start they are the program's again, with their counts and without copies", () =>
  inDirectory(async (directory) => {
    const db = `${directory}/purser.db`;
    const first = await open(db, [{ ...DAY, agent_id: "helper", mode: "strict" }, {
      ...DAY,
      budget_id: "bud_own",
    }]);
    const [day, own] = await first.budgets();
    assert.match(day!.budget_id, /^bud_[0-9a-f]{26}$/);
    assert.equal(own!.budget_id, "bud_own");
    const raise = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"extra_usd":1}',
    };
    assert.equal((await first.app.request(`/budgets/${day!.budget_id}/raises`, raise)).status, 201);
    await first.close();

    const second = await open(db, [{ ...DAY, limit_usd: 7, warn_at: [] }]);
    const [again, left] = await second.budgets();
    assert.equal(again!.budget_id, day!.budget_id);
    const { limit_usd, agent_id, mode, warn_at, extra_usd } = again!;
    assert.deepEqual([limit_usd, agent_id, mode, warn_at, extra_usd], [7, null, "stop", [], 1]);
    assert.deepEqual(left, { ...own, spent_usd: left!.spent_usd }, "no longer named, and left as it was");
    await second.close();
  }));

Deno.test("a wrong budget of a program is refused before anything is stored, with the field", async () => {
  const wrong: [budgets: BudgetInCode[], message: RegExp][] = [
    [[DAY, { ...DAY, name: "Two", limit_usd: -1 }], /^Cannot read the budget: limit_usd: /],
    [[{ ...DAY, agent_id: "a", each: "agent" }], /each: can't be agent together with agent_id/],
    [[DAY, DAY], /^Cannot use two budgets named Day: give them a budget_id each$/],
    [[{ ...DAY, budget_id: "day" }], /^Cannot use budget id "day": it has to look like bud_daily$/],
  ];
  await inDirectory(async (directory) => {
    for (const [budgets, message] of wrong) {
      const { code, message: text } = await rejection(open(`${directory}/p.db`, budgets)) as PurserError;
      assert.equal(code, "invalid");
      assert.match(text, message);
    }
    const purser = await open(`${directory}/p.db`, []);
    assert.deepEqual(await purser.budgets(), []);
    await purser.close();
  });
});
