import type { BareCommand, Command } from "../command.ts";

/** What the API can be asked for where a value is completed. */
export type LiveValue = "agent" | "session" | "rule" | "channel" | "key" | "profile";

/** What may stand for a value. Help tells the values of an enumeration, completion offers all of it. */
export interface Values {
  /** An enumeration: nothing else is taken. */
  oneOf?: readonly string[];
  /** Values that come to mind; others are taken too. */
  some?: readonly string[];
  live?: LiveValue;
  /** A path. */
  isFile?: true;
}

/** An option as the command line, the help and the completion know it. */
export interface OptionSpec {
  type: "string" | "boolean";
  /** What its value is called in the help. */
  value?: string;
  values?: Values;
  summary: string;
}

/** An argument that must follow a command. */
export interface ArgSpec {
  name: string;
  values?: Values;
}

/** One command: everything about it but its body, which is loaded when it is needed. */
export type CommandSpec =
  & {
    /** Its words, as in `agents set`. */
    name: string;
    args: readonly ArgSpec[];
    summary: string;
    /** More about it, for its own help. */
    detail?: string;
    options: Readonly<Record<string, OptionSpec>>;
    /** Command lines and what they do. */
    examples: readonly (readonly [line: string, what: string])[];
    /** Whether it ends by itself after Ctrl-C, with an exit code of its own. */
    handlesInterrupt?: true;
    /** Whether it only reads, so that it need not recover or deliver what others have left behind. */
    isReadOnly?: true;
  }
  & (
    | { load: () => Promise<Command>; loadBare?: undefined }
    /** Of a command that works without settings, and so also where they are wrong. */
    | { loadBare: () => Promise<BareCommand>; load?: undefined }
  );

/** An option that takes a value. */
export const text = (value: string, summary: string, values?: Values): OptionSpec => ({
  type: "string",
  value,
  summary,
  ...(values && { values }),
});

/** An option that is there or not. */
export const flag = (summary: string): OptionSpec => ({ type: "boolean", summary });

/** An argument. */
export const arg = (name: string, values?: Values): ArgSpec => ({ name, ...(values && { values }) });
