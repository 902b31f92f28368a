import type { Terminal } from "./terminal.ts";

/** A terminal that remembers what was written to it, for tests. */
export interface MemoryTerminal extends Terminal {
  readonly out: string;
  readonly err: string;
  interrupt(): void;
}

/** `columns` makes it a terminal; without, it is a pipe. */
export function memoryTerminal(
  { stdin = "", columns, hasColour = false, hasUnicode = true, onWrite = () => {} }: {
    stdin?: string;
    columns?: number;
    hasColour?: boolean;
    hasUnicode?: boolean;
    onWrite?: (text: string) => void;
  } = {},
): MemoryTerminal {
  const controller = new AbortController();
  let out = "";
  let err = "";
  const shape = { isTerminal: columns !== undefined, hasColour, columns };
  return {
    stdout: {
      ...shape,
      write(text) {
        onWrite(text);
        out += text;
      },
    },
    stderr: { ...shape, write: (text) => void (err += text) },
    hasUnicode,
    readStdin: () => Promise.resolve(stdin),
    interrupted: controller.signal,
    interrupt: () => controller.abort(),
    get out() {
      return out;
    },
    get err() {
      return err;
    },
  };
}
