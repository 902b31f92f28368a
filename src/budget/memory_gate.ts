import type { NanoUsd } from "../money.ts";
import type { Admission, BudgetGate, CallRequest, Grant } from "./budget_gate.ts";
import { decideCall } from "./decide_call.ts";

interface RunBudget {
  settledNanoUsd: NanoUsd;
  reserved: Map<string, NanoUsd>;
  /** What calls whose count never arrived may have cost beyond what is booked; kept until the run ends. */
  lostNanoUsd: NanoUsd;
  /** Requests that look at this; it is forgotten with the last one. */
  users: number;
  waiting: Set<() => void>;
}

/** Reservations in memory: right where one process owns the database, and gone with that process. */
export function createMemoryGate(options: {
  readSettled: (runId: string) => Promise<NanoUsd>;
  newReservationId: () => string;
}): BudgetGate {
  const runs = new Map<string, Promise<RunBudget>>();
  const open = new Map<string, RunBudget>();

  function enter(runId: string): Promise<RunBudget> {
    let run = runs.get(runId);
    if (!run) {
      const state: RunBudget = {
        settledNanoUsd: 0n,
        reserved: new Map(),
        lostNanoUsd: 0n,
        users: 0,
        waiting: new Set(),
      };
      open.set(runId, state); // before the read, so that nothing that settles meanwhile is missed
      run = options.readSettled(runId).then((settled) => {
        state.settledNanoUsd = most(state.settledNanoUsd, settled);
        return state;
      });
      run.catch(() => forget(runId));
      runs.set(runId, run);
    }
    return run;
  }

  function forget(runId: string): void {
    runs.delete(runId);
    open.delete(runId);
  }

  function forgetIfIdle(runId: string, run: RunBudget): void {
    if (run.users === 0 && run.reserved.size === 0 && run.lostNanoUsd === 0n) forget(runId);
  }

  function leave(runId: string, run: RunBudget): void {
    run.users--;
    forgetIfIdle(runId, run);
  }

  function wake(run: RunBudget): void {
    for (const resume of [...run.waiting]) resume();
  }

  function free(grant: Grant): void {
    const run = open.get(grant.runId);
    if (!run?.reserved.delete(grant.reservationId)) return;
    wake(run);
    forgetIfIdle(grant.runId, run);
  }

  return {
    async admit(request: CallRequest): Promise<Admission> {
      const { runId, budget, call, signal } = request;
      for (;;) {
        signal?.throwIfAborted();
        const run = await enter(runId);
        if (open.get(runId) !== run) continue; // forgotten while we waited for it
        run.users++;
        try {
          for (;;) {
            signal?.throwIfAborted();
            const reservedNanoUsd = sum(run.reserved.values());
            const settledNanoUsd = run.settledNanoUsd;
            const decision = decideCall({
              budget,
              settledNanoUsd,
              reservedNanoUsd,
              lostNanoUsd: run.lostNanoUsd,
              call,
            });
            if (decision.go) {
              const reservationId = options.newReservationId();
              run.reserved.set(reservationId, decision.reserveNanoUsd);
              return {
                go: true,
                grant: {
                  reservationId,
                  runId,
                  reservedNanoUsd: decision.reserveNanoUsd,
                  outputLimit: decision.outputLimit,
                },
              };
            }
            if (!decision.wait) return { go: false, reason: decision.reason, settledNanoUsd };
            await untilChanged(run, signal);
          }
        } finally {
          leave(runId, run);
        }
      }
    },
    bookingStatements: () => [],
    booked(grant) {
      const run = open.get(grant.runId);
      if (run) run.lostNanoUsd += grant.lostNanoUsd ?? 0n;
      free(grant);
    },
    release(grant) {
      free(grant);
      return Promise.resolve();
    },
    leave(runId) {
      const run = open.get(runId);
      if (run) {
        run.lostNanoUsd = 0n;
        forgetIfIdle(runId, run);
      }
      return [];
    },
    settle(runId, settledNanoUsd) {
      const run = open.get(runId);
      if (!run) return;
      run.settledNanoUsd = most(run.settledNanoUsd, settledNanoUsd);
      wake(run);
    },
  };
}

/** What a run has settled only grows, so of two totals the larger is the newer. */
function most(a: NanoUsd, b: NanoUsd): NanoUsd {
  return a > b ? a : b;
}

function sum(amounts: Iterable<NanoUsd>): NanoUsd {
  let total = 0n;
  for (const amount of amounts) total += amount;
  return total;
}

function untilChanged(run: RunBudget, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const resume = () => {
      run.waiting.delete(resume);
      signal?.removeEventListener("abort", resume);
      resolve();
    };
    run.waiting.add(resume);
    signal?.addEventListener("abort", resume, { once: true });
  });
}
