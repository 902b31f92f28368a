import { nearestName } from "../../kernel/text.ts";
import { COMMANDS, type CommandSpec, COMMON_OPTIONS, type OptionSpec } from "../command_table.ts";
import { Options } from "./options.ts";
import { type Token, tokenize } from "./tokenize.ts";
import { UsageError } from "./usage_error.ts";

/** What a command line asks for. */
export type CommandLine =
  | { kind: "version" }
  /** `topic` is the beginning of command names; nothing for all of them. */
  | { kind: "help"; topic: string }
  /** A line that stops short of a command: `purser`, `purser agents`. */
  | { kind: "incomplete"; topic: string }
  | { kind: "command"; command: CommandSpec; args: string[]; options: Options };

/** Every option of any command. */
export const ALL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...Object.assign({}, ...COMMANDS.map(({ options }) => options)) as Record<string, OptionSpec>,
  ...COMMON_OPTIONS,
  version: { type: "boolean", summary: "Print the version" },
};

type OptionToken = Extract<Token, { kind: "option" }>;

/** Understands a command line. Options may stand anywhere. Throws a `UsageError` that helps. */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  const tokens = tokenize(argv, (name) => ALL_OPTIONS[name]?.type === "string");
  const words = tokens.flatMap((token) => (token.kind === "positional" ? [token.value] : []));
  const given = tokens.filter((token): token is OptionToken => token.kind === "option");
  const isGiven = (name: string) => given.some((token) => nameOf(token) === name);

  if (words[0] === "help") return { kind: "help", topic: findTopic(words.slice(1)) };
  if (isGiven("help")) return { kind: "help", topic: findTopic(words) };
  if (isGiven("version") || (words[0] === "version" && words.length === 1)) return { kind: "version" };
  const command = findCommand(words);
  if (!command) {
    const topic = findTopic(words);
    for (const token of given) checkOption(token, ALL_OPTIONS, topic);
    return { kind: "incomplete", topic };
  }
  const options = readOptions(given, command);
  return { kind: "command", command, args: readArgs(words, command), options };
}

function nameOf({ name }: OptionToken): string {
  return name === "h" ? "help" : name;
}

/** The command that a line's words begin with. */
export function findCommand(words: readonly string[]): CommandSpec | undefined {
  return COMMANDS.find(({ name }) => words.slice(0, name.split(" ").length).join(" ") === name);
}

/** The words that begin a command's name, without its arguments; throws on a word that begins none. */
function findTopic(words: readonly string[]): string {
  const command = findCommand(words);
  if (command) return command.name;
  const [group = "", verb] = words;
  if (group === "") return "";
  const verbs = COMMANDS.flatMap((
    { name },
  ) => (name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : []));
  if (verbs.length > 0 && verb === undefined) return group;
  const known = verbs.length > 0
    ? verbs
    : [...new Set(COMMANDS.map(({ name }) => name.split(" ")[0]!)), "help"];
  const near = nearestName(verbs.length > 0 ? verb! : group, known);
  const typed = verbs.length > 0 ? `${group} ${verb}` : group;
  throw new UsageError(
    `Cannot find the command ${typed}${
      near ? `; did you mean ${verbs.length > 0 ? `${group} ` : ""}${near}?` : ""
    }`,
    verbs.length > 0 ? group : "",
  );
}

function readOptions(tokens: readonly OptionToken[], command: CommandSpec): Options {
  const known = { ...command.options, ...COMMON_OPTIONS };
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    checkOption(token, known, command.name);
    const name = nameOf(token);
    given.set(name, [...given.get(name) ?? [], token.value ?? ""]);
  }
  const places = ["profile", "server", "db"].filter((name) => given.has(name));
  if (places.length > 1) {
    throw new UsageError(
      `Cannot use --${places[0]} together with --${places[1]}: give one of them`,
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
  // What follows looks like the next option; only a "=" makes sure that it is meant.
  if (!token.inlineValue && /^-./.test(token.value) && !/^-\.?\d/.test(token.value)) {
    throw new UsageError(
      `Cannot use --${name} without ${spec.value}: if ${token.value} is it, write --${name}=${token.value}`,
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
      `Cannot use ${token.rawName}: there is no such option; write -- before an argument that begins with -`,
      command,
    );
  }
  const near = nearestName(token.name, Object.keys(known));
  const of = command ? ` of ${command}` : "";
  return new UsageError(
    `Cannot use ${token.rawName}: there is no such option${of}${near ? `; did you mean --${near}?` : ""}`,
    command,
  );
}

function readArgs(words: readonly string[], command: CommandSpec): string[] {
  const args = words.slice(command.name.split(" ").length);
  const names = command.args.map(({ name }) => name);
  const missing = names[args.length];
  if (missing !== undefined) {
    throw new UsageError(`Cannot use ${command.name} without ${missing}`, command.name);
  }
  const surplus = args[names.length];
  if (surplus !== undefined) {
    throw new UsageError(
      `Cannot use ${command.name} with ${JSON.stringify(surplus)}: ` +
        (names.length === 0
          ? "it takes no arguments"
          : `it takes ${names.join(" ")} only; put quotes around what belongs together`),
      command.name,
    );
  }
  const empty = args.findIndex((arg) => arg === "");
  if (empty >= 0) {
    throw new UsageError(`Cannot use ${command.name} with an empty ${names[empty]}`, command.name);
  }
  return args;
}
