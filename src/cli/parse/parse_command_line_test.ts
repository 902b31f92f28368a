import assert from "node:assert/strict";
import { COMMON_OPTIONS, loadAllCommands } from "../command_table.ts";
import { allOptions, type CommandLine, parseCommandLine, readCommandLine } from "./parse_command_line.ts";
import fc from "#dev/fast_check.ts";
import { splitLine } from "../../../tests/harness/split_line.ts";
import { UsageError } from "./usage_error.ts";

const COMMANDS = await loadAllCommands();

const parse = (line: string) => parseCommandLine(line.split(" ").filter(Boolean), COMMANDS);

Deno.test("parseCommandLine() finds the command, its arguments and its options wherever they stand", () => {
  for (
    const line of [
      "agents set bot --model demo:echo --tool a --tool=b --json",
      "--json --model=demo:echo agents --tool a set bot --tool b",
      "agents set --tool a --json --tool b --model other --model demo:echo -- bot",
    ]
  ) {
    const parsed = parse(line);
    assert.ok(parsed.kind === "command");
    assert.equal(parsed.command.name, "agents set");
    assert.deepEqual(parsed.args, ["bot"]);
    assert.equal(parsed.options.text("model"), "demo:echo");
    assert.deepEqual(parsed.options.texts("tool"), ["a", "b"]);
    assert.equal(parsed.options.has("json"), true);
    assert.equal(parsed.options.has("db"), false);
  }
});

Deno.test("parseCommandLine() takes - and what follows -- as arguments", () => {
  const stdin = parse("run bot -");
  assert.deepEqual(stdin.kind === "command" && stdin.args, ["bot", "-"]);
  const dashed = parse("run bot --json -- --help");
  assert.deepEqual(dashed.kind === "command" && dashed.args, ["bot", "--help"]);
});

Deno.test("every command names an agent by --agent, and the earlier --agent-id means the same", () => {
  assert.ok(COMMANDS.every(({ options }) => !("agent-id" in options)));
  for (const line of ["keys create ci --scope run", "alerts set day", "cost"]) {
    for (const given of ["--agent bot", "--agent-id bot", "--agent-id=bot"]) {
      const parsed = parse(`${line} ${given}`);
      assert.equal(parsed.kind === "command" && parsed.options.text("agent"), "bot", `${line} ${given}`);
    }
  }
});

Deno.test("parseCommandLine() finds the topic of the help", () => {
  const cases: [string, string][] = [
    ["--help", ""],
    ["-h", ""],
    ["help", ""],
    ["agents --help", "agents"],
    ["help agents", "agents"],
    ["agents set bot --model x --help", "agents set"],
    ["help agents set", "agents set"],
    ["cost -h", "cost"],
  ];
  for (const [line, topic] of cases) assert.deepEqual(parse(line), { kind: "help", topic }, line);
  for (const line of ["--version", "version"]) assert.deepEqual(parse(line), { kind: "version" });
  assert.deepEqual(parse(""), { kind: "incomplete", topic: "" });
  assert.deepEqual(parse("agents"), { kind: "incomplete", topic: "agents" });
});

Deno.test("parseCommandLine() explains errors", () => {
  const cases: [string, string][] = [
    ["agnets", "Cannot find the command agnets; did you mean agents?"],
    ["qqqqqqq", "Cannot find the command qqqqqqq"],
    ["agents lst", "Cannot find the command agents lst; did you mean agents list?"],
    ["help agnets", "Cannot find the command agnets; did you mean agents?"],
    ["rn bot hi", "Cannot find the command rn; did you mean run?"],
    ["cost --sinse 7d", "Cannot use --sinse: unknown option of cost; did you mean --since?"],
    ["cost --colour x", "Cannot use --colour: unknown option of cost"],
    ["--jsno", "Cannot use --jsno: unknown option; did you mean --json?"],
    [
      "run bot -3+5",
      "Cannot use -3: unknown option; write -- before an argument that begins with -",
    ],
    ["cost --json=yes", "Cannot use --json with a value: it takes none"],
    ["cost --since", "Cannot use --since without WHEN"],
    ["cost --since --json", "Cannot use --since without WHEN: if --json is the value, write --since=--json"],
    ["run bot", "Cannot use run without INPUT"],
    ["agents show", "Cannot use agents show without NAME"],
    ["cost now", 'Cannot use cost with "now": it takes no arguments'],
    [
      "run bot hi there",
      'Cannot use run with "there": it takes AGENT INPUT only; quote an argument that has spaces',
    ],
    ["cost --db a --server http://b", "Cannot use --server together with --db: give one of them"],
    ["cost --constructor", "Cannot use --constructor: unknown option of cost"],
  ];
  for (const [line, message] of cases) {
    assert.throws(() => parse(line), (error) => {
      assert.ok(error instanceof UsageError);
      assert.equal(error.message.startsWith(message), true, `${line}: ${error.message}`);
      return true;
    });
  }
  assert.throws(() => parseCommandLine(["run", "bot", ""], COMMANDS), /with an empty INPUT/);
});

Deno.test("readCommandLine() reads a line with the commands of its first word as with all commands", async () => {
  const options = [...new Set(COMMANDS.flatMap((each) => Object.keys(each.options)))];
  const word = fc.oneof(
    fc.constantFrom(
      ...COMMANDS.flatMap(({ name }) => name.split(" ")),
      "help",
      "version",
      "x",
      "budgts",
      "hlep",
      "-",
      "--",
      "-h",
    ),
    fc.constantFrom(...options, ...Object.keys(COMMON_OPTIONS), "version", "agent-id").map((name) =>
      `--${name}`
    ),
  );
  const line = fc.oneof(
    fc.array(word, { maxLength: 4 }),
    fc.tuple(fc.constantFrom(...COMMANDS), fc.array(word, { maxLength: 4 })).map(([{ name }, rest]) => [
      ...name.split(" "),
      ...rest,
    ]),
  );
  /** A parsed line, or the message of the error. */
  const outcomeOf = async (parsed: () => CommandLine | Promise<CommandLine>) => {
    try {
      const read = await parsed();
      if (read.kind !== "command") return read;
      const given = Object.keys(allOptions(COMMANDS)).filter((name) => read.options.has(name));
      return { ...read, options: given.map((name) => [name, read.options.texts(name)]) };
    } catch (error) {
      // Commands may have different words for the value of an option of one name.
      return String(error).replace(/ without [A-Z_|]+/, " without a value");
    }
  };
  await fc.assert(
    fc.asyncProperty(line, async (argv) => {
      const [one, all] = await Promise.all([
        outcomeOf(() => readCommandLine(argv)),
        outcomeOf(() => parseCommandLine(argv, COMMANDS)),
      ]);
      assert.deepEqual(one, all);
    }),
    { numRuns: 300, examples: [[["--", "--session"]]] },
  );
});

Deno.test("COMMANDS gives every option one type and every summary no final period", () => {
  const types = new Map<string, string>();
  for (const { name, summary, options, examples, deprecated } of COMMANDS) {
    assert.doesNotMatch(summary, /\.$/, name);
    assert.ok(examples.length > 0, name);
    for (const [option, { type, value }] of Object.entries({ ...options, ...COMMON_OPTIONS })) {
      assert.equal(types.get(option) ?? type, type, option);
      types.set(option, type);
      assert.equal(value !== undefined, type === "string", option);
    }
    for (const [line] of examples) {
      const [, command = ""] = /purser ([^|>]*)/.exec(line)!;
      const parsed = parseCommandLine(splitLine(command), COMMANDS);
      assert.equal(
        parsed.kind === "command" && parsed.command.name,
        deprecated?.replace("purser ", "") ?? name,
      );
    }
  }
});
