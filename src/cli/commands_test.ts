import type { LanguageModelV4 } from "@ai-sdk/provider";
import assert from "node:assert/strict";
import { memoryTerminal } from "./_memory_terminal.ts";
import { openTestBooks } from "./_test_books.ts";

/** One command line after the other, over the same books: what it prints, what it tells, how it ends. */
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

In its lifetime
Model calls  0
Tokens       0 in, 0 out
Cost         $0
`,
    },
    {
      line: "agents show helper --json",
      out: /^\{"agent_id":"helper","name":"helper".*"token_usage":\{.*\}\}\n$/,
    },
    { line: "agents show nope", code: 3, err: "error: Cannot find agent nope\n" },
    {
      line: "agents show nope --json",
      code: 3,
      err: /^\{"type":"about:blank","title":"Not found","status":404,.*\}\n$/,
    },
    { line: "agents show ../..", code: 2, err: /^error: Cannot use "\.\.\/\.\." as an id: / },
    {
      line: 'run helper "What is 17 * 23?" --session first',
      out: "You said: What is 17 * 23?\nThe calculator says 391.\n",
      err: "2 steps · 29 + 22 tokens · $0.0001107 · first\n",
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
        /^error: Cannot make the next model call of run run_\d+: it has cost \$0\.000\d+ and its budget is \$0\.0002\nAll that happened up to there is kept in session third: purser sessions show third\n$/,
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
      out: "\n",
      err:
        /^warning: The agent stopped at its limit of 3 steps; --max-steps of agents set changes it\n3 steps · /,
    },
    { line: "agents set failing --model demo:fail" },
    {
      line: "run failing hi --session fifth",
      code: 1,
      err: /^error: .*demo:fail fails every call\nAll that happened/,
    },
    { line: "agents set bad --model nope:x", code: 1, err: /^error: Cannot use .*nope/ },
    { line: "agents set bad --model demo:echo --tool nope", code: 1, err: /^error: .*nope/ },
    {
      line: "agents set bad --model demo:echo --budget -1",
      code: 2,
      err: /^error: Cannot use --budget: -1 is less/,
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
second   helper  completed         2      1      10   $0.000026  2026-11-21 09:30
first    helper  completed         6      3      97  $0.0001764  2026-11-21 09:30
`,
    },
    {
      line: "sessions list --limit 1",
      out: /^SESSION.*\nfourth? .*\n$|^SESSION.*\n.*\n$/,
      err: /There are more/,
    },
    { line: "sessions list --limit 0", code: 2, err: /--limit: 0 is not a whole number/ },
    { line: "sessions list --agent none", out: "No sessions of agent none\n" },
    {
      line: "sessions show third",
      out:
        /^Session {6}third\nAgent {8}looper\nStatus {7}budget_exceeded\n[^]*\nRun run_\d+ {2}budget_exceeded\nCannot make the next model call of run [^]*\nSTEP {2}TOOLS {7}INPUT {2}OUTPUT {8}COST\n {3}1 {2}calculator/,
    },
    { line: "sessions show third --json", out: /^\{"session_id":"third".*\}\n$/ },
    { line: "sessions show nope", code: 3, err: "error: Cannot find session nope\n" },
    { line: "cost --by agent --json --since 2026-11-21", out: /^\[\{"agent_id":"looper".*\}\]\n$/ },
    { line: "cost --json", out: /^\[\{"agent_id":"looper".*\}\]\n$/ },
    {
      line: "cost --by session --limit 1",
      out: /^SESSION +AGENT +COST +SHARE +CALLS +TOKENS\n.*\n$/,
      err: /There are more/,
    },
    { line: "cost --by hour", out: /^HOUR \(UTC\) .*\n2026-11-21 09:00 {2}█/ },
    { line: "cost --by day --since all", out: /^DAY \(UTC\) .*\n2026-11-21 {2}█+ {2}\$0\.\d+ {3}100% / },
    { line: "cost --by month", code: 2, err: /month is not one of agent, session, run, model, hour, day/ },
    { line: "cost --since soon", code: 2, err: /^error: Cannot use --since: soon is no time; write 24h/ },
    { line: "agents remove helper", out: "Removed agent helper; its sessions and costs stay\n" },
    { line: "agents remove helper", code: 3, err: "error: Cannot find agent helper\n" },
    { line: "agents remove looper --json", out: "" },
    { line: "agents set index --model demo:echo", out: /^Created agent index/ },
    { line: "agents show index", out: /^Agent {10}index\n/ },
    { line: "agents lst", code: 2, err: /did you mean agents list\?\nSee purser agents --help\n$/ },
    { line: "agents", code: 2, out: "", err: /^Usage: purser agents COMMAND/ },
    { line: "--version", out: /^purser \d+\.\d+\.\d+\n$/ },
    { line: "cost --port 1", code: 2, err: /no such option of cost/ },
    { line: "serve --port 70000", code: 2, err: /--port: 70000 is not a whole number from 0 to 65535/ },
    { line: "cost --config /nowhere/purser.json", code: 2, err: /^error: Cannot read the config file/ },
  ];

Deno.test("commands print results, tell errors, and end with their exit codes", async (t) => {
  await using books = await openTestBooks();
  for (const { line, stdin, out, err = "", code = 0 } of STORY) {
    await t.step(`purser ${line}`, async () => {
      const outcome = await books.purser(line, { terminal: memoryTerminal({ stdin }) });
      if (typeof out === "string") assert.equal(outcome.out, out);
      else if (out) assert.match(outcome.out, out);
      if (typeof err === "string" && code !== 0) assert.equal(outcome.err, err);
      else if (err instanceof RegExp) assert.match(outcome.err, err);
      assert.equal(outcome.code, code);
      if (code !== 0) assert.equal(outcome.out, "");
      assert.equal(books.openConnections, 0);
    });
  }
});

const DAY = 86_400_000;

Deno.test("cost shows periods, days, agents and models, and tells of calls without a price", async () => {
  await using books = await openTestBooks();
  const { core, clock, purser } = books;
  const event = (daysAgo: number, agent: string, usd: number | undefined, model = "gpt-x") => ({
    call_id: `c-${daysAgo}-${agent}-${model}`,
    at: new Date(clock.now() - daysAgo * DAY).toISOString(),
    agent_id: agent,
    provider: "acme",
    model,
    input_tokens: 1_000,
    output_tokens: 200,
    cost_usd: usd,
  });
  const { createApp } = await import("../http/mod.ts");
  const answer = await createApp(core).request("/costs/events", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify([
      event(0, "writer", 1.5),
      event(2, "writer", 0.25),
      event(2, "日本語", 0.125),
      event(10, "writer", 2),
      event(300, "writer", 100),
      event(0, "odd\x1b[31m".replace("\x1b[31m", "-one"), undefined, "mystery\x1b[31m"),
    ]),
  });
  assert.equal(answer.status, answer.status === 201 ? 201 : 400, await answer.text());
  const { out, err } = await purser("cost", { terminal: memoryTerminal({ columns: 80 }) });
  console.log(out, err);
});
