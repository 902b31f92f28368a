import type { Clock } from "../../../kernel/clock.ts";
import { systemCodeOf, systemReason } from "../../../kernel/system_errors.ts";
import { currentPlatform } from "../../../config/mod.ts";
import type { Terminal } from "../../terminal/terminal.ts";

/** The exit codes of a shell for a command that can't be run. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;
const OF_SIGNAL = 128;

/** The time that a process has after each signal. */
const GRACE_MS = 5_000;
const POLL_MS = 50;

/** The outcome of a command. */
export type Ended = { code: number; reason?: undefined } | { code: number; reason: string };

/** A command in progress. */
export interface RunningCommand {
  ended: Promise<Ended>;
  /** Ends it by signals, each stronger than the one before. Resolves once it has ended. */
  stop(): Promise<void>;
}

type Signal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** The signals that this process gets from now on. */
export interface CaughtSignals {
  /** Those that nothing has taken yet. */
  readonly waiting: readonly Signal[];
  /** Passes them on, also those that wait. */
  passTo(take: (signal: Signal) => unknown): void;
}

/** Catches the signals that would end this process: a key and a server are to be ended first. */
export function catchSignals({ onSignals }: Pick<Terminal, "onSignals">): CaughtSignals {
  const waiting: Signal[] = [];
  let take: (signal: Signal) => unknown = (signal) => waiting.push(signal);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) onSignals?.([signal], () => take(signal));
  return {
    waiting,
    passTo(next) {
      take = next;
      for (const signal of waiting.splice(0)) next(signal);
    },
  };
}

/** Returns the exit code of a command that a signal has ended. */
export async function exitCodeOfSignal(signal: NodeJS.Signals): Promise<number> {
  return OF_SIGNAL + ((await import("node:os")).constants.signals[signal] ?? 0);
}

/**
 * Runs a command with the standard streams of this process. Without a terminal it leads a process group of its own, which gets the
 * signals that this process gets, and whose rest is ended with it; on a terminal it stays in the group that the terminal's keys
 * go to.
 */
export async function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  { env, clock, isOnTerminal, signals }: {
    env: Record<string, string>;
    clock: Pick<Clock, "sleep">;
    isOnTerminal: boolean;
    signals: CaughtSignals;
  },
): Promise<RunningCommand> {
  const { spawn } = await import("node:child_process");
  const hasGroup = !isOnTerminal && currentPlatform() !== "windows";
  const child = spawn(program, args, { env, stdio: "inherit", detached: hasGroup });
  const send = (signal: NodeJS.Signals | 0) => sendSignal(child.pid, signal, hasGroup);
  const exited = new AbortController();
  const waitForExit = async () => {
    await clock.sleep(GRACE_MS, exited.signal);
    return exited.signal.aborted;
  };

  /** Ends what the command has left in its group: it would go on without a server. */
  async function endRest(): Promise<void> {
    if (!hasGroup || !send("SIGTERM")) return;
    for (let waited = 0; waited < GRACE_MS && send(0); waited += POLL_MS) await clock.sleep(POLL_MS);
    send("SIGKILL");
  }

  const ended = new Promise<Ended>((resolve) => {
    child.once("error", (error) => resolve(failed(program, error)));
    child.once("exit", (code, signal) => {
      exited.abort();
      void endRest().then(async () => resolve({ code: code ?? await exitCodeOfSignal(signal!) }));
    });
  });
  signals.passTo(async (signal) => {
    // The terminal sends its own to the whole group.
    if (signal === "SIGINT") return hasGroup && send(signal);
    send(signal);
    if (!await waitForExit()) send("SIGKILL");
  });
  return {
    ended,
    async stop() {
      for (const signal of ["SIGINT", "SIGTERM", "SIGKILL"] as const) {
        send(signal);
        if (await waitForExit()) return;
      }
    },
  };
}

/** Sends a signal, or asks by 0 whether there is a process; returns false where there is none. */
function sendSignal(pid: number | undefined, signal: NodeJS.Signals | 0, hasGroup: boolean): boolean {
  try {
    return pid !== undefined && globalThis.process.kill(hasGroup ? -pid : pid, signal);
  } catch {
    return false;
  }
}

function failed(program: string, error: Error): Ended {
  const code = systemCodeOf(error);
  if (code === "ENOENT") return { code: NOT_FOUND, reason: `Cannot run ${program}: no such command` };
  return { code: NOT_EXECUTABLE, reason: `Cannot run ${program}: ${systemReason(error)}` };
}
