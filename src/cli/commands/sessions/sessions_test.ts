import assert from "node:assert/strict";
import { openTestBooks } from "../../../../tests/harness/test_books.ts";
import { memoryTerminal } from "../../../../tests/harness/memory_terminal.ts";

type Books = Awaited<ReturnType<typeof openTestBooks>>;

interface Reported {
  call_id: string;
  [field: string]: unknown;
}

/** Reports calls of the session `talk`, as of the gateway: without a run or a step. */
async function report({ purser }: Books, calls: readonly Reported[]): Promise<void> {
  const lines = calls.map((call) =>
    JSON.stringify({
      ...{ agent_id: "coder", session_id: "talk", provider: "anthropic", model: "claude-sonnet-4-5" },
      ...{ at: "2026-11-21T09:00:00Z", input_tokens: 1_000, output_tokens: 10, cost_usd: 0.01 },
      ...call,
    })
  );
  const { code, err } = await purser("report -", {
    terminal: memoryTerminal({ stdin: `${lines.join("\n")}\n` }),
  });
  assert.deepEqual([code, err], [0, ""]);
}

const show = async ({ purser }: Books, columns?: number) => {
  const { code, out, err } = await purser("sessions show talk", { terminal: memoryTerminal({ columns }) });
  assert.deepEqual([code, err], [0, ""]);
  return out;
};

Deno.test("each call of a session has a row of its own: its id, agent, time, model, cached tokens and cost", async () => {
  await using books = await openTestBooks();
  await report(books, [
    { call_id: "c1" },
    {
      ...{ call_id: "c2", at: "2026-11-21T09:01:30Z", agent_id: "helper", model: "claude-haiku-4-5" },
      ...{ input_tokens: 2_500, cache_read_tokens: 2_000, cost_usd: 0.002 },
    },
    { call_id: "c3", at: "2026-11-21T09:02:00Z", provider: "openai", model: "gpt-5-mini", cost_usd: 0.5 },
    { call_id: "c4", at: "2026-11-21T09:03:00Z", input_tokens: 90_000, cache_read_tokens: 88_000 },
  ]);
  const out = await show(books);
  assert.match(
    out,
    /^Model +3 models: anthropic:claude-sonnet-4-5, anthropic:claude-haiku-4-5, openai:gpt-5-mini$/m,
  );
  assert.equal(
    out.slice(out.indexOf("Calls outside a run")),
    `Calls outside a run
TIME (UTC)  AGENT   MODEL                         INPUT  CACHED  OUTPUT    COST  CALL
09:00:00    coder   anthropic:claude-sonnet-4-5   1,000       0      10   $0.01  c1
09:01:30    helper  anthropic:claude-haiku-4-5    2,500   2,000      10  $0.002  c2
09:02:00    coder   openai:gpt-5-mini             1,000       0      10    $0.5  c3
09:03:00    coder   anthropic:claude-sonnet-4-5  90,000  88,000      10   $0.01  c4
`,
  );
});

Deno.test("calls of several days have their dates, and one without a price no cost of 0", async () => {
  await using books = await openTestBooks();
  await report(books, [
    { call_id: "c1", at: "2026-11-20T23:59:00Z" },
    { call_id: "c2", provider: "acme", model: "unknown", cost_usd: undefined },
  ]);
  const out = await show(books);
  assert.match(
    out,
    /\n2026-11-20 23:59:00 +coder .* \$0\.01 +c1\n2026-11-21 09:00:00 +coder +acme:unknown .* no price +c2\n/,
  );
});

Deno.test("calls with the same step of a run have their own rows, retries and reported ones too", async () => {
  await using books = await openTestBooks();
  await report(books, [
    { call_id: "c1", run_id: "r", step: 1 },
    { call_id: "c2", run_id: "r", step: 1, tools: ["search"] },
    { call_id: "c3", run_id: "r", step: 2 },
    { call_id: "c4" },
  ]);
  const out = await show(books);
  assert.match(out, /^Model +anthropic:claude-sonnet-4-5$/m);
  assert.match(out, /\nRun r\nSTEP +TIME [^]*\n +1 .* - .* c1\n +1 .* search .* c2\n +2 .* c3\n/);
  assert.match(out, /\nCalls outside a run\nTIME [^]* c4\n$/);
});

Deno.test("where there is no room beside a call, its id is below, whole, and the model stays longest", async () => {
  await using books = await openTestBooks();
  const id = "01k9qv3v8c7e9g1j3m5p7r9t1w01k9qv3v8c7e9g1j3m5p7r9t1w";
  await report(books, [{ call_id: id }, { call_id: "c2" }]);
  const out = await show(books, 80);
  assert.ok(out.split("\n").every((line) => line.length <= 80), out);
  assert.match(out, new RegExp(`\\n09:00:00 .*anthropic:claude-sonnet-4-5 .*\\n +${id}\\n`));
  const narrow = await show(books, 40);
  assert.ok(narrow.split("\n").every((line) => line.length <= 60), narrow);
  assert.match(narrow, new RegExp(`\\n +${id}\\n`));
});
