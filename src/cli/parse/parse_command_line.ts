import { nearestName } from "../../kernel/nearest_name.ts";
import type { Command, CommandSpec, OptionSpec } from "../command.ts";
import { COMMON_OPTIONS, loadAllCommands, loadCommands } from "../command_table.ts";
import { Options } from "./options.ts";
import { UsageError } from "./usage_error.ts";

/** A parsed command line. */
export type CommandLine =
  | { kind: "version" }
  /** `topic` is a prefix of command names, empty for all commands. */
  | { kind: "help"; topic: string }
  /** A line without a whole command: `purser`, `purser agents`. */
  | { kind: "incomplete"; topic: string }
  | { kind: "command"; command: Command; args: string[]; options: Options };

/** Returns the options of commands, and those of every command. */
export const allOptions = (commands: readonly CommandSpec[]): Readonly<Record<string, OptionSpec>> => ({
  ...Object.assign({}, ...commands.map(({ options }) => options)) as Record<string, OptionSpec>,
  ...COMMON_OPTIONS,
  version: { type: "boolean", summary: "Print the version" },
});

/** Earlier names of options, which the help does not list. */
const ALIASES: Readonly<Record<string, string>> = { "agent-id": "agent", h: "help" };

/** Returns the name of an option that may have been given by an earlier name. */
export const optionName = (given: string) => Object.hasOwn(ALIASES, given) ? ALIASES[given]! : given;

type OptionToken = Extract<Token, { kind: "option" }>;

/**
 * Parses a command line with the commands of its first word; with all if it has an error or an option of others. Throws a `UsageError`.
 */
export async function readCommandLine(argv: readonly string[]): Promise<CommandLine> {
  const commands = await loadCommands(argv[argv[0] === "help" ? 1 : 0]);
  const options = allOptions(commands);
  const tokens = tokenize(argv, (name) => options[optionName(name)]?.type === "string");
  const words = tokens.flatMap((token) => token.kind === "positional" ? [token.value] : []);
  const needsNone = /^(help|version|)$/.test(words.join(" "));
  const isKnown = (commands.length > 0 || needsNone) &&
    tokens.every((token) => token.kind === "positional" || Object.hasOwn(options, nameOf(token)));
  return parseCommandLine(argv, isKnown ? commands : await loadAllCommands());
}

/** Parses a command line that names one of `commands`. Options may stand anywhere. Throws a `UsageError`. */
export function parseCommandLine(argv: readonly string[], commands: readonly Command[]): CommandLine {
  const wordsOf = (all: readonly Token[]) =>
    all.flatMap((token) => (token.kind === "positional" ? [token.value] : []));
  const known = allOptions(commands);
  const takesValue = (name: string) => known[optionName(name)]?.type === "string";
  const first = tokenize(argv, takesValue);
  // Of a command that has versions of something, --version is the one of them; elsewhere it is that of this program.
  const hasVersion = findCommand(wordsOf(first), commands)?.options.version !== undefined;
  const tokens = hasVersion ? tokenize(argv, (name) => name === "version" || takesValue(name)) : first;
  const words = wordsOf(tokens);
  const given = tokens.filter((token): token is OptionToken => token.kind === "option");
  const isGiven = (name: string) => given.some((token) => nameOf(token) === name);

  if (words[0] === "help") return { kind: "help", topic: findTopic(words.slice(1), commands) };
  if (isGiven("help")) return { kind: "help", topic: findTopic(words, commands) };
  if ((isGiven("version") && !hasVersion) || (words[0] === "version" && words.length === 1)) {
    return { kind: "version" };
  }
  const command = findCommand(words, commands);
  if (!command) {
    const topic = findTopic(words, commands);
    for (const token of given) checkOption(token, known, topic);
    return { kind: "incomplete", topic };
  }
  const options = readOptions(given, command);
  return { kind: "command", command, args: readArgs(words, command), options };
}

function nameOf({ name }: OptionToken): string {
  return optionName(name);
}

/** Returns the command whose name the words begin with; of `cost` and `cost explain`, the longer one. */
export function findCommand<C extends CommandSpec>(words: readonly string[], commands: readonly C[]) {
  const found = commands.filter(({ name }) => words.slice(0, name.split(" ").length).join(" ") === name);
  return found.sort((a, b) => b.name.length - a.name.length).at(0);
}

/** Returns the words that begin a command's name, without arguments. Throws a `UsageError` if no command begins with them. */
function findTopic(words: readonly string[], commands: readonly Command[]): string {
  const command = findCommand(words, commands);
  if (command) return command.name;
  const [group = "", verb] = words;
  if (group === "") return "";
  const verbs = commands.flatMap((
    { name },
  ) => (name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : []));
  if (verbs.length > 0 && verb === undefined) return group;
  const known = verbs.length > 0
    ? verbs
    : [...new Set(commands.map(({ name }) => name.split(" ")[0]!)), "help"];
  const near = nearestName(verbs.length > 0 ? verb! : group, known);
  const typed = verbs.length > 0 ? `${group} ${verb}` : group;
  throw new UsageError(
    `Cannot find the command ${typed}${
      near ? `; did you mean ${verbs.length > 0 ? `${group} ` : ""}${near}?` : ""
    }`,
    verbs.length > 0 ? group : "",
  );
}

function readOptions(tokens: readonly OptionToken[], command: Command): Options {
  const known = { ...command.options, ...COMMON_OPTIONS };
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    checkOption(token, known, command.name);
    const name = nameOf(token);
    given.set(name, [...given.get(name) ?? [], token.value ?? ""]);
  }
  const targets = ["profile", "server", "db"].filter((name) => given.has(name));
  if (targets.length > 1) {
    throw new UsageError(
      `Cannot use --${targets[0]} together with --${targets[1]}: give one of them`,
      command.name,
    );
  }
  return new Options(given, command.name);
}

function checkOption(token: OptionToken, known: Readonly<Record<string, OptionSpec>>, command: string): void {
  const name = nameOf(token);
  const spec = Object.hasOwn(known, name) ? known[name] : undefined;
  if (!spec) throw unknownOption(token, known, command);
  if (spec.type === "boolean") {
    if (token.value === undefined) return;
    throw new UsageError(`Cannot use --${name} with a value: it takes none`, command);
  }
  if (token.value === undefined) throw new UsageError(`Cannot use --${name} without ${spec.value}`, command);
  // A value that looks like an option is accepted after "=" only.
  if (!token.inlineValue && /^-./.test(token.value) && !/^-\.?\d/.test(token.value)) {
    throw new UsageError(
      `Cannot use --${name} without ${spec.value}: if ${token.value} is the value, write --${name}=${token.value}`,
      command,
    );
  }
}

function unknownOption(
  token: OptionToken,
  known: Readonly<Record<string, OptionSpec>>,
  command: string,
): UsageError {
  if (!token.rawName.startsWith("--")) {
    return new UsageError(
      `Cannot use ${token.rawName}: unknown option; write -- before an argument that begins with -`,
      command,
    );
  }
  const near = nearestName(token.name, Object.keys(known));
  const of = command ? ` of ${command}` : "";
  return new UsageError(
    `Cannot use ${token.rawName}: unknown option${of}${near ? `; did you mean --${near}?` : ""}`,
    command,
  );
}

function readArgs(words: readonly string[], command: Command): string[] {
  const args = words.slice(command.name.split(" ").length);
  const names = command.args.map(({ name }) => name);
  const missing = command.args[args.length];
  if (missing !== undefined && !missing.isOptional) {
    throw new UsageError(`Cannot use ${command.name} without ${missing.name}`, command.name);
  }
  const surplus = args[names.length];
  if (surplus !== undefined && !command.args.at(-1)?.isRepeated) {
    throw new UsageError(
      `Cannot use ${command.name} with ${JSON.stringify(surplus)}: ` +
        (names.length === 0
          ? "it takes no arguments"
          : `it takes ${names.join(" ")} only; quote an argument that has spaces`),
      command.name,
    );
  }
  const empty = args.findIndex((arg) => arg === "");
  if (empty >= 0 && !command.args.at(-1)?.isCommand) {
    throw new UsageError(
      `Cannot use ${command.name} with an empty ${names[empty] ?? names.at(-1)}`,
      command.name,
    );
  }
  return args;
}

/** A token of a command line: an argument, or an option with its value. */
export type Token =
  | { kind: "positional"; value: string }
  | {
    kind: "option";
    /** Without its dashes. */
    name: string;
    /** The option as it was typed, without `=VALUE`. */
    rawName: string;
    value: string | undefined;
    /** True if the value was given with `=`. */
    inlineValue: boolean | undefined;
  };

/**
 * Splits a command line like `parseArgs` of node:util with `strict: false` and `tokens`, whose loading takes half the
 * time of an empty program. `takesValue` returns whether the next word is the option's value; short options are one letter.
 */
export function tokenize(argv: readonly string[], takesValue: (name: string) => boolean): Token[] {
  const tokens: Token[] = [];
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!;
    if (word === "--") {
      tokens.push(...argv.slice(i + 1).map((value) => ({ kind: "positional", value }) as const));
      break;
    }
    if (word.startsWith("--")) {
      const equals = word.indexOf("=", 3);
      const rawName = equals < 0 ? word : word.slice(0, equals);
      const name = rawName.slice(2);
      if (equals >= 0) tokens.push(option(name, rawName, word.slice(equals + 1), true));
      else if (takesValue(name) && i + 1 < argv.length) tokens.push(option(name, rawName, argv[++i], false));
      else tokens.push(option(name, rawName));
    } else if (word.startsWith("-") && word !== "-") {
      for (const letter of word.slice(1)) tokens.push(option(letter, `-${letter}`));
    } else tokens.push({ kind: "positional", value: word });
  }
  return tokens;
}

function option(name: string, rawName: string, value?: string, inlineValue?: boolean): Token {
  return { kind: "option", name, rawName, value, inlineValue };
}
