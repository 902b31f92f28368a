/** Thrown where a text can't be written because its reader has gone. */
export class BrokenPipeError extends Error {
  override readonly name = "BrokenPipeError";
}

/** A place for text: standard output or standard error. */
export interface Output {
  /** Writes at once. Throws a `BrokenPipeError` when its reader has gone. */
  write(text: string): void;
  isTerminal: boolean;
  hasColour: boolean;
  /** The width in columns of a terminal; undefined elsewhere, where nothing needs to be cut. */
  columns: number | undefined;
  /** The height in rows of a terminal. */
  rows: number | undefined;
}

/** All that a command knows of the terminal that it runs in. Tests pass one that remembers. */
export interface Terminal {
  stdout: Output;
  stderr: Output;
  /** Whether block characters can be shown. */
  hasUnicode: boolean;
  /** Standard input as it comes. It can be read once. */
  stdin(): AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** All of standard input as text. */
  readStdin(): Promise<string>;
  /**
   * Keys as they are typed, by name, Ctrl-C too; where standard input is a terminal that can be steered. While
   * they are read, nothing is echoed.
   */
  keys?(): AsyncIterable<string>;
  /** Aborts at the first Ctrl-C or SIGTERM. At the second the entry ends the process. */
  readonly interrupted: AbortSignal;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether colours are wanted there: https://no-color.org, and no terminal that can't show them. */
export function wantsColour(env: Environment, isTerminal: boolean): boolean {
  return isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
}

/** Whether the locale has more than ASCII. One that is not set is taken as today's usual one, UTF-8. */
export function wantsUnicode(env: Environment): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "UTF-8";
  return env.TERM !== "dumb" && /utf-?8/i.test(locale);
}
