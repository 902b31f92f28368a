/** A size in characters. */
export interface TerminalSize {
  columns: number;
  rows: number;
}

/** Standard output or standard error. */
export interface OutputStream {
  isTerminal(): boolean;
  /** Writes some of the bytes, at least one, and returns how many; throws with the system's code. */
  writeSync(bytes: Uint8Array): number;
  /** Returns the size of the terminal; throws if there is none. */
  size(): TerminalSize;
}

/** Standard input. */
export interface InputStream {
  isTerminal(): boolean;
  /** Returns all input; it can be read once. */
  chunks(): AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** Returns the next bytes; null at the end. */
  read(): Promise<Uint8Array | null>;
  /** Sets raw mode: keys are read as they are typed, without echo, instead of whole lines. */
  setRaw(isRaw: boolean): void;
}

/** The standard streams of this process. */
export interface StandardStreams {
  stdin: InputStream;
  stdout: OutputStream;
  stderr: OutputStream;
}

export function denoStreams(deno: typeof Deno): StandardStreams {
  const output = (stream: typeof Deno.stdout): OutputStream => ({
    isTerminal: () => stream.isTerminal(),
    writeSync: (bytes) => stream.writeSync(bytes),
    size: () => deno.consoleSize(),
  });
  const { stdin } = deno;
  const buffer = new Uint8Array(1_024);
  return {
    stdin: {
      isTerminal: () => stdin.isTerminal(),
      chunks: () => stdin.readable,
      async read() {
        const length = await stdin.read(buffer);
        return length === null ? null : buffer.slice(0, length);
      },
      setRaw: (isRaw) => stdin.setRaw(isRaw),
    },
    stdout: output(deno.stdout),
    stderr: output(deno.stderr),
  };
}

/** The delay before a write to a full non-blocking pipe is retried. */
const FULL_PIPE_MS = 2;

export function nodeStreams(process: NodeJS.Process): StandardStreams {
  const fs = process.getBuiltinModule("node:fs");
  const { isatty } = process.getBuiltinModule("node:tty");
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  // By the file descriptor: `process.stdout` writes some kinds of pipes later, and the process may end before that.
  const output = (fd: 1 | 2): OutputStream => ({
    isTerminal: () => isatty(fd),
    writeSync(bytes) {
      while (true) {
        try {
          return fs.writeSync(fd, bytes);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
          Atomics.wait(sleeper, 0, 0, FULL_PIPE_MS);
        }
      }
    },
    size() {
      const [columns, rows] = (fd === 1 ? process.stdout : process.stderr).getWindowSize();
      return { columns, rows };
    },
  });
  let input: AsyncIterator<Uint8Array> | undefined;
  return {
    stdin: {
      isTerminal: () => isatty(0),
      chunks: () => process.stdin as AsyncIterable<Uint8Array<ArrayBuffer>>,
      async read() {
        input ??= process.stdin[Symbol.asyncIterator]();
        const { done, value } = await input.next();
        return done ? null : value;
      },
      setRaw: (isRaw) => void process.stdin.setRawMode(isRaw),
    },
    stdout: output(1),
    stderr: output(2),
  };
}

/** Returns the standard streams of this process. */
export function standardStreams(): StandardStreams {
  return globalThis.Deno === undefined ? nodeStreams(globalThis.process) : denoStreams(globalThis.Deno);
}
