import { messageOf } from "./errors.ts";
import type { Release } from "./version.ts";

/**
 * The process of an entry: Deno's calls in Deno, since its `node:process` takes as long to load as all else of a short
 * command; Node's elsewhere.
 */
export interface ThisProcess {
  /** The arguments of the command line. */
  args: readonly string[];
  /** Returns the words that start this program, without its arguments. */
  command(): readonly string[];
  /** Ends the process at once. */
  exit(code: number): never;
  /** Calls a listener at each of these signals, which then no longer end the process. */
  onSignals(signals: readonly TerminationSignal[], listener: () => void): void;
  /** Calls a listener with each unhandled rejection and uncaught error; neither ends the process any longer. */
  onFaults(listener: (kind: FaultKind, error: unknown) => void): void;
}

/** The signals that users and supervisors end a process with. */
export type TerminationSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** An unhandled rejection, or an uncaught error. */
export type FaultKind = "rejection" | "error";

export function denoProcess(deno: typeof Deno): ThisProcess {
  return {
    args: deno.args,
    command() {
      if (deno.build.standalone) return [deno.execPath()];
      const { protocol, pathname } = new URL(deno.mainModule);
      // Of a Windows path the URL has a slash before the drive.
      const path = decodeURIComponent(pathname).replace(/^\/(?=[A-Za-z]:)/, "");
      const main = protocol === "file:" ? path : deno.mainModule;
      return [deno.execPath(), "run", "--quiet", "-RWENS", main];
    },
    exit: (code) => deno.exit(code),
    onSignals(signals, listener) {
      for (const signal of signals) {
        // Windows has no SIGTERM and SIGHUP.
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
    command: () => [process.execPath, ...process.argv.slice(1, 2)],
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
 * Keeps the process alive after unhandled rejections and uncaught errors, and reports each: one in a tool or a channel of
 * the user must not end all runs and alerts.
 */
export function surviveFaults(report: (message: string) => void): void {
  thisProcess().onFaults((kind, error) => {
    const what = kind === "rejection" ? "Unhandled promise rejection" : "Uncaught error";
    try {
      report(`${what}: ${messageOf(error)}`);
    } catch {
      // Standard error is closed.
    }
  });
}

/** Returns the release that this program is, which its build sets (`build/bundle_cli.ts`). */
export function thisRelease(): Release | undefined {
  return (globalThis as { purserRelease?: Release }).purserRelease;
}

/** Returns whether this process may ask a host, and change a folder. Deno would ask on the terminal for what isn't permitted. */
export function mayAskAndKeep(host: string, folder: string): boolean {
  const permissions = globalThis.Deno?.permissions;
  const needed = [{ name: "net", host }, { name: "read", path: folder }, {
    name: "write",
    path: folder,
  }] as const;
  return needed.every((each) => (permissions?.querySync(each).state ?? "granted") === "granted");
}
