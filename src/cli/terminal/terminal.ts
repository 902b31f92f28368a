import type { TerminationSignal } from "../../kernel/this_process.ts";

/** Thrown when the reader of an output has closed it. */
export class BrokenPipeError extends Error {
  override readonly name = "BrokenPipeError";
}

/** Standard output or standard error. */
export interface Output {
  /**
   * Writes synchronously. A terminal shows the control sequences only of a text that is marked as a `screen`; another
   * output gets a `document` byte for byte. Throws a `BrokenPipeError` when the reader has closed the pipe.
   */
  write(text: string, mode?: "screen" | "document"): void;
  isTerminal: boolean;
  hasColour: boolean;
  /** The width of a terminal in columns. Undefined for other outputs, where nothing is cut. */
  columns: number | undefined;
  /** The height in rows of a terminal. */
  rows: number | undefined;
}

/** The terminal of a command. Tests pass one in memory. */
export interface Terminal {
  stdout: Output;
  stderr: Output;
  /** True if block characters can be shown. */
  hasUnicode: boolean;
  /** Streams standard input. It can be read once. */
  stdin(): AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** Reads standard input to its end. */
  readStdin(): Promise<string>;
  /**
   * Reads keys as they are typed, by name, including Ctrl-C, without echo; `resize` when the terminal has got another
   * size. Undefined where standard input is no
   * interactive terminal.
   */
  keys?(): AsyncIterable<string>;
  /**
   * Opens an address in the browser of the user. Returns false where that is not possible or not permitted. Undefined where
   * standard output isn't a terminal.
   */
  openPage?(url: string): Promise<boolean>;
  /** Aborts at the first Ctrl-C or SIGTERM. The second exits the process, after the work that `beforeForcedExit()` was given. */
  readonly interrupted: AbortSignal;
  /** Returns the words that start this program, without its arguments. Undefined where it is no process of its own. */
  command?(): readonly string[];
  /**
   * Starts this program with other arguments in a process that lives on, without input and output. Returns false where that is not
   * permitted, as on Deno without `--allow-run`.
   */
  startAgain?(args: readonly string[]): Promise<boolean>;
  /** Returns whether this process may start programs; Deno asks the user for it. */
  mayStartPrograms?(): Promise<boolean>;
  /** Calls a listener at each of these signals, in place of what `interrupted` does. */
  onSignals?(signals: readonly TerminationSignal[], listener: () => void): void;
  /** Gives work to the second signal, which waits half a second for it at most. */
  beforeForcedExit?(work: () => Promise<unknown>): void;
  /** Makes SIGHUP abort `interrupted` too, also under `nohup`: for a command that must not end without its cleanup. */
  interruptAtHangup?(): void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns whether to use colours: on a terminal that has them, unless NO_COLOR is set (https://no-color.org). */
export function wantsColour(env: Environment, isTerminal: boolean): boolean {
  return isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
}

/** Returns whether the locale is UTF-8, which is the default. */
export function wantsUnicode(env: Environment): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "UTF-8";
  return env.TERM !== "dumb" && /utf-?8/i.test(locale);
}
