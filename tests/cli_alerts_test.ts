import assert from "node:assert/strict";
import { memoryTerminal } from "./harness/memory_terminal.ts";
import { openTestBooks } from "./harness/test_books.ts";
import { replaceChannels } from "./harness/fake_channels.ts";
import { DAILY, fireRules } from "./harness/fired_rules.ts";

type Books = Awaited<ReturnType<typeof openTestBooks>>;

const USAGE = "\nSee purser alerts add --help\n";

/** Commands in order, over the same books: the expected output, messages and exit code. */
const STORY: { line: string; out?: string | RegExp; err?: string | RegExp; code?: number }[] = [
  { line: "alerts list", out: /^No alert rules yet\. Add one: purser alerts add --name "Daily limit" --th/ },
  { line: "alerts history", out: "No alerts yet\n" },
  {
    line: `alerts add --name "Daily limit" ${DAILY}`,
    out: "Added rule rule_0002 Daily limit: warning at $10 in a day of all agents, again after 1h\n",
  },
  {
    line: "alerts add --name Runaway --threshold-usd 0.50 --threshold-type per_run_usd --severity critical " +
      "--agent elsewhere --cooldown 0 --repeat once_per_window --disabled",
    out:
      "Added rule rule_0004 Runaway: critical at $0.50 in a run of elsewhere, once per run; it is disabled\n",
  },
  { line: `alerts add --name Third ${DAILY} --cooldown 90 --json`, out: /^\{"rule_id":"rule_0006",.*\}\n$/ },
  {
    line: "alerts add",
    code: 2,
    err: `error: Cannot add a rule without --name, --threshold-usd, --threshold-type, --severity${USAGE}`,
  },
  {
    line: "alerts add --name x --threshold-usd 10",
    code: 2,
    err: `error: Cannot add a rule without --threshold-type, --severity${USAGE}`,
  },
  { line: `alerts add --name "" ${DAILY}`, code: 2, err: /--name: the name is blank/ },
  {
    line: `alerts add --name ${"x".repeat(201)} ${DAILY}`,
    code: 1,
    err: /^error: .* --name: must be 1 to 200/,
  },
  ...Object.entries({
    "0": "0 is not greater than 0",
    "-1": "-1 is not greater than 0",
    "NaN": "Cannot read an amount in USD: NaN is not a number",
    "1e-10": "Cannot read an amount in USD: 1e-10 has more than nine decimals",
    "1000000001": "Cannot read an amount in USD: it is over a billion USD",
  }).map(([amount, reason]) => ({
    line: `alerts add --name x ${DAILY} --threshold-usd=${amount}`,
    code: 2,
    err: `error: Cannot use --threshold-usd: ${reason}${USAGE}`,
  })),
  {
    line: `alerts add --name x ${DAILY} --threshold-type daily`,
    code: 2,
    err:
      /--threshold-type: daily is not one of per_run_usd, per_session_usd, per_hour_usd, per_day_usd, per_m/,
  },
  {
    line: `alerts add --name x ${DAILY} --severity Warning`,
    code: 2,
    err:
      `error: Cannot use --severity: Warning is not one of info, warning, critical; did you mean warning?${USAGE}`,
  },
  {
    line: `alerts add --name x ${DAILY} --cooldown 1h`,
    code: 2,
    err: `error: Cannot use --cooldown: 1h is not a whole number from 0 to 31536000${USAGE}`,
  },
  {
    line: `alerts add --name x ${DAILY} --cooldown=-1`,
    code: 2,
    err: /--cooldown: -1 is not a whole number/,
  },
  {
    line: `alerts add --name x ${DAILY} --repeat never`,
    code: 2,
    err: /never is not one of cooldown, once_per/,
  },
  { line: `alerts add --name x ${DAILY} --agent "a b"`, code: 2, err: /--agent: an id has 1 to 128/ },
  { line: `alerts add --name x ${DAILY} --colour red`, code: 2, err: /colour/ },

  { line: "alerts enable rule_0004", out: "Enabled rule rule_0004 Runaway\n" },
  { line: "alerts disable rule_0004", out: "Disabled rule rule_0004 Runaway\n" },
  { line: "alerts enable rule_0004 --json", out: /^\{"rule_id":"rule_0004",.*"enabled":true,.*\}\n$/ },
  { line: "alerts enable rule_nope", code: 3, err: "error: Cannot find alert rule rule_nope\n" },
  { line: "alerts disable Runaway", out: "Disabled rule rule_0004 Runaway\n" },
  { line: 'alerts enable "Daily limit"', out: "Enabled rule rule_0002 Daily limit\n" },
  {
    line: 'alerts enable "daily limit"',
    code: 3,
    err: 'error: Cannot find an alert rule named "daily limit"; did you mean "Daily limit"?\n',
  },
  {
    line: 'alerts set "Daily limit" --threshold-usd 25 --agent helper --cooldown 90 --disabled',
    out:
      "Changed rule rule_0002 Daily limit: warning at $25 in a day of helper, again after 1m 30s; it is disabled\n",
  },
  {
    line:
      "alerts set rule_0002 --agent none --enabled --severity info --threshold-type per_month_usd --repeat once_per_window",
    out:
      "Changed rule rule_0002 Daily limit: info at $25 in a month of all agents, once per month, at most every " +
      "1m 30s\n",
  },
  { line: 'alerts set "Daily limit" --name Third --json', out: /^\{"rule_id":"rule_0002","name":"Third",/ },
  ...["enable", "disable", "remove", "test", "set --severity info"].map((verb) => ({
    line: `alerts ${verb} Third`,
    code: 2,
    err: /^error: Cannot use the name "Third": 2 rules have it; give the id of one: rule_0002, rule_0006\n/,
  })),
  { line: "alerts set rule_0002", code: 2, err: /without an option, such as/ },
  { line: "alerts set rule_0002 --enabled --disabled", code: 2, err: /--enabled together with --disabled/ },
  {
    line: "alerts set rule_0002 --agent a --all-agents",
    code: 2,
    err: /--agent together with --all-agents/,
  },
  { line: "alerts set rule_0002 --threshold-usd 0", code: 2, err: /0 is not greater than 0/ },
  { line: "alerts set rule_nope --severity info", code: 3, err: "error: Cannot find alert rule rule_nope\n" },
  { line: "alerts resend alert_nope", code: 3, err: "error: Cannot find alert alert_nope in the history\n" },
  { line: "alerts resend ../..", code: 2, err: /as an id/ },
  { line: "alerts disable nope --json", code: 3, err: /^\{.*"code":"not_found".*\}\n$/ },
  { line: "alerts enable", code: 2, err: /without RULE/ },
  { line: "alerts enable ../..", code: 3, err: /named "\.\.\/\.\."/ },
  { line: "alerts remove rule_0006", out: "Removed rule rule_0006; its history stays\n" },
  {
    line: "alerts remove rule_0006",
    code: 3,
    err: "error: Cannot find alert rule rule_0006; purser alerts list shows all\n",
  },
  { line: "alerts remove index", code: 3, err: /^error: Cannot find an alert rule named "index"; / },
  { line: "alerts history --limit 501", code: 2, err: /--limit: 501 is not a whole number from 1 to 500/ },
  { line: "alerts history --limit 0", code: 2, err: /--limit: 0 is not a whole number/ },
  { line: "alerts history --limit ten", code: 2, err: /--limit: ten is not a whole number/ },
  { line: "alerts", code: 2, err: /^Usage: purser alerts COMMAND/ },
  { line: "channels test nope", code: 3, err: "error: Cannot find channel nope\n" },
  { line: "alerts test nope", code: 3, err: /^error: Cannot find an alert rule named "nope"; / },
];

Deno.test("rules are added, switched and removed, and errors name the option", async (t) => {
  await using books = await openTestBooks();
  replaceChannels(books.core, { log: "ok" });
  for (const { line, out = "", err = "", code = 0 } of STORY) {
    await t.step(`purser ${line}`, async () => {
      const outcome = await books.purser(line);
      if (typeof out === "string") assert.equal(outcome.out, out);
      else assert.match(outcome.out, out);
      if (typeof err === "string") assert.equal(outcome.err, err);
      else assert.match(outcome.err, err);
      assert.equal(outcome.code, code);
      assert.equal(books.openConnections, 0);
    });
  }
});

Deno.test("alerts list shows the value of each rule's window beside the threshold", async () => {
  await using books = await openTestBooks();
  await fireRules(books);
  const ids = (await books.core.store.read({ sql: "SELECT rule_id FROM alert_rules ORDER BY rule_id" })).rows;
  const [daily, sessions, runaway] = ids.map(([id]) => id);
  const { out, err, code } = await books.purser("alerts list");
  assert.equal(
    out,
    `NAME         ID         WATCHES               SPENT         SEVERITY  COOLDOWN            ENABLED  LAST FIRED (UTC)
Daily limit  ${daily}  day of all agents     $3.20 of $10  warning   1h                  yes      never
Sessions     ${sessions}  session of elsewhere  $3.20 of $3   critical  1h 30m              yes      2026-11-21 09:30
Runaway      ${runaway}  run of all agents     $3.20 of $3   critical  none, once per run  yes      2026-11-21 09:30
`,
  );
  assert.deepEqual([err, code], ["", 0]);
  const narrow = await books.purser("alerts list", { terminal: memoryTerminal({ columns: 80 }) });
  assert.match(narrow.out, /^NAME +ID +WATCHES +SPENT +SEVERITY +ENABLED\n/);
  assert.match((await books.purser("alerts list --json")).out, /^\[\{"rule_id":.*"value_usd":3\.2,.*\}\]\n$/);
});

Deno.test("alerts history shows each alert and its status in each channel", async () => {
  await using books = await openTestBooks();
  await fireRules(books);
  replaceChannels(books.core, { log: "ok", mail: { reason: "535 Authentication failed" } });
  const { rows } = await books.core.store.read({ sql: "SELECT alert_id, rule_name FROM alerts" });
  const idOf = (name: string) => rows.find((row) => row[1] === name)![0]!;
  const insert = `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, status, attempts, due_at,
    last_error, created_at, settled_at) VALUES (?, ?, ?, 'custom', ?, ?, 0, ?, 0, 0)`;
  await books.core.store.write([
    { sql: "DELETE FROM deliveries" },
    { sql: insert, args: ["d1", idOf("Sessions"), "ops", "delivered", 1, null] },
    { sql: insert, args: ["d2", idOf("Sessions"), "slack", "pending", 2, "HTTP 503"] },
    { sql: insert, args: ["d3", idOf("Sessions"), "mail", "failed", 9, "550 No such\nmailbox"] },
    { sql: insert, args: ["d4", idOf("Sessions"), "pager", "pending", 0, null] },
    { sql: insert, args: ["d5", idOf("Sessions"), "sms", "pending", 1, null] },
  ]);
  const listed = await books.purser("alerts list --json");
  await books.purser(`alerts test ${JSON.parse(listed.out)[0].rule_id}`);
  const { out, err, code } = await books.purser("alerts history");
  const lines = out.replaceAll(/(alert_\w+|ALERT) +/g, "").split("\n");
  assert.match(out, /^WHEN .* SOURCE +ALERT +CHANNELS\n/);
  assert.match(out, new RegExp(` ${idOf("Runaway")}  +no channel$`, "m"));
  assert.equal(lines.length, 5);
  assert.equal(
    lines[0],
    "WHEN (UTC)           SEVERITY  STATE   RULE                SPENT        SOURCE           CHANNELS",
  );
  assert.equal(
    lines[1],
    "2026-11-21 09:30:00  warning   -       [test] Daily limit  - of $10     -                mail failed, log ok",
  );
  const rest = lines.slice(2).sort();
  assert.deepEqual(rest, [
    "",
    "2026-11-21 09:30:00  critical  firing  Runaway             $3.20 of $3  elsewhere run_1  no channel",
    "2026-11-21 09:30:00  critical  firing  Sessions            $3.20 of $3  elsewhere ses_1  " +
    "mail failed, slack retrying (2), pager waiting, sms sending, ops ok",
  ]);
  assert.equal(err, "warning: Channel mail failed to deliver 1 alert: 550 No such\\nmailbox\n");
  assert.equal(code, 0);
  const one = await books.purser("alerts history --limit 1 --json");
  assert.match(one.out, /^\[\{"alert_id":.*"test":true,"state":"resolved","deliveries":\[.*\]\}\]\n$/);
  assert.equal(one.err, "");
});

/** Realistic data: ids of real length, large amounts, several channels. */
async function openBusyBooks(): Promise<Books> {
  const books = await openTestBooks();
  const agent = "--agent researcher-production-eu";
  await books.purser(
    `alerts add --name "Daily limit" --threshold-usd 250000 --threshold-type per_day_usd --severity warning`,
  );
  await books.purser(
    `alerts add --name "Sessions of the night" --threshold-usd 0.5 --threshold-type per_session_usd ` +
      `--severity critical ${agent} --disabled`,
  );
  const lengthen = "UPDATE alert_rules SET rule_id = rule_id || '_01m7zjmzkm48fmt8ef'";
  const alert =
    `INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity,
    value_nano_usd, agent_id, session_id, triggered_at) VALUES (?, 'rule', ?, ?, ?, ?, ?, ?, ?, ?)`;
  const at = books.clock.now();
  const delivery =
    `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, status, attempts, due_at, last_error, created_at)
    VALUES (?1 || ?2, ?1, ?2, 'custom', ?3, 3, 0, 'HTTP 503', 0)`;
  await books.core.store.write([
    { sql: lengthen },
    {
      sql: alert,
      args: ["a1", "Daily limit", "per_day_usd", 250_000e9, "warning", 251_234.56e9, null, null, at],
    },
    {
      sql: alert,
      args: [
        ...["a2", "Sessions of the night", "per_session_usd", 0.5e9, "critical", 3.2e9],
        ...["researcher-production-eu", "ses_1", at - 1_000],
      ],
    },
    { sql: delivery, args: ["a1", "log", "delivered"] },
    { sql: delivery, args: ["a1", "ops-webhook", "failed"] },
    { sql: delivery, args: ["a2", "log", "delivered"] },
    { sql: delivery, args: ["a2", "ops-webhook", "pending"] },
    { sql: delivery, args: ["a2", "team-slack", "failed"] },
  ]);
  return books;
}

Deno.test("alerts history shows failures first, at any width", async () => {
  await using books = await openBusyBooks();
  const at = async (columns: number) => {
    const { out } = await books.purser("alerts history", { terminal: memoryTerminal({ columns }) });
    assert.ok(out.split("\n").every((line) => line.length <= columns), out);
    return "\n" + out;
  };
  assert.equal(
    await at(120),
    `
WHEN (UTC)           RULE                   SPENT                    SOURCE                 CHANNELS
2026-11-21 09:29:59  Sessions of the night  $3.20 of $0.50           researcher-productio…  1 failed, 1 pending, 1 ok
2026-11-21 09:30:00  Daily limit            $251,234.56 of $250,000  -                      ops-webhook failed, log ok
`,
  );
  assert.equal(
    await at(80),
    `
WHEN (UTC)        RULE                  SPENT                    CHANNELS
2026-11-21 09:29  Sessions of the nig…  $3.20 of $0.50           1 failed, 1 pe…
2026-11-21 09:30  Daily limit           $251,234.56 of $250,000  1 failed, 1 ok
`,
  );
});

Deno.test("alerts list shows the scope and the whole id of a rule at any width", async () => {
  await using books = await openBusyBooks();
  const at = async (columns: number) => {
    const { out } = await books.purser("alerts list", { terminal: memoryTerminal({ columns }) });
    assert.ok(out.split("\n").every((line) => line.length <= columns), out);
    return "\n" + out;
  };
  assert.equal(
    await at(140),
    `
NAME                   ID                            WATCHES                              SPENT           SEVERITY  ENABLED
Daily limit            rule_0002_01m7zjmzkm48fmt8ef  day of all agents                    $0 of $250,000  warning   yes
Sessions of the night  rule_0004_01m7zjmzkm48fmt8ef  session of researcher-production-eu  - of $0.50      critical  no
`,
  );
  assert.equal(
    await at(80),
    `
NAME                   WATCHES                              SPENT
Daily limit            day of all agents                    $0 of $250,000
  rule_0002_01m7zjmzkm48fmt8ef
Sessions of the night  session of researcher-production-eu  - of $0.50
  rule_0004_01m7zjmzkm48fmt8ef  disabled
`,
  );
});

Deno.test("alerts add names subjects, and has a short form with a name and a severity of its own", async () => {
  await using books = await openTestBooks();
  const run = async (line: string) => {
    const { code, out, err } = await books.purser(line);
    return [code, out.replace(/rule_\w+/, "ID"), err] as const;
  };
  const [code, added, warned] = await run("alerts add --each tag:customer --day 50");
  assert.deepEqual([code, warned], [0, ""]);
  assert.equal(
    added,
    "Added rule ID $50 in a day of each tag:customer: warning at $50 in a day of each tag:customer, again after 1h\n",
  );
  const [, acme, unknown] = await run(
    'alerts add --name Acme --month 500 --tag customer=acme --model "claude-opus-*" --severity critical',
  );
  assert.match(acme, /Acme: critical at \$500 in a month of model claude-opus-\*, tag customer=acme, again/);
  assert.match(unknown, /no calls yet: nothing has been spent for model claude-opus-\*, tag customer=acme/);
  const [, changed] = await run("alerts set Acme --tag none --model none --each key --hour 5");
  assert.match(changed, /Acme: critical at \$5 in an hour of each key/);
  for (
    const [line, message] of [
      ["alerts add --day 5 --threshold-usd 5", /--day together with --threshold-usd/],
      ["alerts add --day 5 --hour 1", /--hour together with --day/],
      ["alerts add --day 0", /0 is not greater than 0/],
      ["alerts add --day 5 --each weather", /weather is not one of agent, session, key/],
      ["alerts add --day 5 --tag a:b=1", /a:b/],
      ["alerts add --day 5 --key nobody", /no API key has the name or the id "nobody"/],
      ["alerts add --each key --threshold-usd 5", /without --name, --threshold-type, --severity/],
    ] as const
  ) {
    const [code, , err] = await run(line);
    assert.ok(code === 2 || code === 1, line);
    assert.match(err, message);
  }
  assert.equal(JSON.parse((await books.purser("alerts list --json")).out).length, 2);
});
