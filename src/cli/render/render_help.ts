import type { Command, OptionSpec } from "../command.ts";
import { COMMANDS, COMMON_OPTIONS } from "../command_table.ts";
import type { Style } from "../terminal/style.ts";
import { wrapText } from "../terminal/text_width.ts";

/** The width of the help without a terminal. */
const DEFAULT_COLUMNS = 80;

/** The minimum width of a description beside its name; a narrower one goes below it. */
const MIN_WIDTH = 20;

interface Layout {
  columns: number;
  style: Style;
}

/** Renders the help of all commands, a group of commands, or one. */
export function renderHelp(
  topic: string,
  { columns = DEFAULT_COLUMNS, style }: { columns: number | undefined; style: Style },
): string {
  const layout = { columns: Math.max(40, Math.min(columns, 100)), style };
  const command = COMMANDS.find(({ name }) => name === topic);
  if (command) return commandHelp(command, layout);
  const commands = COMMANDS.filter(({ name }) => topic === "" || name.startsWith(`${topic} `));
  return topic === "" ? overview(commands, layout) : groupHelp(topic, commands, layout);
}

function overview(commands: readonly Command[], layout: Layout): string {
  return sections([
    prose(
      "Purser runs LLM agents, books every model call in an exact ledger, and stops a run at its budget.",
      layout,
    ),
    usage("COMMAND [OPTIONS]", layout),
    list("Commands", commands.map(usageRow), layout),
    list(
      "Options of every command",
      [...optionRows(COMMON_OPTIONS), ["--version", "Print the version"]],
      layout,
    ),
    list("First steps", [
      ["purser agents set helper --model demo:echo --tool calculator", ""],
      ['purser run helper "What is 17 * 23?"', ""],
      ["purser cost", ""],
    ], layout),
    prose(
      "See purser COMMAND --help for details. PURSER_DB, PURSER_SERVER, PURSER_API_KEY, PURSER_PROFILE and PURSER_CONFIG " +
        "are the defaults of these options. Exit codes: 0 success, 1 failure, 2 usage error, 3 not found, 4 not allowed, " +
        "5 budget exceeded, 130 interrupted.",
      layout,
    ),
  ]);
}

function groupHelp(group: string, commands: readonly Command[], layout: Layout): string {
  const examples = commands.flatMap(({ examples }) => examples.slice(0, 1));
  return sections([
    usage(`${group} COMMAND [OPTIONS]`, layout),
    list("Commands", commands.map(usageRow), layout),
    list("Examples", examples.map(([line]) => [line, ""]), layout),
    prose(`See purser ${group} COMMAND --help for the options of a command.`, layout),
  ]);
}

function commandHelp(command: Command, layout: Layout): string {
  const hasOwn = Object.keys(command.options).length > 0;
  return sections([
    prose(command.summary, layout),
    command.detail ? prose(command.detail, layout) : "",
    usage([command.name, ...command.args.map(({ name }) => name), "[OPTIONS]"].join(" "), layout),
    hasOwn ? list("Options", optionRows(command.options), layout) : "",
    list(hasOwn ? "Options of every command" : "Options", optionRows(COMMON_OPTIONS), layout),
    listExamples(command, layout),
  ]);
}

type Row = readonly [left: string, right: string];

function sections(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

function prose(text: string, { columns }: Layout): string {
  return wrapText(text, columns).join("\n");
}

function usage(line: string, { style }: Layout): string {
  return `${style.bold("Usage:")} purser ${line}`;
}

function usageRow({ name, args, summary }: Command): Row {
  return [[name, ...args.map(({ name }) => name)].join(" "), summary];
}

function optionRows(options: Readonly<Record<string, OptionSpec>>): Row[] {
  return Object.entries(options).map((
    [name, spec],
  ) => [`--${name}${spec.value ? ` ${spec.value}` : ""}`, describeOption(spec)]);
}

/** Returns the summary of an option, followed by its enumeration unless the summary has all of the values. */
function describeOption({ summary, values }: OptionSpec): string {
  const { oneOf = [] } = values ?? {};
  if (oneOf.every((value) => summary.includes(value))) return summary;
  return `${summary}: ${oneOf.slice(0, -1).join(", ")} or ${oneOf.at(-1)}`;
}

function list(title: string, rows: readonly Row[], { columns, style }: Layout): string {
  const beside = Math.max(...rows.map(([left]) => left.length)) + 4;
  const isBeside = columns - beside >= MIN_WIDTH;
  const indent = isBeside ? beside : 6;
  const lines = rows.map(([left, right]) => {
    if (right === "") return `  ${style.cyan(left)}`;
    const wrapped = wrapText(right, columns - indent).join("\n" + " ".repeat(indent));
    const gap = isBeside ? " ".repeat(indent - left.length - 2) : "\n" + " ".repeat(indent);
    return `  ${style.cyan(left)}${gap}${wrapped}`;
  });
  return [style.bold(`${title}:`), ...lines].join("\n");
}

/** Renders examples, each below its comment: the lines are long. */
function listExamples({ examples }: Command, { style }: Layout): string {
  const lines = examples.flatMap(([line, comment]) => [
    ...(comment ? [`  ${style.dim(`# ${comment}`)}`] : []),
    `  ${style.cyan(line)}`,
  ]);
  return [style.bold(examples.length > 1 ? "Examples:" : "Example:"), ...lines].join("\n");
}
