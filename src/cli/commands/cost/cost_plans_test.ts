import assert from "node:assert/strict";
import { modelCall } from "../../../../tests/harness/model_calls.ts";
import { openTestBooks } from "../../../../tests/harness/test_books.ts";
import { recordCalls } from "../../../ledger/mod.ts";

/** The calls that a plan pays for, in what commands print. */

const USD = 1_000_000_000n;

async function openBooks() {
  const books = await openTestBooks();
  const at = books.clock.now();
  const call = (callId: string, more: Partial<Parameters<typeof modelCall>[0]>) =>
    modelCall({ callId, at, sessionId: "ses_1", ...more });
  await books.core.store.write(recordCalls([
    call("billed", { agentId: "ann", costNanoUsd: USD }),
    call("plan", { agentId: "bob", costNanoUsd: 0n, planNanoUsd: 5n * USD / 2n }),
    call("cheap", { agentId: "al", costNanoUsd: 0n, planNanoUsd: USD / 2n }),
    call("unknown", { agentId: "cy", costNanoUsd: null, planNanoUsd: null }),
  ]));
  return books;
}

Deno.test("tables of costs have the plan value in a column of its own, and the total beside the cost", async () => {
  await using books = await openBooks();
  const { out } = await books.purser("cost --by agent");
  const rows = out.split("\n").map((line) => line.split(/ {2,}/));
  assert.deepEqual(rows[0]!.slice(0, 4), ["AGENT", "COST", "PLAN VALUE", "SHARE"]);
  assert.deepEqual(
    rows.slice(1, 5).map((
      [agent, ...cells],
    ) => [agent, ...cells.filter((cell) => cell.startsWith("$") || cell === "no price")]),
    [["ann", "$1.00"], ["bob", "$0", "$2.50"], ["al", "$0", "$0.50"], ["cy", "no price"]],
    "by cost, and then by plan value",
  );
  assert.match(out, /^Total \$1, beside a plan value of \$3, in 4 calls of the last 30 days$/m);
  assert.match((await books.purser("cost")).out, /^Today +\$1\.00 +\$3\.00 +4 /m);
  assert.match((await books.purser("cost --total")).out, /^Plan value +\$3$/m);
  assert.match(
    (await books.purser("cost --by agent --since 1d --compare previous")).out,
    /^AGENT .* PLAN VALUE/,
  );
});

Deno.test("without a plan's call, no table has a plan value", async () => {
  await using books = await openTestBooks();
  await books.core.store.write(
    recordCalls([modelCall({ callId: "a", at: books.clock.now(), sessionId: "ses_1" })]),
  );
  for (
    const line of ["cost", "cost --by agent", "cost --total", "sessions list", "sessions show ses_1 --tree"]
  ) {
    assert.doesNotMatch((await books.purser(line)).out, /plan/i, line);
  }
});

Deno.test("cost --csv and --json have the plan value", async () => {
  await using books = await openBooks();
  const { out } = await books.purser("cost --by agent --agent bob --csv");
  const [header, row] = out.split("\r\n").map((line) => line.split(","));
  assert.equal(row![header!.indexOf("plan_usd")], "2.5");
  const total = JSON.parse((await books.purser("cost --total --json")).out);
  assert.deepEqual([total.cost_usd, total.plan_usd], [1, 3]);
});

Deno.test("cost explain says that a plan pays, and what the call would cost", async () => {
  await using books = await openBooks();
  const plan = await books.purser("cost explain plan");
  assert.equal(plan.code, 0, plan.err);
  assert.match(plan.out, /^Cost +\$0$/m);
  assert.match(plan.out, /^Plan +A plan pays for it; by the API it would cost \$2\.5$/m);
  assert.match((await books.purser("cost explain unknown")).out, /^Plan +.* would cost what is not known$/m);
  assert.doesNotMatch((await books.purser("cost explain billed")).out, /plan/i);
});

Deno.test("sources have the plan value beside their cost", async () => {
  await using books = await openBooks();
  assert.match((await books.purser("sources")).out, /^SOURCE .* COST +PLAN VALUE .*\n.* \$1\.00 +\$3\.00 /);
});

Deno.test("sessions have the plan value in lists, in their calls and by sub-agent", async () => {
  await using books = await openBooks();
  const tree = await books.purser("sessions show ses_1 --tree");
  assert.match(tree.out, /^main agent .* \$3\.00$/m);
  const json = JSON.parse((await books.purser("sessions show ses_1 --tree --json")).out);
  const [main] = json.agents;
  assert.deepEqual([main.cost_usd, main.plan_usd, main.with_subagents.plan_usd], [1, 3, 3]);
  assert.match((await books.purser("sessions show ses_1")).out, /^Plan value +\$3$/m);
});
