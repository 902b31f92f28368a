import { messageOf } from "./errors.ts";

/**
 * What an entry needs of the process that it runs in: Deno's own calls where Deno runs, since what stands for Node's there
 * takes as long to load as all else of a short command; Node's elsewhere.
 */
export interface ThisProcess {
  /** The words of the command line after the program. */
  args: readonly string[];
  /** Ends the process at once. */
  exit(code: number): never;
  /** Calls a listener at each of these signals, which then end the process no longer. */
  onSignals(signals: readonly TerminationSignal[], listener: () => void): void;
  /**
   * Calls a listener with each promise that was rejected without a handler, and each error that nothing caught; neither
   * ends the process any longer.
   */
  onFaults(listener: (kind: FaultKind, error: unknown) => void): void;
}

/** The signals by which people and supervisors end a process. */
export type TerminationSignal = "SIGINT" | "SIGTERM";

/** What went wrong: a promise was rejected, or an error was thrown. */
export type FaultKind = "rejection" | "error";

export function denoProcess(deno: typeof Deno): ThisProcess {
  return {
    args: deno.args,
    exit: (code) => deno.exit(code),
    onSignals(signals, listener) {
      for (const signal of signals) {
        // Windows has no SIGTERM.
        if (signal === "SIGINT" || deno.build.os !== "windows") deno.addSignalListener(signal, listener);
      }
    },
    onFaults(listener) {
      globalThis.addEventListener("unhandledrejection", (event) => {
        event.preventDefault();
        listener("rejection", event.reason);
      });
      globalThis.addEventListener("error", (event) => {
        event.preventDefault();
        listener("error", event.error ?? event.message);
      });
    },
  };
}

export function nodeProcess(process: NodeJS.Process): ThisProcess {
  return {
    args: process.argv.slice(2),
    exit: (code) => process.exit(code),
    onSignals(signals, listener) {
      for (const signal of signals) process.on(signal, listener);
    },
    onFaults(listener) {
      process.on("unhandledRejection", (reason) => listener("rejection", reason));
      process.on("uncaughtException", (error) => listener("error", error));
    },
  };
}

/** Returns this process. */
export function thisProcess(): ThisProcess {
  return globalThis.Deno === undefined ? nodeProcess(globalThis.process) : denoProcess(globalThis.Deno);
}

/**
 * Lets the process outlive a promise that nothing handles and an error that nothing catches, and reports each: they are
 * those of tools and channels that users bring along, and one of them must not end all runs and alerts.
 */
export function surviveFaults(report: (message: string) => void): void {
  thisProcess().onFaults((kind, error) => {
    const what = kind === "rejection"
      ? "A promise was rejected that nobody handles"
      : "An error was thrown that nobody catches";
    try {
      report(`${what}: ${messageOf(error)}`);
    } catch {
      // The reader of standard error has gone.
    }
  });
}
