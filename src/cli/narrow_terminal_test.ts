import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { isThorough } from "../../tests/harness/thorough.ts";
import { memoryTerminal } from "../../tests/harness/memory_terminal.ts";
import { openTestBooks } from "../../tests/harness/test_books.ts";
import { loadAllCommands } from "./command_table.ts";
import { renderChecks } from "./commands/doctor.ts";
import { renderHelp } from "./mod.ts";
import { createStyle } from "./terminal/style.ts";
import { textWidth } from "./terminal/text_width.ts";

const COMMANDS = await loadAllCommands();

/** Ids of the usual length. They are shown whole, because other commands need them. */
const LONG_SESSION = "ses_01m7zt844a0gywfm8qnjf133zc";

const LINES = [
  "agents list",
  "agents show researcher",
  "sessions list",
  `sessions show ${LONG_SESSION}`,
  "cost",
  "cost --by session",
  "cost --by run",
  "cost --by model",
  "cost --by day",
  "budgets list",
  'budgets show "A budget with a name"',
  "budgets check --agent researcher",
  "alerts list",
  "alerts history",
  "channels list",
  "keys list",
  "channels test log",
];

/** Makes books in which every list has something to show. */
async function fillBooks(books: Awaited<ReturnType<typeof openTestBooks>>): Promise<{ rule_id: string }> {
  await books.purser(
    "agents set researcher --model demo:echo --tool calculator --tool current_time --budget 0.25",
  );
  await books.purser(`run researcher "What is 17 * 23?" --session ${LONG_SESSION}`);
  await books.purser(
    'alerts add --name "A limit with a name" --threshold-usd 10 --threshold-type per_day_usd --severity warning',
  );
  const { out: rules } = await books.purser("alerts list --json");
  const [{ rule_id }] = JSON.parse(rules);
  await books.purser(`alerts test ${rule_id}`);
  for (
    const options of ['--name "A budget with a name" --per month --each session', "--name Day --per day"]
  ) {
    await books.purser(`budgets add ${options} --limit 12.5 --agent researcher --mode strict`);
  }
  await books.purser(
    'budgets raise "A budget with a name" --usd 1 --reason "A reason for those that read it"',
  );
  await books.purser(
    'keys create "A key with a name" --scope read --scope run --scope admin --expires 12h',
  );
  return { rule_id };
}

for (const columns of [40, 60, 80]) {
  Deno.test(`nothing is wider than a terminal of ${columns} columns, and no id is cut`, async () => {
    await using books = await openTestBooks();
    const { rule_id } = await fillBooks(books);
    for (const line of LINES) {
      const terminal = memoryTerminal({ columns, hasColour: true });
      const { code, out } = await books.purser(line, { terminal });
      assert.equal(code, 0, line);
      for (const shown of stripVTControlCharacters(out).split("\n")) {
        assert.ok(textWidth(shown) <= columns, `${line}\n${out}`);
      }
      if (/session|run/.test(line)) {
        assert.match(out, line.endsWith("run") ? /run_\d+/ : new RegExp(LONG_SESSION));
      }
      if (line === "budgets list") assert.equal(out.match(/bud_\d+/g)?.length, 2, out);
      if (line === "alerts list") assert.ok(out.includes(rule_id), out);
    }
  });
}

/** The amounts of a text, each whole. */
const amountsIn = (text: string) => new Set(text.match(/-?<?\$\d[\d.,]*\d|-?<?\$\d/g));

Deno.test("no table shows a part of an amount, however narrow the terminal is", async () => {
  await using books = await openTestBooks();
  await fillBooks(books);
  await books.purser(
    'alerts add --name "Over $1234.50 a session" --threshold-usd 0.00001 --threshold-type per_session_usd --severity info',
  );
  await books.purser('budgets add --name "Team $98765 limit" --limit 1234567.123456789 --per month');
  await books.purser(`run researcher "And 18 * 23?" --session ${LONG_SESSION}`);
  for (
    const line of [
      ...LINES,
      "reprice --unpriced",
      "cost --what-if demo:loop --by agent",
      "prices show demo:echo",
    ]
  ) {
    const shown = async (columns: number | undefined) => {
      const terminal = memoryTerminal({ columns });
      assert.equal((await books.purser(line, { terminal })).code, 0, line);
      return terminal.out;
    };
    const whole = amountsIn(await shown(undefined));
    for (let columns = 20; columns <= 100; columns += isThorough ? 3 : 9) {
      const out = await shown(columns);
      for (const amount of amountsIn(out)) {
        assert.ok(whole.has(amount), `${line}, ${columns}: ${amount}\n${out}`);
      }
    }
  }
  const { out } = await books.purser("alerts list");
  const { out: cost } = await books.purser("cost --by session");
  const [spent] = /\$0\.\d+/.exec(cost)!;
  assert.ok(out.includes(`${spent} of $0.00001 `), out);
});

Deno.test("help fits a terminal of 40 columns, but for command lines", async () => {
  const topics = ["", ...new Set(COMMANDS.flatMap(({ name }) => [name, name.split(" ")[0]!]))];
  for (const topic of topics) {
    const [help, examples = ""] = (await renderHelp(topic, { columns: 40, hasColour: false })).split(
      /^(?:Examples?|First steps):$/m,
    );
    for (const line of help!.split("\n")) {
      assert.ok(textWidth(line) <= 40 || /^Usage: |^ {2}purser /.test(line), `${topic}: ${line}`);
    }
    assert.match(examples, /^ {2}.*purser/m, topic);
  }
});

Deno.test("on a narrow terminal the details of doctor go below the name", () => {
  const check = {
    name: "waiting deliveries",
    status: "warning",
    detail: "a ".repeat(30).trim(),
    advice: "Look",
  } as const;
  const out = renderChecks([check], { columns: 40, style: createStyle(false), hasMarks: true });
  assert.match(out, /^! {2}waiting deliveries\n {3}a a/);
  assert.match(out, /\n {3}→ Look\n/);
  for (const line of out.split("\n")) assert.ok(textWidth(line) <= 40, line);
});
