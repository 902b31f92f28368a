import assert from "node:assert/strict";
import { loadAllCommands } from "../../src/cli/command_table.ts";
import { splitLine } from "../harness/split_line.ts";
import { memoryTerminal } from "../harness/memory_terminal.ts";
import { guardTerminal, main } from "../../src/cli/mod.ts";
import { type Connection, createApiClient } from "../../src/client/mod.ts";
import * as vocabulary from "../../src/contract/values.ts";
import { createJsonLog } from "../../src/kernel/log.ts";
import { isThorough } from "../harness/thorough.ts";
import { openTestPurser } from "../harness/test_purser.ts";

const COMMANDS = await loadAllCommands();

/**
 * A server that lies puts terminal sequences, bidirectional and invisible characters into every text of every answer. No
 * command shows one on a terminal, as a table, as JSON or as an error; the commands and their examples are those of the
 * table of commands, so that a new one is in by itself.
 */

const HOSTILE =
  "x\x1b[2J\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b]8;;http://evil.example\x1b\\\x9b31m\x9d0;t\x9c\x7f" +
  "\u202e\u2066\u200e\u061c\u200b\u200d\u2060\ufeff\u00ad\u3164\u2028\u{e0041}\u{e0101}\r\nINJECTED\rBACK";

/** Lines for what the examples don't show of a database that has everything. */
const LINES = [
  ...[
    "agents list",
    "agents show researcher",
    "sessions list",
    "sessions show first",
    "sessions show second",
  ],
  ...[
    "state replay first",
    "state export researcher --output -",
    "cost",
    "cost --by agent",
    "cost --by model",
  ],
  ...[
    "cost --by session",
    "cost --session first",
    "cost explain call_0005",
    "reprice list",
    "prices show demo:echo",
  ],
  ...["budgets list", "budgets show Day", "budgets show bud_none", "budgets check --agent researcher"],
  ...["budgets set Day --limit 2", "budgets raise Day --usd 1 --reason more", "budgets list"],
  ...["alerts list", "alerts history", "channels list", "channels test log", "keys list"],
  ...["alerts show A", "alerts show rule_none", "keys show ci", "keys show key_none"],
  ...["run researcher Hello", "agents show missing", "keys create ops --scope read"],
];

/** A call whose stated cost is not that of the prices. */
const STATED =
  '{"call_id":"stated","at":"2026-11-01T09:30:00Z","agent_id":"a","provider":"demo","model":"echo","input_tokens":1,"output_tokens":1,"cost_usd":1}\n';

/** Commands that show the lines of a text as lines; those of a CSV are within quotes. */
const SHOWS_LINES = /^(run|export focus|state (export|show|replay)|agents show|doctor|demo|completions)\b/;

const WORDS: ReadonlySet<unknown> = new Set(
  Object.values(vocabulary).flat().filter((word) => typeof word === "string"),
);

/** Adds the hostile text to every text of a JSON value; `isGentle` leaves what a command needs to continue. */
function poison(value: unknown, isGentle: boolean): unknown {
  if (typeof value === "string") {
    const isNeeded = isGentle && (WORDS.has(value) || /^[\d.-]+(T[\d:.]+Z)?$/.test(value) || value === "");
    return isNeeded ? value : value + HOSTILE;
  }
  if (Array.isArray(value)) return value.map((item) => poison(item, isGentle));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, key === "code" ? item : poison(item, isGentle)]),
  );
}

function poisonText(type: string, text: string, isGentle: boolean): string {
  if (!type.includes("event-stream")) return JSON.stringify(poison(JSON.parse(text), isGentle));
  return text.replace(
    /^data: (.*)$/gm,
    (_, data) => `data: ${JSON.stringify(poison(JSON.parse(data), isGentle))}`,
  );
}

/** Everything that a command may write to a terminal besides printable characters. */
// deno-lint-ignore no-control-regex
const OWN = /\x1b\[(?:1|2|22|3[1236]|39)m|\r\x1b\[K|\n|\t/g;
// deno-lint-ignore no-control-regex
const SCREEN = /\x1b\[(?:H|K|\?(?:1049|25|7)[hl])|\r\n/g;
const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u3164\u{e0100}-\u{e01ef}]/u;

Deno.test("no command shows terminal sequences or invisible characters of a server that lies", async () => {
  await using purser = await openTestPurser();
  let isGentle = true;
  let sent = "";
  const send = async (request: Request) => {
    const response = await purser.app.fetch(request);
    const type = response.headers.get("content-type") ?? "";
    const text = await response.text();
    sent = /json|event-stream/.test(type) && text !== "" ? poisonText(type, text, isGentle) : text;
    return new Response(response.status === 204 ? null : sent, {
      status: response.status,
      headers: response.headers,
    });
  };
  const connection: Connection = {
    api: createApiClient({ baseUrl: "http://purser.invalid", send }),
    send,
    kind: "remote",
    where: "evil.example",
    close: () => Promise.resolve(),
  };
  const honest = (request: Request) => Promise.resolve(purser.app.fetch(request));
  const prepare = {
    ...connection,
    send: honest,
    api: createApiClient({ baseUrl: "http://purser.invalid", send: honest }),
  };
  const run = async (line: string, terminal = memoryTerminal(), through: Connection = prepare) =>
    await main(splitLine(line), {
      terminal,
      env: { PURSER_DB: ":memory:", PURSER_CONFIG_JSON: "{}" },
      connect: () => Promise.resolve(through),
      clock: purser.clock,
    });
  const bill = await Deno.makeTempFile({ suffix: ".csv" });
  await Deno.writeTextFile(bill, "Day,Model,Cost\n2026-11-02,echo,1\n");
  await purser.core.store.write([{
    sql: "INSERT INTO upstreams (upstream_id, provider) VALUES (1, 'demo')",
  }]);
  for (
    const line of [
      "alerts add --name A --threshold-usd 0.000000001 --threshold-type per_run_usd --severity info",
      "agents set researcher --model demo:echo --tool calculator --system Think",
      "budgets add --name Day --limit 1 --per day --agent researcher --each session --allow-unpriced",
      "budgets raise Day --usd 1 --reason first",
      "budgets add --name Asked --limit 0 --per day --agent asked --action ask",
      ...["run researcher 17*23 --session first", "run researcher Hello --session second"],
      "keys create ci --scope read",
      "report -",
      `bills import csv --file ${bill} --columns starts_at=Day,model=Model,amount=Cost`,
      "reconcile csv --month 2026-11",
      "reprice --since all --include-reported --apply",
    ]
  ) assert.equal(await run(line, memoryTerminal({ stdin: STATED })), 0, line);
  await Deno.remove(bill);
  const asking = await purser.api("POST", "/budgets/reservations", { agent_id: "asked", estimate_usd: 1 });
  assert.equal(asking.status, 402, "a budget asks for more");

  const examples = COMMANDS.filter(({ name }) =>
    !["serve", "demo", "prices update", "profiles add"].includes(name)
  )
    .flatMap(({ examples }) => examples.map(([line]) => line.replace(/^purser /, "")))
    .filter((line) => /^[a-z]/.test(line) && !/[|>]|--output (?!-)/.test(line));
  const shown = new Set<string>();
  const names = COMMANDS.map(({ name }) => name).sort((a, b) => b.length - a.length);
  const ways = [["", true, 40], ["", true, 200], ["", false, 200], [" --json", false, 80]] as const;
  for (const [turn, line] of [...LINES, ...examples].entries()) {
    for (const [way, [options, gentle, columns]] of ways.entries()) {
      // The gate tries a line in a narrow terminal, or by a server that changes what the command needs.
      if (!isThorough && way === 2 * (turn % 2)) continue;
      isGentle = gentle;
      const terminal = memoryTerminal({ columns, hasColour: true, keys: ["q"] });
      const code = await run(line + options, terminal, connection);
      const where = `${line}${options}, ${columns} columns, code ${code}`;
      const isScreen = line.startsWith("state replay") && options === "";
      for (const text of [terminal.out, terminal.err]) {
        const rest = (isScreen ? text.replace(SCREEN, "") : text).replace(OWN, "");
        const found = FORBIDDEN.exec(rest);
        assert.equal(
          found && JSON.stringify(rest.slice(Math.max(0, found.index - 60), found.index + 20)),
          null,
          where,
        );
        if (!SHOWS_LINES.test(line)) assert.doesNotMatch(text, /^INJECTED/m, where);
      }
      const all = terminal.out + terminal.err;
      if (/\\x1b|\\u001b/.test(all)) {
        shown.add(`${names.find((name) => line.startsWith(name))}${options}`);
      }
      if (options && code === 0 && line.startsWith("sessions") && sent.startsWith("[")) {
        assert.deepEqual(
          JSON.parse(terminal.out),
          JSON.parse(sent),
          "JSON on a terminal has the same value",
        );
      }
    }
  }
  const lists = COMMANDS.map(({ name }) => name).filter((name) =>
    / (list|show|history)$/.test(name) && !/profiles|state|prices|config/.test(name)
  );
  for (
    const name of [
      ...lists,
      ...lists.map((name) => `${name} --json`),
      "run",
      "cost",
      "state replay",
    ]
  ) {
    if (name === "reprice list") continue; // it shows numbers and times
    assert.ok(shown.has(name), `${name} showed what the server sent: ${[...shown].join(", ")}`);
  }
});

Deno.test("JSON in a pipe is what the server sent, byte for byte", async () => {
  await using purser = await openTestPurser();
  await purser.run({ agentId: "a" }, "Hi", { sessionId: "s" });
  const text = JSON.stringify([{ session_id: "s\x9b\u202e\u200b", agent_id: "a" }]);
  const send = () => Promise.resolve(Response.json(JSON.parse(text)));
  const connection: Connection = {
    ...{ api: createApiClient({ baseUrl: "http://purser.invalid", send }), send },
    ...{ kind: "remote", where: "here", close: () => Promise.resolve() },
  };
  const shows = async (columns?: number) => {
    const terminal = memoryTerminal({ columns });
    const env = { PURSER_DB: ":memory:", PURSER_CONFIG_JSON: "{}" };
    await main(["sessions", "list", "--json"], { terminal, env, connect: () => Promise.resolve(connection) });
    return terminal.out;
  };
  assert.equal(await shows(), `${text}\n`);
  assert.equal(await shows(80), '[{"session_id":"s\\u009b\\u202e\\u200b","agent_id":"a"}]\n');
});

Deno.test("completions have no name with control, bidirectional or invisible characters", async () => {
  const body = [{ agent_id: "good", model: HOSTILE }, { agent_id: `evil${HOSTILE}`, model: "m" }];
  const send = () => Promise.resolve(Response.json(body));
  const connection: Connection = {
    ...{ api: createApiClient({ baseUrl: "http://purser.invalid", send }), send },
    ...{ kind: "remote", where: "here", close: () => Promise.resolve() },
  };
  const terminal = memoryTerminal();
  await main(["__complete", "--", "run", ""], {
    terminal,
    env: { PURSER_DB: ":memory:", PURSER_CONFIG_JSON: "{}" },
    connect: () => Promise.resolve(connection),
  });
  assert.match(terminal.out, /^good\t/m);
  assert.doesNotMatch(terminal.out, /evil/);
  assert.doesNotMatch(terminal.out.replace(/[\n\t]/g, ""), FORBIDDEN);
});

Deno.test("lines of the JSON log have no such characters, and the same value", () => {
  const lines: string[] = [];
  createJsonLog({ level: "info", write: (line) => lines.push(line) }).info(HOSTILE, { [HOSTILE]: [HOSTILE] });
  assert.doesNotMatch(lines[0]!, FORBIDDEN);
  const { message, [HOSTILE]: list } = JSON.parse(lines[0]!);
  assert.deepEqual([message, list], [HOSTILE, [HOSTILE]]);
});

Deno.test("guardTerminal() shows scripts and emoji as they are written, with the joiners that they need", () => {
  const texts = ["👩‍💻 👨‍👩‍👧 ❤️ 🏳️‍🌈", "می‌خواهم", "क्‍ष", "日本語", "straße", "e\u0301", "٣٪"];
  const memory = memoryTerminal({ columns: 80 });
  const { stdout } = guardTerminal(memory);
  for (const text of texts) stdout.write(text);
  assert.equal(memory.out, texts.join(""));
});
