import type { DimensionWith } from "../contract/costs/dimensions.ts";
import type { Connection } from "../client/mod.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Config, Environment } from "../config/mod.ts";
import type { Secrets } from "../redaction/values/mod.ts";
import type { Log } from "../kernel/log.ts";
import type { Options } from "./parse/options.ts";
import type { Layout } from "./render/render_table.ts";
import type { Style } from "./terminal/style.ts";
import type { Terminal } from "./terminal/terminal.ts";

/**
 * A command: its description, from which lines are parsed, help is rendered and words are completed, and its body.
 * Help and completion load commands too, so a command imports heavy modules dynamically, in its body.
 */
export type Command = CommandSpec & (WithConfig | WithoutConfig);

export interface CommandSpec {
  /** The words of the command, such as `agents set`. */
  name: string;
  args: readonly ArgSpec[];
  /** One line of the overview. */
  summary: string;
  /** The command to write in place of this one, which is an earlier name and still works. */
  deprecated?: string;
  /** A paragraph of the command's own help. */
  detail?: string;
  options: Readonly<Record<string, OptionSpec>>;
  /** Command lines, and a comment on each or an empty text. */
  examples: readonly (readonly [line: string, comment: string])[];
  /** The command ends by itself after Ctrl-C, with an exit code of its own. */
  handlesInterrupt?: true;
  /** The command only reads: the database is opened without recovery, deliveries and sweeps. */
  isReadOnly?: true;
  /** The command changes or checks what is there: a missing file that a setting names is an error. */
  needsDatabase?: true;
  /** The answer depends on the settings alone: no database is opened, and it may be missing or unreachable. */
  needsNoDatabase?: true;
}

interface WithConfig {
  /** Runs the command. Resolves to its exit code, or to undefined for 0. */
  run: (ctx: CommandContext) => Promise<number | void>;
  runWithoutConfig?: undefined;
}

/** A command that also works where the configuration is invalid. */
interface WithoutConfig {
  runWithoutConfig: (ctx: BareContext, open: OpenContext) => Promise<number | void> | number | void;
  run?: undefined;
}

/** Reads the configuration. Disposing of the context closes its connection. */
export type OpenContext = () => Promise<CommandContext & AsyncDisposable>;

/** An option, as the parser, the help and the completion need it. */
export interface OptionSpec {
  type: "string" | "boolean";
  /** The placeholder of the value in the help. */
  value?: string;
  values?: Values;
  summary: string;
  /** The text to write in place of this option, which is an earlier spelling and still works. */
  deprecated?: string;
}

/** An argument; those that are optional come last. */
export interface ArgSpec {
  name: string;
  values?: Values;
  isOptional?: true;
  /** The last argument, of any number. */
  isRepeated?: true;
  /** The words of another command: an empty one is as good as any. */
  isCommand?: true;
}

/** The values of an option or an argument. The help lists `oneOf`, completion offers all of them. */
export interface Values {
  /** An enumeration: other values are refused. */
  oneOf?: readonly string[];
  /** Suggestions: other values are accepted too. */
  some?: readonly string[];
  live?: LiveValue;
  /** A path. */
  isFile?: true;
}

/** Values that completion asks the API for. */
export type LiveValue =
  | "budget"
  | "rule"
  | "alert"
  | "channel"
  | "profile"
  | "tag"
  | DimensionWith<"isOption">;

/** An option that takes a value. */
export const option = (value: string, summary: string, values?: Values): OptionSpec => ({
  type: "string",
  value,
  summary,
  ...(values && { values }),
});

/** An option without a value. */
export const flag = (summary: string): OptionSpec => ({ type: "boolean", summary });

/** A flag that is an earlier spelling of something. */
export const earlierFlag = (deprecated: string): OptionSpec => ({
  type: "boolean",
  summary: `Deprecated: write ${deprecated}`,
  deprecated,
});

/** An argument. */
export const arg = (name: string, values?: Values): ArgSpec => ({ name, ...(values && { values }) });

/** An argument that may be left out. */
export const optionalArg = (name: string, values?: Values): ArgSpec => ({
  ...arg(name, values),
  isOptional: true,
});

/** Arguments of any number, the last of a command. */
export const repeatedArg = (name: string, values?: Values): ArgSpec => ({
  ...optionalArg(name, values),
  isRepeated: true,
});

/** Returns the name of an argument in the usage of its command: `NAME`, `[NAME]` for an optional one, `[NAME…]` for any number. */
export const usageOfArg = ({ name, isOptional, isRepeated }: ArgSpec): string =>
  isRepeated ? `[${name}…]` : isOptional ? `[${name}]` : name;

/** The context of a command without configuration. */
export interface BareContext {
  /** The arguments after the words of the command. */
  args: readonly string[];
  options: Options;
  isJson: boolean;
  terminal: Terminal;
  /** Colours for standard output. */
  style: Style;
  /** The form of tables on standard output. */
  layout: Required<Layout>;
  clock: Clock;
  env: Environment;
  /** Writes a result and a line end to standard output. */
  print(text: string): void;
  /** Writes a message to standard error. */
  say(line: string): void;
  /** Writes a warning to standard error. */
  warn(line: string): void;
}

/** The context of a command. */
export interface CommandContext extends BareContext {
  config: Config;
  /** The configured secrets, which no output has. */
  secrets: Secrets;
  log: Log;
  /** Returns the connection to the API; it is opened by the first call, and closed after the command. */
  connect(): Promise<Connection>;
}
