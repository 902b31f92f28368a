import type { Command, OptionSpec, Values } from "../command.ts";
import { COMMANDS, COMMON_OPTIONS } from "../command_table.ts";
import { ALL_OPTIONS, findCommand } from "../parse/parse_command_line.ts";

/** The possible completions at the cursor. */
export interface Cursor {
  /** The part of the word that is typed already. */
  typed: string;
  /** The part of the word before the value: `--by=`. */
  lead: string;
  /** The possible values. */
  values: Values;
  /** The possible commands and options. */
  words: readonly Offer[];
  /** The line before the cursor. */
  line: TypedLine;
}

/** A completion and its description. */
export interface Offer {
  value: string;
  description: string;
}

/** A partial command line; it may be invalid. */
export interface TypedLine {
  command: Command | undefined;
  /** The arguments after the command's own words. */
  args: readonly string[];
  /** The last value of each option. */
  options: ReadonlyMap<string, string>;
}

/** Returns what the last word, which may be empty, can be completed to. */
export function readCursor(words: readonly string[]): Cursor {
  const typed = words.at(-1) ?? "";
  const { positionals, options, waiting, isClosed } = readBefore(words.slice(0, -1));
  const command = positionals[0] === "help" ? undefined : findCommand(positionals);
  const args = command ? positionals.slice(command.name.split(" ").length) : [];
  const cursor: Cursor = { typed, lead: "", values: {}, words: [], line: { command, args, options } };
  if (waiting) return { ...cursor, values: waiting.values ?? {} };

  const assigned = isClosed ? null : /^--([^=]+)=(.*)$/s.exec(typed);
  if (assigned) {
    const [, name, value] = assigned as unknown as [string, string, string];
    return { ...cursor, lead: `--${name}=`, typed: value, values: specOf(name)?.values ?? {} };
  }
  if (typed.startsWith("-") && !isClosed) return { ...cursor, words: optionsOf(command, options) };
  if (!command) return { ...cursor, words: nextWords(positionals) };
  const next = command.args[args.length];
  // After the last argument, options are offered.
  return next ? { ...cursor, values: next.values ?? {} } : { ...cursor, words: optionsOf(command, options) };
}

function readBefore(words: readonly string[]) {
  const positionals: string[] = [];
  const options = new Map<string, string>();
  let waiting: OptionSpec | undefined;
  let waitingName = "";
  let isClosed = false;
  for (const word of words) {
    const option = isClosed ? null : /^--([^=]+)(?:=(.*))?$/s.exec(word);
    if (waiting) {
      options.set(waitingName, word);
      waiting = undefined;
    } else if (word === "--" && !isClosed) isClosed = true;
    else if (option) {
      const [, name, value] = option as unknown as [string, string, string | undefined];
      if (value === undefined && specOf(name)?.type === "string") {
        waiting = specOf(name);
        waitingName = name;
      } else options.set(name, value ?? "");
    } else if (isClosed || !word.startsWith("-") || word === "-") positionals.push(word);
  }
  return { positionals, options, waiting, isClosed };
}

function specOf(name: string): OptionSpec | undefined {
  return Object.hasOwn(ALL_OPTIONS, name) ? ALL_OPTIONS[name] : undefined;
}

/** Returns the options of a command, its own first. A flag that is given is not offered again. */
function optionsOf(command: Command | undefined, given: ReadonlyMap<string, string>): Offer[] {
  const known = {
    ...command?.options,
    ...COMMON_OPTIONS,
    ...(command ? {} : { version: ALL_OPTIONS.version! }),
  };
  return Object.entries(known)
    .filter(([name, { type }]) => type === "string" || !given.has(name))
    .map(([name, { summary }]) => ({ value: `--${name}`, description: summary }));
}

/** Returns the next word of the commands that begin with these words. */
function nextWords(words: readonly string[]): Offer[] {
  const isHelp = words[0] === "help";
  const begun = isHelp ? words.slice(1) : words;
  const offers = new Map<string, string>();
  for (const { name, summary } of COMMANDS) {
    const parts = name.split(" ");
    const next = parts[begun.length];
    if (next === undefined || begun.some((word, index) => word !== parts[index])) continue;
    const isGroup = parts.length > begun.length + 1;
    offers.set(next, isGroup ? verbsOf(parts.slice(0, begun.length + 1).join(" ")) : summary);
  }
  if (words.length === 0) offers.set("help", "Show help");
  return [...offers].map(([value, description]) => ({ value, description }));
}

/** Lists the verbs of a group: `list, show, set, remove`. */
function verbsOf(group: string): string {
  return COMMANDS.flatMap(({ name }) => name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : [])
    .join(", ");
}
