import assert from "node:assert/strict";
import { openTestBooks } from "../../../../tests/harness/test_books.ts";
import { memoryTerminal } from "../../../../tests/harness/memory_terminal.ts";

type Books = Awaited<ReturnType<typeof openTestBooks>>;

async function out({ purser }: Books, line: string): Promise<string> {
  const { code, out, err } = await purser(line);
  assert.deepEqual([code, err], [0, ""], line);
  return out;
}

async function fails({ purser }: Books, line: string, code: number, message: RegExp): Promise<void> {
  const outcome = await purser(line);
  assert.deepEqual([outcome.code, outcome.out], [code, ""], line);
  assert.match(outcome.err, message);
}

const fieldsOf = async (books: Books, name: string) =>
  JSON.parse(await out(books, `budgets show ${name} --json`));

Deno.test("budgets add takes every field, and says what it has added", async () => {
  await using books = await openTestBooks();
  assert.equal(
    await out(books, "budgets list"),
    "No budgets yet. Add one: purser budgets add --name Day --limit 50 --per day\n",
  );
  assert.match(
    await out(books, "budgets add --name Day --limit $50 --per day"),
    /^Added budget bud_\d+ Day: \$50 for a day of all agents, stop; warns at 80%, 100%\n$/,
  );
  const line =
    'budgets add --name "All of it" --limit 0.5 --per lifetime --agent ann --each session --mode strict ' +
    "--action watch --warn-at 50%,0.755 --counts-from 2026-11-01 --allow-unpriced --disabled";
  assert.match(
    await out(books, line),
    /All of it: \$0\.50 for a lifetime of each session of ann, strict, watch only, unpriced models allowed; warns at 50%, 75\.5%; it is disabled\n$/,
  );
  const added = await fieldsOf(books, '"All of it"');
  const expected = {
    ...{
      name: "All of it",
      limit_usd: 0.5,
      per: "lifetime",
      agent_id: "ann",
      session_id: null,
      key_id: null,
    },
    ...{ each: "session", mode: "strict", action: "watch", warn_at: [0.5, 0.755], allow_unpriced: true },
    ...{ counts_from: "2026-11-01T00:00:00.000Z", enabled: false },
  };
  assert.deepEqual({ ...added, ...expected }, added);
  const { key_id } = JSON.parse((await books.purser("keys create laptop --scope run --json")).out);
  const more = {
    "--per hour --key laptop": /\$1 for an hour of key laptop, stop/,
    [`--per day --key ${key_id}`]: /\$1 for a day of key laptop, stop/,
    "--per day --session ses_1": /\$1 for a day of session ses_1, /,
    "--per run --agent helper": /\$1 for each run of helper, /,
    "--per session --warn-at none": /\$1 for each session of all agents, stop; no warnings\n/,
    "--per week --each key": /\$1 for a week of each key, /,
  };
  for (const [options, described] of Object.entries(more)) {
    assert.match(await out(books, `budgets add --name X --limit 1 ${options}`), described);
  }
});

Deno.test("budgets show names the key of a raise and of a release", async () => {
  await using books = await openTestBooks();
  const { key_id } = JSON.parse(await out(books, "keys create laptop --scope run --json"));
  await out(books, "budgets add --name Day --limit 1 --per day --mode strict");
  const { budget_id } = await fieldsOf(books, "Day");
  await books.core.store.write([
    {
      sql:
        "INSERT INTO budget_raises (raise_id, budget_id, extra_nano_usd, key_id, created_at) VALUES ('raise_1', ?, 1, ?, 1)",
      args: [budget_id, key_id],
    },
    {
      sql: "INSERT INTO budget_releases VALUES ('release_1', ?, '[]', 1, 'not billed', ?, 1)",
      args: [budget_id, key_id],
    },
  ]);
  const shown = await out(books, "budgets show Day");
  assert.match(shown, / laptop +-$/m);
  assert.match(shown, / laptop +not billed$/m);
});

Deno.test("a budget of subjects is described by all of them, with a warning while nothing is spent for them", async () => {
  await using books = await openTestBooks();
  const added: [options: string, out: RegExp, err: RegExp][] = [
    [
      "--tag customer=acme --model claude-* --provider anthropic",
      /\$1 for a day of model claude-\*, provider anthropic, tag customer=acme, /,
      /^warning: no calls yet: nothing has been spent for model claude-\*, provider anthropic, tag customer=acme\n$/,
    ],
    ["--agent a --each tag:customer", /\$1 for a day of each tag:customer of a, /, /^$/],
    ["--tag customer=acme --tag team=ui", /of tag customer=acme, tag team=ui, /, /no calls yet/],
  ];
  for (const [options, out, err] of added) {
    const outcome = await books.purser(`budgets add --name X --limit 1 --per day ${options}`);
    assert.equal(outcome.code, 0);
    assert.match(outcome.out, out);
    assert.match(outcome.err, err);
  }
});

Deno.test("budgets refuses a wrong line with the option, also what the service refuses", async () => {
  await using books = await openTestBooks();
  await fails(books, "budgets add --name X", 2, /without --limit, --per/);
  const add = "budgets add --name X --limit 1 --per day";
  const wrong: [options: string, message: RegExp][] = [
    ["--limit -1", /Cannot use --limit: -1 is negative/],
    ["--limit 0.0000000001", /Cannot use --limit: .*nine decimals/],
    ["--per year", /Cannot use --per: year is not one of run, session, /],
    ["--each agents", /did you mean agent\?/],
    ["--warn-at 0", /Cannot use --warn-at: 0 is not a share; write 80%,100% or 0\.8,1/],
    ["--warn-at 101%", /101% is not a share/],
    ["--tag customer", /Cannot use --tag: customer is not of the form key=value/],
    ["--tag a:b=c", /Cannot use --tag: a:b: a tag's key must be/],
    ["--each colour", /Cannot use --each: colour is not one of agent, /],
    ["--billing moon", /Cannot use --billing: moon is not one of plan, billed, none/],
    ["--source moon", /Cannot use --source: moon is not one of run, /],
    ["--counts-from 2026-11-01T09:00", /not a midnight in UTC/],
    ["--agent a/b", /Cannot use --agent: an id has/],
    ['--name " "', /the name is blank/],
  ];
  for (const [options, message] of wrong) await fails(books, `${add} ${options}`, 2, message);
  await fails(
    books,
    `${add} --agent a --each agent`,
    1,
    /--each: can't be agent together with --agent, which names one\n/,
  );
  await fails(books, "budgets set X", 2, /without an option/);
  await fails(books, "budgets set X --enabled --disabled", 2, /give one of them/);
  await fails(books, "budgets raise X", 2, /without --usd/);
  await fails(books, "budgets raise X --usd 0", 2, /0 is not greater than 0/);
  await fails(books, "budgets raise X --usd 1 --for 2020-01-01", 2, /not in the future/);
  for (const verb of ["show X", "set X --limit 1", "raise X --usd 1", "remove X"]) {
    await fails(
      books,
      `budgets ${verb}`,
      3,
      /^error: Cannot find a budget named "X"; purser budgets list shows all\n$/,
    );
  }
  await fails(books, "budgets show bud_nope", 3, /^error: Cannot find budget bud_nope\n$/);
  await out(books, "budgets add --name Daily --limit 1 --per day");
  await fails(books, "budgets show Dayly", 3, /named "Dayly"; did you mean "Daily"\?\n$/);
});

Deno.test("a budget is found by its id or its name, unless several have the name", async () => {
  await using books = await openTestBooks();
  for (const name of ["Day", "Twice", "Twice", "two_words"]) {
    await out(books, `budgets add --name ${name} --limit 1 --per day`);
  }
  const listed: { budget_id: string; name: string }[] = JSON.parse(await out(books, "budgets list --json"));
  for (const { budget_id, name } of listed) {
    assert.equal((await fieldsOf(books, budget_id)).name, name);
    if (name !== "Twice") assert.equal((await fieldsOf(books, name)).budget_id, budget_id);
  }
  const ids = listed.filter(({ name }) => name === "Twice").map(({ budget_id }) => budget_id);
  const message = new RegExp(`name "Twice": 2 budgets have it; give the id of one: ${ids.join(", ")}\n`);
  await fails(books, "budgets show Twice", 2, message);
});

Deno.test("budgets set changes the given fields only, and none removes a name", async () => {
  await using books = await openTestBooks();
  await out(books, "budgets add --name Day --limit 1 --per day --agent ann --each session");
  assert.match(
    await out(books, "budgets set Day --limit 80 --mode strict --warn-at none --allow-unpriced"),
    /^Changed budget bud_\d+ Day: \$80 for a day of each session of ann, strict, unpriced models allowed; no warnings\n$/,
  );
  await out(books, "budgets set Day --agent none --each none --no-allow-unpriced --disabled --name All");
  const { agent_id, each, allow_unpriced, enabled, limit_usd } = await fieldsOf(books, "All");
  assert.deepEqual([agent_id, each, allow_unpriced, enabled, limit_usd], [null, null, false, false, 80]);
});

Deno.test("a raise is described with the limit that follows, and is shown with its budget", async () => {
  await using books = await openTestBooks();
  await out(books, "budgets add --name Day --limit 50 --per day");
  assert.equal(
    await out(books, "budgets raise Day --usd 20"),
    "Raised budget Day by $20 until 2026-11-22 00:00:00 UTC: its limit is $70 now, of which $70 is left\n",
  );
  assert.match(
    await out(books, 'budgets raise Day --usd 1.5 --for 24h --reason "a release"'),
    /until 2026-11-22 09:30:00/,
  );
  const shown = await out(books, "budgets show Day");
  assert.match(shown, /^Budget +Day\n/);
  assert.match(shown, /^Spent +\$0 of \$71\.50$/m);
  assert.match(shown, /^Raised by +\$21\.50$/m);
  assert.match(shown, /^ *\$1\.50 {2}2026-11-22 09:30 {2}2026-11-21 09:30 {2}- +a release$/m);
  await out(books, "budgets add --name Ever --limit 1 --per lifetime");
  assert.match(await out(books, "budgets raise Ever --usd 1"), /by \$1 without an end: /);
  assert.match(await out(books, "budgets remove Ever"), /^Removed budget bud_\d+; /);
});

Deno.test("budgets check exits with 5 once a budget that refuses is reached", async () => {
  await using books = await openTestBooks();
  const check = (line = "") => books.purser(`budgets check ${line}`, { terminal: memoryTerminal() });
  assert.deepEqual(await check(), { code: 0, out: "No budget applies\n", err: "" });
  await out(books, "budgets add --name Watched --limit 0 --per day --action watch");
  await out(books, "budgets add --name Run --limit 1 --per run");
  const open = await check();
  assert.equal(open.code, 0);
  assert.match(
    open.out,
    /^BUDGET +LEFT +SPENT +COUNTS +MODE +STATE +RESETS \(UTC\)\nWatched +\$0 +\$0 of \$0 +day of all agents +stop +reached, watch +2026-11-22 00:00\nRun +\$1 +\$0 of \$1 +run of new run /,
  );
  await out(books, "budgets add --name Ann --limit 0 --per day --agent ann");
  assert.equal((await check()).code, 0);
  assert.equal((await check("--agent ann")).code, 5);
  const json = await check("--agent ann --json");
  assert.equal(json.code, 5);
  assert.deepEqual(JSON.parse(json.out).map(({ name }: { name: string }) => name).sort(), [
    "Ann",
    "Run",
    "Watched",
  ]);
});

Deno.test("alerts history says that a warning is a budget's, beside a rule of the same name", async () => {
  await using books = await openTestBooks();
  await out(books, "agents set helper --model demo:echo");
  await out(books, "budgets add --name Day --limit 0.00001 --per day");
  const rule = "--threshold-usd 0.00001 --threshold-type per_day_usd --severity info";
  await out(books, `alerts add --name Day ${rule}`);
  await books.purser("run helper Hello");
  const history = await out(books, "alerts history");
  assert.match(history, /^\S+ \S+ +critical +firing +budget Day +\$/m);
  assert.match(history, /^\S+ \S+ +info +firing +Day +\$/m);
});

Deno.test("completion offers budgets by name where that is unique and safe in a shell", async () => {
  await using books = await openTestBooks();
  for (const name of ["Day", "Twice", "Twice", '"with blanks"']) {
    await out(books, `budgets add --name ${name} --limit 1 --per day`);
  }
  const lines = (await out(books, '__complete -- budgets show ""')).split("\n").filter(Boolean);
  assert.deepEqual(lines.map((line) => line.replace(/^bud_\d+/, "ID")), [
    "Day\t$1 per day",
    "ID\tTwice, $1 per day",
    "ID\tTwice, $1 per day",
    "ID\twith blanks, $1 per day",
  ]);
});

Deno.test("budgets list says once that a budget is disabled, at any width", async () => {
  await using books = await openTestBooks();
  await out(books, "budgets add --name Day --limit 50 --per day --disabled");
  await out(
    books,
    'budgets add --name "A budget of all agents" --limit 50 --per day --each session --disabled',
  );
  for (const columns of [40, 50, 60, 70, 80, 90, 100, 200]) {
    const listed = await books.purser("budgets list", { terminal: memoryTerminal({ columns }) });
    assert.equal(listed.out.match(/disabled/g)?.length, 2, listed.out);
  }
});

Deno.test("budgets list and budgets show say when a budget ends at the present rate, unless its window ends before", async () => {
  await using books = await openTestBooks(); // on 2026-11-21 at 09:30
  await out(books, "agents set helper --model demo:echo");
  await books.purser("run helper Hello");
  const spent = 0.000018;
  assert.equal(JSON.parse(await out(books, "cost --total --json")).cost_usd, spent);
  await out(books, "budgets add --name Day --limit 0.000054 --per day");
  await out(books, "budgets add --name Life --limit 0.000036 --per lifetime");
  await out(books, "budgets add --name Far --limit 0.0018 --per day");
  await out(books, "budgets add --name Off --limit 0.000054 --per day --disabled");
  const lines = (await out(books, "budgets list")).trimEnd().split("\n").slice(-2);
  assert.match(lines[1]!, /^Day: at this rate ends at 2026-11-21 11:30 UTC \(\$0\.\d+ an hour\)$/);
  assert.match(lines[0]!, /^Life: at this rate ends at 2026-11-21 10:30 UTC \(/);
  assert.match(await out(books, "budgets show Day"), /^Pace +at this rate ends at 2026-11-21 11:30 UTC \(/m);
  assert.match(await out(books, "budgets show Far"), /^Pace +\$0\.\d+ an hour$/m);
  const { usd_per_hour, reaches_at } = await fieldsOf(books, "Day");
  assert.deepEqual([usd_per_hour, reaches_at], [spent, "2026-11-21T11:30:00.000Z"]);
});

Deno.test("budgets show sorts the counters of a budget, continues them, and prints them as CSV", async () => {
  await using books = await openTestBooks();
  await out(books, "agents add ann --model demo:echo");
  await out(books, "agents add bob --model demo:echo");
  await books.purser('run bob "Hi there"');
  await out(books, "budgets add --name Agents --limit 1 --per day --each agent");
  assert.match(await out(books, "budgets show Agents"), /AGENT[^\n]*\nbob[^\n]*\nann/);
  assert.match(await out(books, "budgets show Agents --sort name"), /AGENT[^\n]*\nann[^\n]*\nbob/);
  const [header, ...rows] = (await out(books, "budgets show Agents --csv --sort name")).trim().split("\r\n");
  assert.match(header!, /^kind,id,.*spent_usd,.*left_usd/);
  assert.deepEqual(rows.map((row) => row.split(",").slice(0, 2)), [["agent", "ann"], ["agent", "bob"]]);
  const first = await books.purser("budgets show Agents --sort name --limit 1");
  const cursor = /--cursor (\S+) the next ones/.exec(first.err)![1];
  assert.match(first.out, /ann/);
  const second = await out(books, `budgets show Agents --sort name --cursor ${cursor}`);
  assert.ok(/AGENT[^\n]*\nbob/.test(second) && !second.includes("ann"), second);
  await fails(books, "budgets show Agents --csv --json", 2, /--csv together with --json/);
  await fails(books, "budgets show Agents --sort spent", 2, /used, left, name/);
});
