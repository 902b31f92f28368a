import { systemClock } from "../../kernel/clock.ts";
import { isDiskFull, PurserError, systemCodeOf } from "../../kernel/errors.ts";
import { thisProcess } from "../../kernel/this_process.ts";
import {
  type InputStream,
  type OutputStream,
  standardStreams,
  type TerminalSize,
} from "./standard_streams.ts";
import { BrokenPipeError, type Output, type Terminal, wantsColour, wantsUnicode } from "./terminal.ts";

/** Returns the terminal of this process. `quit` exits at the second Ctrl-C. */
export function processTerminal(
  env: Readonly<Record<string, string | undefined>>,
  quit: () => never,
): Terminal {
  let interrupted: AbortSignal | undefined;
  const interruptedSignal = () => interrupted ??= listenForSignals(quit);
  const { stdin, stdout, stderr } = standardStreams();
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
    ...(isInteractive && { keys: () => typedKeys(stdin, interruptedSignal()) }),
  };
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
async function* typedKeys(stdin: InputStream, signal: AbortSignal): AsyncGenerator<string> {
  const { readKeys } = await import("./read_keys.ts");
  const restore = () => stdin.setRaw(false);
  // At once: the process may exit before the generator resumes.
  signal.addEventListener("abort", restore, { once: true });
  try {
    stdin.setRaw(true);
    yield* readKeys(() => stdin.read(), { clock: systemClock, signal });
  } finally {
    signal.removeEventListener("abort", restore);
    restore();
  }
}

function listenForSignals(quit: () => never): AbortSignal {
  const controller = new AbortController();
  const onSignal = () => controller.signal.aborted ? quit() : controller.abort();
  thisProcess().onSignals(["SIGINT", "SIGTERM"], onSignal);
  return controller.signal;
}
