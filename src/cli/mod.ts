import { MAX_ISSUES } from "../contract/limits.ts";
import { findDefaultDatabase } from "../config/mod.ts";
import type { Clock } from "../kernel/clock.ts";
import { EXIT, exitCodeOf } from "./exit_code.ts";
import { readCommandLine } from "./parse/parse_command_line.ts";
import { createStyle, type Style } from "./terminal/style.ts";
import { BrokenPipeError, type Output, type Terminal } from "./terminal/terminal.ts";
import type { Connect } from "./run_command.ts";
import { messageOf, PurserError, STATUS } from "../kernel/errors.ts";
import { createSecrets, type Secrets } from "../redaction/values/mod.ts";
import { escapeJson, escapeLines, escapeText, guardTerminal } from "./terminal/escape_text.ts";
import { UsageError } from "./parse/usage_error.ts";
import { type Command, type CommandSpec, type OptionSpec, usageOfArg } from "./command.ts";
import { COMMON_OPTIONS, loadCommands } from "./command_table.ts";
import type { Release } from "../kernel/version.ts";
import { countOf } from "./render/format_values.ts";
import { wrapText } from "./terminal/wrap_text.ts";

/** The command line. */
export { guardTerminal } from "./terminal/escape_text.ts";
export { processTerminal } from "./terminal/process_terminal.ts";

/** The environment of a command line. */
export interface MainOptions {
  terminal: Terminal;
  env: Readonly<Record<string, string | undefined>>;
  /** Connects to the API. Tests pass their own. */
  connect?: Connect;
  clock?: Clock;
  /** The release that this program is. Without one, it asks for no newer one. */
  release?: Release | undefined;
  /** Asks for a newer release. */
  fetch?: typeof globalThis.fetch;
  /** Takes the secrets of the configuration; no output has one. */
  secrets?: Secrets;
}

/** The command of the completion scripts: `purser __complete -- WORD…`; see `complete_line.ts`. */
const COMPLETE = "__complete";

/** Runs a command line and returns the exit code of the process. Never throws. */
export async function main(argv: readonly string[], options: MainOptions): Promise<number> {
  const secrets = options.secrets ?? createSecrets();
  const terminal = guardTerminal(options.terminal, { isJson: argv.includes("--json"), scrub: secrets.scrub });
  const { stdout, stderr } = terminal;
  if (argv[0] === COMPLETE) {
    const { completeLine } = await import("./complete_line.ts");
    return await completeLine(argv.slice(argv[1] === "--" ? 2 : 1), { ...options, terminal });
  }
  try {
    const line = await readCommandLine(argv);
    switch (line.kind) {
      case "version": {
        const { VERSION } = await import("../kernel/version.ts");
        stdout.write(`purser ${VERSION}\n`);
        return EXIT.done;
      }
      case "help":
        stdout.write(await renderHelp(line.topic, stdout, findDefaultDatabase(options.env)));
        return EXIT.done;
      case "incomplete":
        stderr.write(await renderHelp(line.topic, stderr, findDefaultDatabase(options.env)));
        return EXIT.badUsage;
      case "command": {
        const { runCommand } = await import("./run_command.ts");
        return await runCommand(line, { ...options, terminal, secrets }).catch((error) => {
          throw argv.includes("--json") ? error : nameOptions(error, line.command);
        });
      }
    }
  } catch (error) {
    // The reader of standard output closed it, such as `head`.
    if (error instanceof BrokenPipeError) return EXIT.done;
    try {
      reportError(error, stderr, argv.includes("--json"));
    } catch {
      // Standard error is closed too.
    }
    return exitCodeOf(error);
  }
}

/** Returns an error of the API as people read it: where it names a field that they wrote as an option, it names the option. */
function nameOptions(error: unknown, { options }: Command): unknown {
  if (!(error instanceof PurserError) || !Array.isArray(error.details?.issues)) return error;
  /** Of `agent_id` the option is `--agent`, of `warn_at` `--warn-at`. */
  const optionOf = (field: string) => {
    const name = field.replaceAll("_", "-");
    const option = [name, name.replace(/-[a-z]+$/, "")].find((each) => Object.hasOwn(options, each));
    return option === undefined ? field : `--${option}`;
  };
  const inText = (text: string) => text.replaceAll(/\b[a-z]+(_[a-z]+)+\b/g, optionOf);
  let { message } = error;
  const issues = error.details.issues.map((issue) => {
    const path = optionOf(String(issue?.path));
    message = message.replace(` ${issue?.path}: `, ` ${path}: `);
    return { ...issue, path, message: inText(String(issue?.message)) };
  });
  const named = Object.create(Object.getPrototypeOf(error), Object.getOwnPropertyDescriptors(error));
  return Object.assign(named, { message: inText(message), details: { ...error.details, issues } });
}

/** Writes an error to standard error: one sentence and a hint, or the problem document as JSON. */
export function reportError(error: unknown, stderr: Output, isJson: boolean): void {
  if (isJson) return stderr.write(escapeJson(JSON.stringify(problemOf(error))) + "\n");
  const style = createStyle(stderr.hasColour);
  const sentence = error instanceof PurserError ? sentenceOf(error) : `Internal error: ${messageOf(error)}`;
  // The detail of a problem document is one line, and so is an error that may quote any value: a server could otherwise add lines that
  // look like Purser's own.
  const shown = error instanceof PurserError && !("problem" in error)
    ? escapeLines(sentence)
    : escapeText(sentence);
  stderr.write(`${style.red("error:")} ${shown}\n`);
  for (const line of listIssues(error)) stderr.write(`  ${escapeText(line)}\n`);
  const hint = hintFor(error);
  if (hint) stderr.write(style.dim(escapeText(hint)) + "\n");
}

/** Returns an error's sentence; if it has several issues, their number takes the place of the first. */
function sentenceOf(error: PurserError): string {
  const { texts, count } = issuesOf(error);
  const at = texts.length > 1 ? error.message.indexOf(`: ${texts[0]}`) : -1;
  return at < 0 ? error.message : `${error.message.slice(0, at)}: ${countOf(count, "fault")}`;
}

/** Lists the issues of an error that has several: all of a snapshot or a body are reported. */
function listIssues(error: unknown): string[] {
  if (!(error instanceof PurserError)) return [];
  const { texts, count } = issuesOf(error);
  if (texts.length <= 1) return [];
  return [...texts, ...(count > texts.length ? [`and ${count - texts.length} more`] : [])];
}

function issuesOf(error: PurserError): { texts: string[]; count: number } {
  const { issues, issue_count } = (error.details ?? {}) as { issues?: unknown; issue_count?: unknown };
  const all = Array.isArray(issues) ? issues : [];
  return {
    texts: all.slice(0, MAX_ISSUES).map((issue) =>
      issue?.path ? `${issue.path}: ${issue.message}` : String(issue?.message)
    ),
    count: typeof issue_count === "number" ? issue_count : all.length,
  };
}

function hintFor(error: unknown): string | undefined {
  if (error instanceof UsageError) {
    return error.command === undefined
      ? undefined
      : `See purser ${error.command ? `${error.command} ` : ""}--help`;
  }
  if (error instanceof PurserError && error.code === "unauthorized") {
    return "Give a key with --api-key, PURSER_API_KEY or the api_key_file of a profile; " +
      "to create one, run purser keys add on the server's own database";
  }
  // Only for refusals by the API: `purser serve` reports other errors of this code.
  if (error instanceof PurserError && error.code === "forbidden" && "problem" in error) {
    return "Give another key with --api-key or PURSER_API_KEY; purser whoami shows what this one has spent and may do";
  }
  const { session_id, details } = problemOf(error);
  if (typeof (details as { messages_before?: unknown } | undefined)?.messages_before === "number") {
    return "To replace it, add --yes";
  }
  if (typeof session_id !== "string") return undefined;
  return `The session keeps all steps up to this point: purser sessions show ${session_id}`;
}

/** Returns the API's problem document, or one of the same form for other errors. */
function problemOf(error: unknown): Record<string, unknown> {
  if (!(error instanceof PurserError)) {
    const detail = `Internal error: ${messageOf(error)}`;
    return {
      type: "about:blank",
      title: "Internal error",
      status: STATUS.internal,
      detail,
      code: "internal",
    };
  }
  if ("problem" in error) return error.problem as Record<string, unknown>;
  const { code, message, details, extensions } = error;
  const title = error instanceof UsageError ? "Bad usage" : "Error";
  const problem = { type: "about:blank", title, status: STATUS[code], detail: message, code };
  return { ...problem, ...(details && { details }), ...extensions };
}

/** The width of the help without a terminal. */
const DEFAULT_COLUMNS = 80;

/** The minimum width of a description beside its name; a narrower one goes below it. */
const MIN_WIDTH = 20;

interface Layout {
  columns: number;
  style: Style;
}

/** Renders the help of all commands, a group of commands, or one. `database` is the path of the default one. */
export async function renderHelp(
  topic: string,
  { columns = DEFAULT_COLUMNS, hasColour }: Pick<Output, "columns" | "hasColour">,
  database?: string,
): Promise<string> {
  const layout = { columns: Math.max(40, Math.min(columns, 100)), style: createStyle(hasColour) };
  if (topic === "") return overview((await import("./listed_commands.ts")).LISTED_COMMANDS, layout, database);
  const commands = await loadCommands(topic.split(" ")[0]);
  const command = commands.find(({ name }) => name === topic);
  return command ? commandHelp(command, layout) : groupHelp(topic, commands, layout);
}

function overview(commands: readonly CommandSpec[], layout: Layout, database: string | undefined): string {
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
    database === undefined ? "" : prose(
      `Unless --db, --server, a profile or a setting names another, the database is ${escapeText(database)}.`,
      layout,
    ),
    prose(
      "See purser COMMAND --help for details. The environment variables PURSER_DB, PURSER_SERVER, PURSER_API_KEY, " +
        "PURSER_PROFILE and PURSER_CONFIG set defaults for --db, --server, --api-key, --profile and --config. Exit codes: " +
        "0 success, 1 failure, 2 usage error, 3 not found, 4 not allowed, 5 budget exceeded, 6 a dry run would change something, 130 interrupted.",
      layout,
    ),
  ]);
}

function groupHelp(group: string, commands: readonly Command[], layout: Layout): string {
  const examples = commands.flatMap(({ deprecated, examples }) => deprecated ? [] : examples.slice(0, 1));
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
    command.deprecated ? prose(`Deprecated: write ${command.deprecated}`, layout) : "",
    prose(command.summary, layout),
    command.detail ? prose(command.detail, layout) : "",
    usage([command.name, ...command.args.map(usageOfArg), "[OPTIONS]"].join(" "), layout),
    hasOwn ? list("Options", optionRows(command.options), layout) : "",
    list(hasOwn ? "Options of every command" : "Options", optionRows(COMMON_OPTIONS), layout),
    listExamples(command, layout),
  ]);
}

type Row = readonly [left: string, right: string];

function sections(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n") + "\n";
}

function prose(text: string, { columns }: Layout): string {
  return wrapText(text, columns).join("\n");
}

function usage(line: string, { style }: Layout): string {
  return `${style.bold("Usage:")} purser ${line}`;
}

function usageRow({ name, args, summary, deprecated }: CommandSpec): Row {
  return [
    [name, ...args.map(usageOfArg)].join(" "),
    deprecated ? `Deprecated: write ${deprecated}` : summary,
  ];
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
