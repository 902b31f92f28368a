import { SUBJECT_TAGS } from "../contract/tags/tags.ts";
import { GROUPINGS, REPEATS, RULE_THRESHOLDS, SEVERITIES } from "../contract/values.ts";
import assert from "node:assert/strict";
import { nearestName } from "../kernel/nearest_name.ts";
import { memoryTerminal } from "../../tests/harness/memory_terminal.ts";
import { openTestBooks } from "../../tests/harness/test_books.ts";
import { loadAllCommands } from "./command_table.ts";
import { main } from "./mod.ts";
import { readCursor } from "./complete_line.ts";

const COMMANDS = await loadAllCommands();

type Books = Awaited<ReturnType<typeof openTestBooks>>;

/** Returns the completions at the end of a line; `|` is the cursor. */
async function offered({ purser }: Books, line: string): Promise<string[]> {
  const { code, out, err } = await purser(`__complete -- ${line.replace(/\|$/, '""')}`);
  assert.deepEqual([code, err], [0, ""]);
  return out.split("\n").filter(Boolean).map((each) => each.split("\t")[0]!);
}

Deno.test("completion offers commands, options and the values of enumerations", async () => {
  await using books = await openTestBooks();
  assert.deepEqual(await offered(books, "ag"), ["agents"]);
  assert.deepEqual(await offered(books, "agents |"), ["list", "show", "add", "set", "remove"]);
  assert.deepEqual(await offered(books, "keys |"), ["list", "show", "add", "set", "rotate", "remove"]);
  assert.deepEqual(await offered(books, "alerts set Day --a"), ["--agent", "--api-key"]);
  assert.deepEqual(await offered(books, "help al"), ["alerts"]);
  assert.deepEqual(await offered(books, "cost --s"), [
    "--split",
    "--sort",
    "--since",
    "--session",
    "--server",
  ]);
  assert.deepEqual(await offered(books, "cost e"), ["explain"]);
  assert.deepEqual(await offered(books, "reprice u"), ["undo"]);
  assert.deepEqual(await offered(books, "cost --by m"), ["model", "month", "machine"]);
  assert.deepEqual(await offered(books, "cost --by=m"), ["--by=model", "--by=month", "--by=machine"]);
  assert.deepEqual(await offered(books, "alerts add --severity |"), ["info", "warning", "critical"]);
  assert.deepEqual(await offered(books, "completions |"), ["bash", "zsh", "fish", "powershell"]);
  assert.deepEqual(await offered(books, "--version"), ["--version"]);
});

Deno.test("completion offers a flag once, and no option after --", async () => {
  await using books = await openTestBooks();
  assert.ok((await offered(books, "state import --d")).includes("--dry-run"));
  assert.ok(!(await offered(books, "state import --dry-run --d")).includes("--dry-run"));
  assert.deepEqual(await offered(books, "run helper -- --"), []);
});

Deno.test("completion offers the models of the ledger and of the agents", async () => {
  await using books = await openTestBooks();
  assert.deepEqual(await offered(books, "prices |"), [
    "show",
    "list",
    "set",
    "discount",
    "premium",
    "unset",
    "update",
  ]);
  await books.purser("agents set helper --model demo:echo");
  await books.purser("run helper hi");
  await books.purser("agents set other --model openai:gpt-5-mini");
  assert.deepEqual(await offered(books, "prices show |"), ["demo:echo", "openai:gpt-5-mini"]);
  assert.deepEqual(await offered(books, "prices show --provider demo e"), ["echo"]);
});

Deno.test("completion offers the names of tags, and the values of one that calls and keys have", async () => {
  await using books = await openTestBooks();
  await books.purser("agents set helper --model demo:echo");
  await books.purser("run helper hi --tag customer=acme --tag feature=search");
  await books.purser("keys add anna --scope call --tag user=anna --tag team=search");
  assert.deepEqual(await offered(books, "run helper hi --tag |"), [
    ...["user=", "team=", "project=", "customer=", "feature="],
  ]);
  assert.deepEqual(await offered(books, "cost --tag cu"), ["customer="]);
  assert.deepEqual(await offered(books, "cost --tag=customer=a"), ["--tag=customer=acme"]);
  assert.deepEqual(await offered(books, "keys add bob --scope call --tag team="), ["team=search"]);
  assert.deepEqual(await offered(books, "keys set anna --tag a:b="), []);
});

Deno.test("completion leaves paths to the shell", async () => {
  await using books = await openTestBooks();
  assert.deepEqual(await offered(books, "state show |"), [":files"]);
  assert.deepEqual(await offered(books, "state export helper --output |"), [":files"]);
  assert.deepEqual(await offered(books, "cost --config=x"), [":files"]);
});

Deno.test("completion offers the existing agents, sessions, rules and channels", async () => {
  await using books = await openTestBooks();
  for (const name of ["helper", "other:two"]) await books.purser(`agents set ${name} --model demo:echo`);
  await books.purser("run helper hi --session first");
  await books.purser("run other:two hi --session second");
  const { out } = await books.purser(
    "alerts add --name Daily --threshold-usd 1 --threshold-type per_day_usd --severity info --json",
  );
  assert.deepEqual(await offered(books, "agents show |"), ["helper", "other:two"]);
  assert.deepEqual(await offered(books, "sessions list --agent=o"), ["--agent=other:two"]);
  assert.deepEqual((await offered(books, "sessions show |")).sort(), ["first", "second"]);
  // Only those of the agent that the line is about.
  assert.deepEqual(await offered(books, "run helper --session |"), ["first"]);
  assert.deepEqual(await offered(books, "state replay |"), [":files", "second", "first"]);
  const { rule_id } = JSON.parse(out);
  assert.deepEqual(await offered(books, "alerts remove |"), ["Daily"]);
  assert.deepEqual(await offered(books, "alerts set D"), ["Daily"]);
  assert.deepEqual(await offered(books, "alerts set rule_"), [rule_id]);
  await books.core.store.write([{
    sql:
      `INSERT INTO alert_rules (rule_id, name, threshold_type, threshold_nano_usd, severity, cooldown_ms, repeat, scope,
      enabled, is_armed, created_at, updated_at) SELECT 'rule_b', name, threshold_type, threshold_nano_usd, severity,
      cooldown_ms, repeat, scope, enabled, 0, created_at, updated_at FROM alert_rules`,
  }]);
  // An ambiguous name would be refused, as would one with a space be split.
  assert.deepEqual(await offered(books, "alerts test |"), [rule_id, "rule_b"]);
  await books.purser('alerts set rule_b --name "two words"');
  assert.deepEqual(await offered(books, "alerts test |"), ["Daily", "rule_b"]);
  await books.purser("alerts test Daily");
  const [{ alert_id }] = JSON.parse((await books.purser("alerts history --json")).out);
  assert.deepEqual(await offered(books, "alerts resend |"), [alert_id]);
  assert.deepEqual(await offered(books, "channels test |"), ["log"]);
  assert.equal(books.openConnections, 0);
  assert.match((await books.purser('__complete -- agents show ""')).out, /^helper\tdemo:echo\n/);
});

Deno.test("completion is silent without a connection, and never waits for long", async () => {
  await using books = await openTestBooks();
  const ask = async (
    connect: () => Promise<never>,
    env: Record<string, string> = { PURSER_DB: ":memory:" },
  ) => {
    const terminal = memoryTerminal();
    const clock = { ...books.clock, sleep: () => Promise.resolve() };
    const code = await main(["__complete", "--", "agents", "show", ""], { terminal, env, connect, clock });
    return [code, terminal.out, terminal.err];
  };
  assert.deepEqual(await ask(() => Promise.reject(new Error("no"))), [0, "", ""]);
  assert.deepEqual(await ask(() => new Promise(() => {})), [0, "", ""]);
  assert.deepEqual(await ask(() => Promise.reject(new Error("no")), { PURSER_CONFIG: "/nowhere" }), [
    0,
    "",
    "",
  ]);
});

Deno.test("completion offers nothing that a shell or a terminal would interpret", async () => {
  await using books = await openTestBooks();
  const agents = [{ agent_id: "$(boom)", model: "x" }, { agent_id: "good", model: "a\tb\u001b[2J" }];
  const terminal = memoryTerminal();
  const answer = () => Promise.resolve(Response.json(agents));
  const connection = { api: { agents: { $get: answer } }, close: () => Promise.resolve() };
  await main(["__complete", "--", "agents", "show", ""], {
    terminal,
    env: { PURSER_DB: ":memory:" },
    connect: () => Promise.resolve(connection as never),
    clock: books.clock,
  });
  assert.equal(terminal.out, "good\ta\\tb\\x1b[2J\n");
});

Deno.test("readCursor() reads the target that the line selects, at any position", () => {
  const { line, values } = readCursor([
    "--db=x.db",
    "agents",
    "--server",
    "http://a",
    "show",
    "--json",
    "he",
  ], COMMANDS);
  assert.deepEqual([...line.options], [["db", "x.db"], ["server", "http://a"], ["json", ""]]);
  assert.deepEqual(values, { live: "agent" });
});

/** Returns the enumeration of an option. */
function oneOf(command: string, option: string): readonly string[] | undefined {
  return COMMANDS.find(({ name }) => name === command)!.options[option]!.values?.oneOf;
}

Deno.test("the enumerations of the table are those of the contract", () => {
  assert.deepEqual(oneOf("alerts add", "severity"), [...SEVERITIES]);
  assert.deepEqual(oneOf("alerts add", "threshold-type"), [...RULE_THRESHOLDS]);
  assert.deepEqual(oneOf("alerts add", "repeat"), [...REPEATS]);
  assert.deepEqual(oneOf("cost", "by"), [...GROUPINGS, ...SUBJECT_TAGS, "branch", "machine"]);
  // The enumerations are used for suggestions too.
  assert.equal(nearestName("warn", SEVERITIES), "warning");
});

Deno.test("every option and argument that names a resource can be completed", () => {
  const live = new Set(["AGENT", "SESSION", "RULE"]);
  for (const { name, args, options } of COMMANDS) {
    for (const arg of args) {
      if (live.has(arg.name)) assert.ok(arg.values?.live || arg.values?.oneOf, `${name} ${arg.name}`);
      if (/FILE/.test(arg.name)) assert.ok(arg.values?.isFile, `${name} ${arg.name}`);
    }
    for (const [option, { value, values }] of Object.entries(options)) {
      if (value === "FILE") assert.ok(values?.isFile, `${name} --${option}`);
      if (option === "session" || option.startsWith("agent")) {
        assert.ok(values?.live || values?.oneOf, `${name} --${option}`);
      }
    }
  }
});
