import assert from "node:assert/strict";
import { DAY_MS, toIso } from "../kernel/clock.ts";
import { createApp } from "../http/mod.ts";
import { recordCalls } from "../ledger/mod.ts";
import { modelCall } from "../../tests/harness/model_calls.ts";
import { memoryTerminal } from "../../tests/harness/memory_terminal.ts";
import { textWidth } from "./terminal/text_width.ts";
import { openTestBooks } from "../../tests/harness/test_books.ts";

/** Command lines in order, over the same database: their outputs and exit codes. */
const STORY: { line: string; stdin?: string; out?: string | RegExp; err?: string | RegExp; code?: number }[] =
  [
    { line: "agents list", out: "No agents yet. Define one: purser agents set helper --model demo:echo\n" },
    { line: "cost", out: "No model call has been booked yet\n" },
    { line: "sessions list", out: "No sessions yet\n" },
    {
      line: "agents set helper",
      code: 2,
      err:
        "error: Cannot create agent helper without --model, such as demo:echo\nSee purser agents set --help\n",
    },
    {
      line:
        'agents set helper --model demo:echo --system "Be brief." --tool calculator --tool current_time --budget 0.25',
      out: "Created agent helper: demo:echo, $0.25 a run, stop, tools calculator, current_time\n",
    },
    {
      line: "agents set tagged --model demo:echo --tag team=search --tag customer=acme",
      out: "Created agent tagged: demo:echo, no budget, tags customer=acme, team=search\n",
    },
    { line: "agents remove tagged", out: /tagged/ },
    {
      line: "agents set helper --budget none --max-output-tokens 500 --tool calculator",
      out: "Changed agent helper: demo:echo, no budget, tools calculator\n",
    },
    {
      line: "agents show helper",
      out: `Agent          helper
Model          demo:echo
System prompt  Be brief.
Budget         no budget
Max steps      20
Max output     500 tokens a call
Tools          calculator
Created        2026-11-21 09:30:00 UTC
Updated        2026-11-21 09:30:00 UTC

Lifetime usage
Model calls  0
Tokens       0 in, 0 out
Cost         $0
`,
    },
    {
      line: "agents show helper --json",
      out: /^\{"agent_id":"helper","name":"helper".*"token_usage":\{.*\}\}\n$/,
    },
    {
      line: "agents show nope",
      code: 3,
      err: "error: Cannot find agent nope; purser agents list shows all\n",
    },
    {
      line: "agents show nope --json",
      code: 3,
      err: /^\{"type":"about:blank","title":"Not found","status":404,.*\}\n$/,
    },
    { line: "agents show ../..", code: 2, err: /^error: Cannot use "\.\.\/\.\." as an id: / },
    {
      line: 'run helper "What is 17 * 23?" --session first',
      out: "You said: What is 17 * 23?\nThe calculator says 391.\n",
      err: "2 steps · 28 + 22 tokens · $0.0001097 · first\n",
    },
    {
      line: "run helper - --session first",
      stdin: "And hello\n",
      out: "You said: And hello\n",
      err: /^1 step · .* · first\n$/,
    },
    {
      line: "run helper -",
      stdin: "\n",
      code: 2,
      err: /^error: Cannot run the agent: standard input is empty\n/,
    },
    {
      line: "run helper hi --session second --json",
      out:
        /^\{"run_id":"run_\d+","agent_id":"helper","session_id":"second","status":"completed","output":"You said: hi",.*\}\n$/,
      err: "",
    },
    { line: "run nope hi", code: 3, err: "error: Cannot find agent nope\n" },
    { line: 'run helper hi --session "a b"', code: 2, err: /^error: Cannot use --session: an id has/ },
    {
      line: "agents set looper --model demo:loop --tool calculator --budget $0.0002 --budget-mode stop",
      out: "Created agent looper: demo:loop, $0.0002 a run, stop, tools calculator\n",
    },
    {
      line: "run looper go --session third",
      code: 5,
      out: "",
      err:
        /^error: Cannot make the next model call of run run_\d+: it has cost \$0\.000\d+ and its budget is \$0\.0002\nThe session keeps all steps up to this point: purser sessions show third\n$/,
    },
    {
      line: "run looper go --json",
      code: 5,
      out: "",
      err:
        /"code":"budget_exceeded","details":\{"cost_usd_so_far":0\.000\d+,"budget_usd":0\.0002\},"run_id":"run_\d+","session_id":"ses_/,
    },
    {
      line: "agents set looper --budget none --max-steps 3",
      out: "Changed agent looper: demo:loop, no budget, tools calculator\n",
    },
    {
      line: "run looper go --session fourth",
      out: "",
      err:
        /^warning: The agent stopped at its limit of 3 steps; purser agents set --max-steps changes it\n3 steps · /,
    },
    { line: "agents set failing --model demo:fail" },
    {
      line: "run failing hi --session fifth",
      code: 1,
      err: /^error: .*demo:fail fails every call\nThe session keeps/,
    },
    { line: "agents set bad --model nope:x", code: 1, err: /^error: Cannot use .*nope/ },
    { line: "agents set bad --model demo:echo --tool nope", code: 1, err: /^error: .*nope/ },
    {
      line: "agents set bad --model demo:echo --budget -1",
      code: 2,
      err: /^error: Cannot use --budget: -1 is negative/,
    },
    { line: "agents set bad --model demo:echo --budget 1e-10", code: 2, err: /more than nine decimals/ },
    {
      line: "agents set bad --model demo:echo --budget-mode hard",
      code: 2,
      err: /hard is not one of stop, strict/,
    },
    {
      line: "agents set bad --max-steps 0",
      code: 2,
      err: /--max-steps: 0 is not a whole number from 1 to 1000/,
    },
    {
      line: "agents set bad --tool a --no-tools",
      code: 2,
      err: /Cannot use --tool together with --no-tools/,
    },
    {
      line: "agents list",
      out: `AGENT    MODEL      BUDGET  MODE  STEPS  TOOLS
failing  demo:fail    none           20
helper   demo:echo    none           20  calculator
looper   demo:loop    none            3  calculator
`,
    },
    {
      line: "sessions list --agent helper",
      out: `SESSION  AGENT   STATUS     MESSAGES  CALLS  TOKENS        COST  UPDATED (UTC)
second   helper  completed         2      1       6   $0.000015  2026-11-21 09:30
first    helper  completed         6      3      91  $0.0001468  2026-11-21 09:30
`,
    },
    {
      line: "sessions list --limit 1",
      out: /^SESSION.*\nfourth? .*\n$|^SESSION.*\n.*\n$/,
      err: /There are more/,
    },
    {
      line: "sessions list --search FIRST",
      out: `SESSION  AGENT   STATUS     MESSAGES  CALLS  TOKENS        COST  UPDATED (UTC)
first    helper  completed         6      3      91  $0.0001468  2026-11-21 09:30
`,
    },
    { line: "sessions list --search first --status failed", out: "No session matches\n" },
    { line: "sessions list --limit 0", code: 2, err: /--limit: 0 is not a whole number/ },
    {
      line: "sessions list --agent hepler",
      code: 3,
      err:
        "error: Cannot find agent hepler: it is not defined, and no call of it is booked; did you mean helper?\n",
    },
    {
      line: "sessions show third",
      out:
        /^Session {6}third\nAgent {8}looper\nStatus {7}budget_exceeded\n[^]*\nRun run_\d+ {2}budget_exceeded\nCannot make the next model call of run [^]*\nSTEP {2}TIME \(UTC\) {2}AGENT {3}MODEL {6}TOOLS {7}INPUT {2}CACHED {2}OUTPUT {8}COST {2}CALL\n {3}1 {2}09:30:00 {4}looper {2}demo:loop {2}calculator .* {2}call_\d+\n/,
    },
    { line: "sessions show third --json", out: /^\{"session_id":"third".*\}\n$/ },
    { line: "sessions show nope", code: 3, err: "error: Cannot find session nope\n" },
    { line: "cost --by agent --json --since 2026-11-21", out: /^\[\{"agent_id":"looper".*\}\]\n$/ },
    { line: "cost --json", out: /^\[\{"agent_id":"looper".*\}\]\n$/ },
    {
      line: "cost --by session --limit 1",
      out: /^SESSION +AGENT +COST +SHARE +CALLS +TOKENS +LAST CALL \(UTC\)\n.*2026-11-21 09:30\nTotal .*\n$/,
      err: /There are more/,
    },
    { line: "cost --by hour", out: /^HOUR \(UTC\) .*\n2026-11-21 09:00 {2}█/ },
    { line: "cost --by day --since all", out: /^DAY \(UTC\) .*\n2026-11-21 {2}█+ {2}\$0\.\d+ {3}100% / },
    {
      line: "cost --by year",
      code: 2,
      err:
        /year is not one of agent, session, run, model, provider, key, source, hour, day, week, month, user, team, project, customer, branch, machine, tag:KEY/,
    },
    { line: "cost --since soon", code: 2, err: /^error: Cannot use --since: soon is not a time; write 24h/ },
    { line: "agents remove helper", out: "Removed agent helper; its sessions and costs stay\n" },
    { line: "agents remove helper", code: 3, err: "error: Cannot find agent helper; did you mean looper?\n" },
    { line: "agents remove looper --json", out: "" },
    { line: "agents set index --model demo:echo", out: /^Created agent index/ },
    { line: "agents show index", out: /^Agent {10}index\n/ },
    { line: "agents lst", code: 2, err: /did you mean agents list\?\nSee purser agents --help\n$/ },
    { line: "agents", code: 2, out: "", err: /^Usage: purser agents COMMAND/ },
    { line: "--version", out: /^purser \d+\.\d+\.\d+\n$/ },
    { line: "cost --port 1", code: 2, err: /unknown option of cost/ },
    { line: "serve --port 70000", code: 2, err: /--port: 70000 is not a whole number from 0 to 65535/ },
    { line: "cost --config /nowhere/purser.json", code: 2, err: /^error: Cannot read the config file/ },
  ];

Deno.test("commands print results, report errors, and return their exit codes", async (t) => {
  await using books = await openTestBooks();
  for (const { line, stdin, out, err = "", code = 0 } of STORY) {
    await t.step(`purser ${line}`, async () => {
      const outcome = await books.purser(line, { terminal: memoryTerminal({ stdin }) });
      if (typeof out === "string") assert.equal(outcome.out, out);
      else if (out) assert.match(outcome.out, out);
      if (typeof err === "string") assert.equal(outcome.err, err);
      else assert.match(outcome.err, err);
      assert.equal(outcome.code, code);
      if (code !== 0) assert.equal(outcome.out, "");
      assert.equal(books.openConnections, 0);
    });
  }
});

/** Books reported calls: some today, some before, one without a price. */
async function bookCalls({ core, clock }: Awaited<ReturnType<typeof openTestBooks>>): Promise<void> {
  const calls = ([
    [0, "writer", 1.5, "gpt-x"],
    [2, "writer", 0.25, "gpt-x"],
    [2, "helper", 0.125, "gpt-x"],
    [10, "writer", 2, "gpt-x"],
    [300, "writer", 100, "gpt-x"],
    [0, "odd", undefined, "日本語"],
  ] as const).map(([daysAgo, agent_id, cost_usd, model], index) => ({
    call_id: `call-${index}`,
    at: toIso(clock.now() - daysAgo * DAY_MS),
    agent_id,
    provider: "acme",
    model,
    input_tokens: 1_000,
    output_tokens: 200,
    cost_usd,
  }));
  const answer = await (await createApp(core)).request("/costs/events", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(calls),
  });
  assert.equal(answer.status, 201, await answer.text());
}

Deno.test("the last 7 days of the overview are those of --since 7d, to the hour", async () => {
  await using books = await openTestBooks();
  await bookCalls(books);
  const at = (daysAgo: number) => books.clock.now() - daysAgo * DAY_MS;
  // By calendar days, the first of these was outside.
  await books.core.store.write(
    recordCalls([6.9, 7.1].map((days) => modelCall({ callId: `c${days}`, at: at(days) }))),
  );
  const { out } = await books.purser("cost");
  const since = JSON.parse((await books.purser("cost --by model --since 7d --json")).out);
  const calls = since.reduce((sum: number, row: { model_calls: number }) => sum + row.model_calls, 0);
  assert.equal(calls, 5);
  assert.equal(Number(/^Last 7 days +\S+ +(\d+) /m.exec(out)?.[1]), calls);
});

Deno.test("cost shows periods, days, agents and models, and warns of calls without a price", async () => {
  await using books = await openTestBooks();
  await bookCalls(books);
  const { out, err } = await books.purser("cost", { terminal: memoryTerminal({ columns: 80 }) });
  assert.equal(
    out,
    `SPENDING (UTC)      COST  CALLS  TOKENS  UNPRICED
Today             $1.500      2   2,400         1
Last 7 days       $1.875      4   4,800         1
This month        $3.875      5   6,000         1
All time        $103.875      6   7,200         1
Forecast for 2026-11: about $3.88 to $5.70, by weekday and at the pace of the
last 20.4 days

By day (UTC)
DAY (UTC)                                   COST  SHARE  CALLS  TOKENS  UNPRICED
2026-11-15                                    $0             0       0
2026-11-16                                    $0             0       0
2026-11-17                                    $0             0       0
2026-11-18                                    $0             0       0
2026-11-19      ██████                    $0.375    20%      2   2,400
2026-11-20                                    $0             0       0
2026-11-21      ████████████████████████  $1.500    80%      2   2,400         1

By agent, the last 30 days
AGENT                                       COST  SHARE  CALLS  TOKENS  UNPRICED
writer          ██████████████████████    $3.750    97%      3   3,600
helper          ▊                         $0.125     3%      1   1,200
odd                                     no price             1   1,200         1

By model, the last 30 days
MODEL                                       COST  SHARE  CALLS  TOKENS  UNPRICED
acme:gpt-x      ██████████████████████    $3.875   100%      4   4,800
acme:日本語                             no price             1   1,200         1
`,
  );
  assert.equal(
    err,
    "warning: 1 call without a known price counts as $0 here: " +
      "set it by purser prices set PROVIDER:MODEL --input … --output …, then run purser reprice --unpriced\n",
  );
});

Deno.test("cost shows a period whose calls all have no price as such, not as $0", async () => {
  await using books = await openTestBooks();
  await books.core.store.write(recordCalls([
    modelCall({ callId: "a", at: books.clock.now(), costNanoUsd: null }),
    modelCall({ callId: "b", at: books.clock.now() - 300 * DAY_MS, costNanoUsd: 10n ** 9n }),
  ]));
  const { out, err } = await books.purser("cost");
  assert.match(out, /^Today +no price +1 /m);
  assert.match(out, /^This month +no price +1 /m);
  assert.match(out, /^All time +\$1\.00 +2 /m);
  assert.match(err, /^warning: 1 call without a known price/);
});

Deno.test("cost reads totals past a billion USD", async () => {
  await using books = await openTestBooks();
  await books.core.store.write(
    recordCalls(
      ["a", "b"].map((callId) => modelCall({ callId, at: books.clock.now(), costNanoUsd: 6n * 10n ** 17n })),
    ),
  );
  for (const line of ["cost", "cost --by day"]) {
    const { code, out } = await books.purser(line);
    assert.equal(code, 0);
    assert.match(out, /\$1,200,000,000\.00/);
  }
});

Deno.test("cost draws bars in ASCII where the terminal has nothing else, and none where there is no room", async () => {
  await using books = await openTestBooks();
  await bookCalls(books);
  const ascii = memoryTerminal({ columns: 60, hasUnicode: false });
  const { out } = await books.purser("cost --by agent --since all", { terminal: ascii });
  assert.match(out, /^writer {2}#+ {2}\$103\.750 {3}100% /m);
  assert.doesNotMatch(out, /[^\x20-\x7e\n]/);
  const narrow = await books.purser("cost", { terminal: memoryTerminal({ columns: 30 }) });
  assert.doesNotMatch(narrow.out, /█/);
  for (const line of narrow.out.split("\n")) assert.ok(textWidth(line) <= 36, line);
});

Deno.test("cost reports rows over the limit", async () => {
  await using books = await openTestBooks();
  await bookCalls(books);
  const { out } = await books.purser("cost --limit 1");
  assert.match(out, /\nand 2 more: purser cost --by agent --limit 1000\n/);
});

Deno.test("run streams to a terminal: text as it comes, tools on standard error, escapes written out", async () => {
  await using books = await openTestBooks();
  await books.purser("agents set helper --model demo:echo --tool calculator");
  const writes: string[] = [];
  const terminal = memoryTerminal({ columns: 80, onWrite: (text) => writes.push(text) });
  const { code, out, err } = await books.purser('run helper "Say\x1b[31m 2 + 3" --session first', {
    terminal,
  });
  assert.equal(code, 0);
  assert.equal(out, "You said: Say\\x1b[31m 2 + 3\nThe calculator says 5.\n");
  assert.ok(writes.length > 5, "one write a word");
  assert.equal(err, `→ calculator {"expression":"2 + 3"}\n${err.split("\n")[1]}\n`);
  assert.match(err, /\n2 steps · \d+ \+ \d+ tokens · \$0\.\d+ · first\n$/);

  const piped = await books.purser('run helper "Say\x1b[31m hi" --session second');
  assert.equal(piped.out, "You said: Say\x1b[31m hi\n", "a program gets what the model wrote");
});
