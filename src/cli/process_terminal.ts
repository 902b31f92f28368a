import { isDiskFull, PurserError } from "../errors.ts";
import { systemClock } from "../clock.ts";
import { type Output, type Terminal, wantsColour, wantsUnicode } from "./terminal.ts";

/** The terminal of this process. `quit` ends the process at once: at the second Ctrl-C. */
export function processTerminal(
  env: Readonly<Record<string, string | undefined>>,
  quit: () => never,
): Terminal {
  let interrupted: AbortSignal | undefined;
  const interruptedSignal = () => interrupted ??= listenForSignals(quit);
  const canBeSteered = Deno.stdin.isTerminal() && env.TERM !== "dumb";
  return {
    stdout: outputTo(Deno.stdout, env),
    stderr: outputTo(Deno.stderr, env),
    hasUnicode: wantsUnicode(env),
    stdin: () => Deno.stdin.readable,
    readStdin: () => new Response(Deno.stdin.readable).text(),
    get interrupted() {
      return interruptedSignal();
    },
    ...(canBeSteered && { keys: () => typedKeys(interruptedSignal()) }),
  };
}

function outputTo(stream: typeof Deno.stdout, env: Readonly<Record<string, string | undefined>>): Output {
  const isTerminal = stream.isTerminal();
  return {
    write(text) {
      let bytes = new TextEncoder().encode(text);
      try {
        while (bytes.length > 0) bytes = bytes.subarray(stream.writeSync(bytes));
      } catch (error) {
        if (!isDiskFull(error)) throw error;
        throw new PurserError("unavailable", "Cannot write to standard output: the disk is full", {
          cause: error,
        });
      }
    },
    isTerminal,
    hasColour: wantsColour(env, isTerminal),
    // Asked anew each time: a window changes its size.
    get columns() {
      return isTerminal ? consoleSize().columns || 80 : undefined;
    },
    get rows() {
      return isTerminal ? consoleSize().rows || 24 : undefined;
    },
  };
}

function consoleSize(): { columns: number; rows: number } {
  try {
    return Deno.consoleSize();
  } catch {
    return { columns: 80, rows: 24 };
  }
}

/** Reads keys in raw mode, which ends with the last of them. */
async function* typedKeys(signal: AbortSignal): AsyncGenerator<string> {
  const { readKeys } = await import("./replay/mod.ts");
  const buffer = new Uint8Array(1_024);
  const read = async () => {
    const length = await Deno.stdin.read(buffer);
    return length === null ? null : buffer.slice(0, length);
  };
  const restore = () => Deno.stdin.setRaw(false);
  // At once: the process may end before the generator goes on.
  signal.addEventListener("abort", restore, { once: true });
  try {
    Deno.stdin.setRaw(true);
    yield* readKeys(read, { clock: systemClock, signal });
  } finally {
    signal.removeEventListener("abort", restore);
    restore();
  }
}

function listenForSignals(quit: () => never): AbortSignal {
  const controller = new AbortController();
  const onSignal = () => controller.signal.aborted ? quit() : controller.abort();
  Deno.addSignalListener("SIGINT", onSignal);
  // Windows knows no SIGTERM.
  if (Deno.build.os !== "windows") Deno.addSignalListener("SIGTERM", onSignal);
  return controller.signal;
}
