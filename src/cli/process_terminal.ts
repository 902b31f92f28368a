import { type Output, type Terminal, wantsColour, wantsUnicode } from "./terminal.ts";

/** The terminal of this process. `quit` ends the process at once: at the second Ctrl-C. */
export function processTerminal(
  env: Readonly<Record<string, string | undefined>>,
  quit: () => never,
): Terminal {
  let interrupted: AbortSignal | undefined;
  return {
    stdout: outputTo(Deno.stdout, env),
    stderr: outputTo(Deno.stderr, env),
    hasUnicode: wantsUnicode(env),
    readStdin: () => new Response(Deno.stdin.readable).text(),
    get interrupted() {
      return interrupted ??= listenForSignals(quit);
    },
  };
}

function outputTo(stream: typeof Deno.stdout, env: Readonly<Record<string, string | undefined>>): Output {
  const isTerminal = stream.isTerminal();
  return {
    write(text) {
      let bytes = new TextEncoder().encode(text);
      while (bytes.length > 0) bytes = bytes.subarray(stream.writeSync(bytes));
    },
    isTerminal,
    hasColour: wantsColour(env, isTerminal),
    // Asked anew each time: a window changes its size.
    get columns() {
      return isTerminal ? consoleColumns() : undefined;
    },
  };
}

function consoleColumns(): number {
  try {
    return Deno.consoleSize().columns || 80;
  } catch {
    return 80;
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
