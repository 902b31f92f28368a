import type { Output, Terminal } from "../../src/cli/terminal/terminal.ts";

/** A terminal that records what is written to it, for tests. */
export interface MemoryTerminal extends Terminal {
  readonly out: string;
  readonly err: string;
  interrupt(): void;
  resize(columns: number, rows: number): void;
}

/** Creates a terminal, or a pipe without `columns`. `keys` are typed as soon as they are read. */
export function memoryTerminal(
  { stdin = "", columns, rows = 24, keys, hasColour = false, hasUnicode = true, onWrite = () => {} }: {
    stdin?: string | Uint8Array<ArrayBuffer>;
    columns?: number;
    rows?: number;
    keys?: Iterable<string> | AsyncIterable<string>;
    hasColour?: boolean;
    hasUnicode?: boolean;
    onWrite?: (text: string) => void;
  } = {},
): MemoryTerminal {
  const controller = new AbortController();
  const isTerminal = columns !== undefined;
  let size = { columns, rows };
  let out = "";
  let err = "";
  const outputTo = (write: (text: string) => void): Output => ({
    write,
    isTerminal,
    hasColour,
    get columns() {
      return size.columns;
    },
    get rows() {
      return isTerminal ? size.rows : undefined;
    },
  });
  return {
    stdout: outputTo((text) => {
      onWrite(text);
      out += text;
    }),
    stderr: outputTo((text) => void (err += text)),
    hasUnicode,
    async *stdin() {
      yield typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin;
    },
    readStdin: () => Promise.resolve(typeof stdin === "string" ? stdin : new TextDecoder().decode(stdin)),
    ...(keys && { keys: () => typed(keys) }),
    interrupted: controller.signal,
    interrupt: () => controller.abort(),
    resize: (columns, rows) => void (size = { columns, rows }),
    get out() {
      return out;
    },
    get err() {
      return err;
    },
  };
}

async function* typed(keys: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  yield* keys;
}
