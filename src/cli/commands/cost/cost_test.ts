import assert from "node:assert/strict";
import { modelCall } from "../../../../tests/harness/model_calls.ts";
import { DAY_MS } from "../../../kernel/clock.ts";
import { recordCalls } from "../../../ledger/mod.ts";
import { usageOf } from "../../../pricing/mod.ts";
import { openTestBooks } from "../../../../tests/harness/test_books.ts";
import { memoryTerminal } from "../../../../tests/harness/memory_terminal.ts";

type Books = Awaited<ReturnType<typeof openTestBooks>>;
type Call = Omit<Parameters<typeof modelCall>[0], "callId" | "at"> & { daysAgo: number };

async function book({ core, clock }: Books, calls: readonly Call[]): Promise<void> {
  await core.store.write(
    recordCalls(
      calls.map(({ daysAgo, ...call }, index) =>
        modelCall({ callId: `call_${index}`, at: clock.now() - daysAgo * DAY_MS, ...call })
      ),
    ),
  );
}

const USD = 1_000_000_000n;

Deno.test("with many agents the overview shows ten, and their shares are of all", async () => {
  await using books = await openTestBooks();
  await book(
    books,
    Array.from({ length: 40 }, (_, index) => ({ daysAgo: 0, agentId: `agent-${index}`, costNanoUsd: USD })),
  );
  const { out } = await books.purser("cost", { terminal: memoryTerminal({ columns: 80 }) });
  assert.equal(out.match(/^agent-\d+ /gm)?.length, 10);
  assert.match(out, /\nand 30 more: purser cost --by agent --limit 1000\n/);
  assert.match(out, /^agent-0 .* 3%/m);
  assert.ok(out.trimEnd().split("\n").length < 24, "it fits on a screen");
  const narrow = await books.purser("cost", { terminal: memoryTerminal({ columns: 40 }) });
  assert.match(narrow.out, /\nand 30 more:\npurser cost --by agent --limit 1000\n/);
  for (const line of narrow.out.split("\n")) assert.ok(line.length <= 40, line);
  const { out: all } = await books.purser("cost --limit 1000");
  assert.equal(all.match(/^agent-\d+ /gm)?.length, 40);
});

Deno.test("cost --sort cost lists the most expensive first, and the total of all below", async () => {
  await using books = await openTestBooks();
  await book(
    books,
    [1n, 7n, 3n].map((usd, index) => ({ daysAgo: index, runId: `run_${usd}`, costNanoUsd: usd * USD })),
  );
  const { out, err } = await books.purser("cost --by run --sort cost --limit 2");
  assert.deepEqual(out.match(/^run_\d/gm), ["run_7", "run_3"]);
  assert.match(out, /\nTotal \$11 in 3 calls of the last 30 days\n$/);
  assert.match(out, /^run_7 .* 64% /m);
  assert.match(err, /There are more rows/);
});

Deno.test("cost is filtered by agent, model and time, in tables and in the overview", async () => {
  await using books = await openTestBooks();
  await book(books, [
    { daysAgo: 0, agentId: "ann", model: "big", costNanoUsd: USD },
    { daysAgo: 3, agentId: "ann", model: "small", costNanoUsd: 2n * USD },
    { daysAgo: 3, agentId: "bob", model: "small", costNanoUsd: 4n * USD },
  ]);
  const total = async (options: string) => (await books.purser(`cost --by agent ${options} --json`)).out;
  assert.match(await total("--agent ann"), /"cost_usd":3\}\]/);
  assert.match(await total("--agent ann --model demo:small"), /"cost_usd":2\}\]/);
  assert.match(await total("--model big --until 1d"), /^\[\]/);
  const { out } = await books.purser("cost --agent ann");
  assert.match(out, /^Today +\$1\.00 +1 [^]*^All time +\$3\.00 +2 /m);
  assert.doesNotMatch(out, /bob/);
  const unknown = await books.purser("cost --agent anne");
  assert.deepEqual([unknown.code, unknown.out], [3, ""]);
  assert.match(unknown.err, /Cannot find agent anne: .*; did you mean ann\?\n$/);
});

Deno.test("cost --split shows a second level, each group named once", async () => {
  await using books = await openTestBooks();
  await book(books, [
    { daysAgo: 0, agentId: "ann", model: "big", costNanoUsd: USD },
    { daysAgo: 0, agentId: "ann", model: "small", costNanoUsd: 2n * USD },
    { daysAgo: 0, agentId: "bob", model: "big", costNanoUsd: 4n * USD },
  ]);
  const { out } = await books.purser("cost --by agent --split model");
  assert.equal(
    out.replace(/ [ █▌]+(?=\$)/g, "  "),
    `AGENT  MODEL                                  COST  SHARE  CALLS  TOKENS
bob    demo:big  $4.00    57%      1      12
ann    demo:small  $2.00    29%      1      12
       demo:big  $1.00    14%      1      12
Total $7 in 3 calls of the last 30 days
`,
  );
});

Deno.test("the total below a table of costs names its span, also that of one row", async () => {
  await using books = await openTestBooks(); // on 2026-11-21
  await book(books, [{ daysAgo: 2, costNanoUsd: USD }]);
  const lastLine = async (line: string) => (await books.purser(line)).out.trimEnd().split("\n").at(-1);
  assert.equal(await lastLine("cost --by agent"), "Total $1 in 1 call of the last 30 days");
  assert.equal(await lastLine("cost --by agent --since all"), "Total $1 in 1 call of all time");
  assert.equal(
    await lastLine("cost --by agent --since 2026-11-01 --until 2026-11-20"),
    "Total $1 in 1 call since 2026-11-01 00:00 UTC until 2026-11-20 00:00 UTC",
  );
  assert.equal(
    await lastLine("cost --by day --until 2026-11-20"),
    "Total $1 in 1 call of the last 30 days, until 2026-11-20 00:00 UTC",
  );
  assert.equal(await lastLine("cost --by hour"), "No calls of the last 24 hours");
  assert.equal(await lastLine("cost --by session"), "No calls with a session in the last 30 days");
  assert.equal(await lastLine("cost --by run"), "No calls of a run in the last 30 days");
});

Deno.test("cost --compare shows two spans side by side, with the exact difference and all groups of both", async () => {
  await using books = await openTestBooks();
  await book(books, [
    { daysAgo: 1, agentId: "ann", costNanoUsd: 3n * USD + 1n },
    { daysAgo: 8, agentId: "ann", costNanoUsd: 2n * USD },
    { daysAgo: 8, agentId: "old", costNanoUsd: USD },
    { daysAgo: 1, agentId: "odd", costNanoUsd: null },
  ]);
  const { out } = await books.purser("cost --since 7d --compare previous");
  assert.match(out, /^AGENT +COST +BEFORE +DIFFERENCE +CHANGE +CALLS +BEFORE\n/);
  assert.match(out, /^ann +\$3\.00 +\$2\.00 +\+\$1\.00 +\+50% +1 +1$/m);
  assert.match(out, /^old +\$0 +\$1\.00 +-\$1\.00 +-100% +0 +1$/m);
  assert.match(out, /^odd +no price +\$0 +1 +0$/m);
  assert.match(out, /^All +\$3\.00 +\$3\.00 +\+<\$0\.0001 +0% +2 +2\n/m);
  const json = JSON.parse((await books.purser("cost --total --since 7d --compare previous --json")).out);
  assert.deepEqual([json.cost_usd, json.previous.cost_usd, json.difference_usd], [3.000000001, 3, 1e-9]);
  const { out: month } = await books.purser("cost --since 2026-11-20 --compare 2026-11-13 --json");
  assert.deepEqual(
    JSON.parse(month).map((row: { agent_id: string }) => row.agent_id),
    ["ann", "odd", "old"],
  );
});

Deno.test("cost --total groups the digits of its counts, as tables do", async () => {
  await using books = await openTestBooks();
  const usage = usageOf({ inputTokens: 1_234_567, outputTokens: 8_900 });
  await book(books, [{ daysAgo: 0, usage, costNanoUsd: USD }]);
  const { out } = await books.purser("cost --total");
  assert.match(out, /^Tokens +1,234,567 in, 8,900 out$/m);
});

Deno.test("cost --csv prints all pages under one header, and says where a limit cut them", async () => {
  await using books = await openTestBooks();
  await book(
    books,
    Array.from({ length: 1_005 }, (_, index) => ({ daysAgo: 0, sessionId: `s${index}`, costNanoUsd: 1n })),
  );
  const { out, err } = await books.purser("cost --by session --csv");
  const lines = out.split("\r\n");
  assert.match(
    lines[0]!,
    /^session_id,agent_id,model,first_at,last_at,model_calls,.*,cost_usd,lower_bound_calls$/,
  );
  assert.deepEqual([lines.length, new Set(lines).size, err], [1_007, 1_007, ""]);
  assert.match(lines[1]!, /,0\.000000001,0$/);
  const cut = await books.purser("cost --by session --csv --limit 3");
  assert.deepEqual([cut.out.split("\r\n").length, /There are more rows/.test(cut.err)], [5, true]);
});

Deno.test("a forecast of less than a cent is not shown as $0", async () => {
  await using books = await openTestBooks();
  await book(books, [0, 1, 2, 3].map((daysAgo) => ({ daysAgo, costNanoUsd: 100_000n })));
  books.clock.advance(DAY_MS);
  const { out } = await books.purser("cost --forecast");
  assert.match(
    out,
    /^Spent in 2026-11 \(UTC\): \$0\.0004\nForecast for 2026-11: about \$0\.00\d+(?: to \$0\.00\d+)?, /,
  );
});

Deno.test("the forecast needs three days, and is a range of two estimates", async () => {
  await using books = await openTestBooks(); // on 2026-11-21 at 09:30
  await book(books, [{ daysAgo: 0, costNanoUsd: USD }]);
  assert.match(
    (await books.purser("cost --forecast")).out,
    /^Spent in 2026-11 \(UTC\): \$1\nNo forecast yet/,
  );
  books.clock.advance(3 * DAY_MS);
  assert.equal(
    (await books.purser("cost --forecast")).out,
    "Spent in 2026-11 (UTC): $1\nForecast for 2026-11: about $2.00 to $2.94, by weekday and at the pace of the last 3.4 days\n",
  );
  const narrow = await books.purser("cost", { terminal: memoryTerminal({ columns: 40 }) });
  for (const line of narrow.out.split("\n")) assert.ok(line.length <= 40, line);
});
