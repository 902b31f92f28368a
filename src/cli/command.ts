import type { Connection } from "../client/mod.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Config, Environment } from "../config/mod.ts";
import type { Log } from "../kernel/log.ts";
import type { Options } from "./parse/options.ts";
import type { Style } from "./terminal/style.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** What a command works with that needs no settings. */
export interface BareContext {
  /** The arguments after the command's own words. */
  args: readonly string[];
  options: Options;
  isJson: boolean;
  terminal: Terminal;
  /** Colours for standard output. */
  style: Style;
  clock: Clock;
  env: Environment;
  /** Writes a result, and the end of its line, to standard output. */
  print(text: string): void;
  /** Tells a person something beside the result, on standard error. */
  say(line: string): void;
  /** The same, for what a person should look into. */
  warn(line: string): void;
}

/** Everything a command works with. */
export interface CommandContext extends BareContext {
  config: Config;
  log: Log;
  /** The way to the API, opened at the first call and closed after the command. */
  connect(): Promise<Connection>;
}

/** A command's body. Without a number it is done. */
export type Command = (ctx: CommandContext) => Promise<number | void>;

/** The body of a command that works also where the settings are wrong. */
export type BareCommand = (ctx: BareContext) => Promise<number | void> | number | void;
