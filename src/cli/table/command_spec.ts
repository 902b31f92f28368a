import type { Command } from "../command.ts";

/** An option as the command line and the help know it. */
export interface OptionSpec {
  type: "string" | "boolean";
  /** What its value is called in the help. */
  value?: string;
  summary: string;
}

/** One command: everything about it but its body, which is loaded when it is needed. */
export interface CommandSpec {
  /** Its words, as in `agents set`. */
  name: string;
  /** Names of the arguments that must follow. */
  args: readonly string[];
  summary: string;
  /** More about it, for its own help. */
  detail?: string;
  options: Readonly<Record<string, OptionSpec>>;
  /** Command lines and what they do. */
  examples: readonly (readonly [line: string, what: string])[];
  /** Whether it ends by itself after Ctrl-C, with an exit code of its own. */
  handlesInterrupt?: true;
  load: () => Promise<Command>;
}

/** An option that takes a value. */
export const text = (value: string, summary: string): OptionSpec => ({ type: "string", value, summary });

/** An option that is there or not. */
export const flag = (summary: string): OptionSpec => ({ type: "boolean", summary });
