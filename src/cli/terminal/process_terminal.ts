import { currentPlatform, type Platform } from "../../config/mod.ts";
import { systemClock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { isDiskFull, systemCodeOf } from "../../kernel/system_errors.ts";
import { thisProcess } from "../../kernel/this_process.ts";
import type { OnResize } from "./read_keys.ts";
import { BrokenPipeError, type Output, type Terminal, wantsColour, wantsUnicode } from "./terminal.ts";

/** Returns the terminal of this process. `quit` exits at the second Ctrl-C. */
export function processTerminal(
  env: Readonly<Record<string, string | undefined>>,
  quit: () => never,
): Terminal {
  let interrupted: AbortController | undefined;
  const lastWork: (() => Promise<unknown>)[] = [];
  const listen = () => interrupted ??= listenForSignals(quit, lastWork);
  const interruptedSignal = () => listen().signal;
  const { stdin, stdout, stderr, onResize } = standardStreams();
  const isInteractive = stdin.isTerminal() && env.TERM !== "dumb";
  return {
    stdout: outputTo(stdout, env),
    stderr: outputTo(stderr, env),
    hasUnicode: wantsUnicode(env),
    stdin: () => stdin.chunks(),
    readStdin: () => readText(stdin.chunks()),
    get interrupted() {
      return interruptedSignal();
    },
    command: () => thisProcess().command(),
    mayStartPrograms: async () => {
      const { permissions } = globalThis.Deno ?? {};
      return permissions === undefined || (await permissions.request({ name: "run" })).state === "granted";
    },
    onSignals: (signals, listener) => thisProcess().onSignals(signals, listener),
    startAgain: (args) => startAlone([...thisProcess().command(), ...args]),
    beforeForcedExit: (work) => void lastWork.push(work),
    interruptAtHangup() {
      const controller = listen();
      // A terminal that closes sends it twice: itself, and by the shell.
      thisProcess().onSignals(["SIGHUP"], () => controller.abort());
    },
    ...(stdout.isTerminal() && { openPage }),
    ...(isInteractive && { keys: () => typedKeys(stdin, { signal: interruptedSignal(), onResize }) }),
  };
}

/** The programs that open an address, by platform; the address is the last argument, which no shell reads. */
const OPENERS: Record<Platform, readonly [string, ...string[]]> = {
  darwin: ["open"],
  windows: ["rundll32", "url.dll,FileProtocolHandler"],
  linux: ["xdg-open"],
};

function openPage(url: string): Promise<boolean> {
  const [program, ...args] = OPENERS[currentPlatform()];
  return startAlone([program, ...args, url]);
}

/** Starts a program that lives on, without input and output. Returns false where that is not possible or not permitted. */
async function startAlone([program, ...args]: readonly string[]): Promise<boolean> {
  // Deno would ask on the terminal for a permission that the command doesn't have.
  const isPermitted = globalThis.Deno?.permissions.querySync({ name: "run" }).state ?? "granted";
  if (program === undefined || isPermitted !== "granted") return false;
  const { spawn } = await import("node:child_process");
  return await new Promise((resolve) => {
    const child = spawn(program, args, { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("spawn", () => (child.unref(), resolve(true)));
  });
}

function outputTo(stream: OutputStream, env: Readonly<Record<string, string | undefined>>): Output {
  const isTerminal = stream.isTerminal();
  return {
    write(text) {
      let bytes = new TextEncoder().encode(text);
      try {
        while (bytes.length > 0) bytes = bytes.subarray(stream.writeSync(bytes));
      } catch (error) {
        if (systemCodeOf(error) === "EPIPE") {
          throw new BrokenPipeError("Cannot write: broken pipe", { cause: error });
        }
        if (!isDiskFull(error)) throw error;
        throw new PurserError("unavailable", "Cannot write to standard output: the disk is full", {
          cause: error,
        });
      }
    },
    isTerminal,
    hasColour: wantsColour(env, isTerminal),
    // Read each time: a window can be resized.
    get columns() {
      return isTerminal ? sizeOf(stream).columns || 80 : undefined;
    },
    get rows() {
      return isTerminal ? sizeOf(stream).rows || 24 : undefined;
    },
  };
}

function sizeOf(stream: OutputStream): TerminalSize {
  try {
    return stream.size();
  } catch {
    return { columns: 80, rows: 24 };
  }
}

async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of chunks) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

/** Reads keys in raw mode until the generator ends. */
async function* typedKeys(
  stdin: InputStream,
  { signal, onResize }: { signal: AbortSignal; onResize: OnResize },
): AsyncGenerator<string> {
  // At once: a new size while the module loads must not get lost.
  let isResized = false;
  let resize: () => void = () => void (isResized = true);
  const stopResizes = onResize(() => resize());
  const { readKeys } = await import("./read_keys.ts");
  const restore = () => stdin.setRaw(false);
  // At once: the process may exit before the generator resumes.
  signal.addEventListener("abort", restore, { once: true });
  try {
    stdin.setRaw(true);
    yield* readKeys(() => stdin.read(), {
      clock: systemClock,
      signal,
      onResize(listener) {
        resize = listener;
        if (isResized) listener();
        return stopResizes;
      },
    });
  } finally {
    stopResizes();
    signal.removeEventListener("abort", restore);
    restore();
  }
}

/** The time that the second signal leaves for the last work of the process. */
const LAST_WORK_MS = 500;

function listenForSignals(
  quit: () => never,
  lastWork: readonly (() => Promise<unknown>)[],
): AbortController {
  const controller = new AbortController();
  let isQuitting = false;
  const onSignal = () => {
    if (!controller.signal.aborted) return controller.abort();
    if (isQuitting || lastWork.length === 0) quit();
    isQuitting = true;
    const done = Promise.allSettled(lastWork.map((work) => work()));
    void Promise.race([done, systemClock.sleep(LAST_WORK_MS)]).then(quit);
  };
  thisProcess().onSignals(["SIGINT", "SIGTERM"], onSignal);
  return controller;
}

/** A size in characters. */
interface TerminalSize {
  columns: number;
  rows: number;
}

/** Standard output or standard error. */
interface OutputStream {
  isTerminal(): boolean;
  /** Writes some of the bytes, at least one, and returns how many; throws with the system's code. */
  writeSync(bytes: Uint8Array): number;
  /** Returns the size of the terminal; throws if the output isn't a terminal. */
  size(): TerminalSize;
}

/** Standard input. */
interface InputStream {
  isTerminal(): boolean;
  /** Returns all input; it can be read once. */
  chunks(): AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** Returns the next bytes; null at the end. */
  read(): Promise<Uint8Array | null>;
  /** Sets raw mode: keys are read as they are typed, without echo, instead of whole lines. */
  setRaw(isRaw: boolean): void;
}

/** The standard streams of this process. */
interface StandardStreams {
  stdin: InputStream;
  stdout: OutputStream;
  stderr: OutputStream;
  onResize: OnResize;
}

function denoStreams(deno: typeof Deno): StandardStreams {
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
    onResize(listener) {
      if (deno.build.os === "windows") return () => {};
      deno.addSignalListener("SIGWINCH", listener);
      return () => deno.removeSignalListener("SIGWINCH", listener);
    },
  };
}

/** The delay before a write to a full non-blocking pipe is retried. */
const FULL_PIPE_MS = 2;

function nodeStreams(process: NodeJS.Process): StandardStreams {
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
    onResize(listener) {
      process.stdout.on("resize", listener); // after it has read its new size
      return () => void process.stdout.off("resize", listener);
    },
  };
}

/** Returns the standard streams of this process. */
function standardStreams(): StandardStreams {
  const streams = globalThis.Deno === undefined
    ? nodeStreams(globalThis.process)
    : denoStreams(globalThis.Deno);
  const { purserInput: input } = globalThis as HandedOver;
  return input === undefined
    ? streams
    : { ...streams, stdin: { ...streams.stdin, chunks: () => each(input) } };
}

/** The state that a program of one command hands over to the whole command line in the same process. */
export interface HandedOver {
  /** The standard input, as far as it has been read. */
  purserInput?: readonly Uint8Array<ArrayBuffer>[];
}

async function* each<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}
