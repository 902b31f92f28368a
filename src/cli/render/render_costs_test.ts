import assert from "node:assert/strict";
import { DAY_MS } from "../../kernel/clock.ts";
import { memoryTerminal } from "../../../tests/harness/memory_terminal.ts";
import { openTestBooks } from "../../../tests/harness/test_books.ts";

type Books = Awaited<ReturnType<typeof openTestBooks>>;

async function keep({ core }: Books, severity: string, agentId: string, message: string, at: number) {
  await core.store.write([{
    sql:
      `INSERT INTO anomalies (anomaly_id, anomaly_key, kind, severity, agent_id, message, details, detected_at)
      VALUES (?1, ?1, 'costly_call', ?2, ?3, ?4, '{}', ?5)`,
    args: [core.ids.next("anom"), severity, agentId, message, at],
  }]);
}

/** The section of the overview, without the rest. */
async function overview(books: Books, line = "cost", columns?: number): Promise<string | undefined> {
  const terminal = memoryTerminal({ columns });
  const { out, err, code } = await books.purser(line, { terminal });
  assert.deepEqual([code, err], [0, ""]);
  return out.split("\n\n").find((part) => part.includes("Anomalies"))?.trimEnd();
}

Deno.test("purser cost shows the newest anomalies of its time range, and no section without any", async () => {
  await using books = await openTestBooks();
  const now = books.clock.now();
  await books.purser("agents set ann --model demo:echo");
  await books.purser("run ann hello");
  assert.equal(await overview(books), undefined);
  await keep(books, "warning", "bob", "bob did something long ago", now - 31 * DAY_MS);
  assert.equal(await overview(books), undefined);
  await keep(books, "critical", "ann", "ann called search 25 times\x1b[31m", now);
  await keep(
    books,
    "warning",
    "ann",
    "ann called search 5 times with the same input in one run",
    now - 60_000,
  );
  assert.equal(
    await overview(books),
    `Anomalies, the last 30 days
SEVERITY  WHEN (UTC)        AGENT  MESSAGE
critical  2026-11-21 09:30  ann    ann called search 25 times\\x1b[31m
warning   2026-11-21 09:29  ann    ann called search 5 times with the same input in one run`,
  );
  assert.match((await overview(books, "cost --since all"))!, /of all time|all time/);
  assert.match((await overview(books, "cost --since all"))!, /bob did something long ago/);
  for (const line of (await overview(books, "cost", 60))!.split("\n")) assert.ok(line.length <= 60, line);
  for (let i = 0; i < 9; i++) await keep(books, "warning", "ann", `number ${i}`, now + i);
  assert.equal((await overview(books))!.split("\n").length, 7);
});

Deno.test("purser cost --json and --by show no anomalies", async () => {
  await using books = await openTestBooks();
  await books.purser("agents set ann --model demo:echo");
  await books.purser("run ann hello");
  await keep(books, "warning", "ann", "noticed", books.clock.now());
  for (const line of ["cost --json", "cost --by agent", "cost --by agent --json"]) {
    assert.doesNotMatch((await books.purser(line)).out, /noticed/);
  }
});
