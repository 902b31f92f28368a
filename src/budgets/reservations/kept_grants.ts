import { startOf } from "../../contract/windows.ts";
import { type Clock, HOUR_MS } from "../../kernel/clock.ts";
import type { NanoUsd } from "../../kernel/money.ts";
import type { CallRequest, Grant } from "../budget_gate.ts";
import type { CallScopes } from "../call_to_decide.ts";

/** The time for which a reservation is kept for the next call. */
export const AHEAD_MS = 100;

/** The time for which one reservation is kept for call after call: less than the shortest window. */
const LONGEST_KEPT_MS = HOUR_MS / 2;

/** A grant for the next call, and the monotonic time since when it is kept. */
interface KeptGrant extends Grant {
  keptAt: number;
}

/** Returns the key of the calls that may take a reservation: a run's id, or the scopes of calls without one. */
export function callerOf({ runId, agentId, sessionId, keyId }: CallScopes): string {
  return runId ?? `\n${agentId}\n${sessionId ?? ""}\n${keyId ?? ""}`; // no id has a line break
}

/** The reservations that commits have kept for the next calls of this process. */
export class KeptGrants {
  #kept = new Map<string, KeptGrant[]>();
  /** The callers whose reservations have a timer. */
  #timed = new Set<string>();

  constructor(
    private readonly clock: Pick<Clock, "monotonic" | "sleep">,
    /** Frees reservations that were not taken. */
    private readonly free: (grants: readonly Grant[]) => Promise<unknown>,
  ) {}

  /** Takes the reservation for a call; undefined if it has none that was made under the same budgets and in its windows. */
  async take(request: CallRequest, at: number, changes: number): Promise<Grant | undefined> {
    const caller = callerOf(request);
    const kept = this.#kept.get(caller);
    if (!kept) return undefined;
    const { estimateNanoUsd, isUnpriced } = request.bound(at, false);
    const isValid = (one: Grant) =>
      one.amounts.estimateNanoUsd >= estimateNanoUsd && one.changes === changes &&
      isInWindowsOf(one.reservedAt, at);
    const mayTake = request.hasNext && !isUnpriced;
    if (request.runId !== null) {
      const early = mayTake ? kept.pop() : undefined;
      if (early && isValid(early)) return this.#granted(caller, early, estimateNanoUsd);
      // The loop is in a tool that makes this call, or in another day, or under other budgets; or its prompt is much longer.
      const rest = this.takeAll(caller);
      await this.free(early ? [early, ...rest] : rest);
      return undefined;
    }
    // Calls of no run come side by side, and are not alike: each takes one that reserves enough for it.
    const index = mayTake ? kept.findLastIndex(isValid) : -1;
    return index < 0 ? undefined : this.#granted(caller, kept.splice(index, 1)[0]!, estimateNanoUsd);
  }

  #granted(caller: string, grant: Grant, ownNanoUsd: NanoUsd): Grant {
    if (this.#kept.get(caller)!.length === 0) this.#kept.delete(caller);
    return { ...grant, ownNanoUsd };
  }

  /** Takes all that a caller has kept. */
  takeAll(caller: string): Grant[] {
    const grants = this.#kept.get(caller) ?? [];
    this.#kept.delete(caller);
    return grants;
  }

  /** Keeps a reservation; others may wait for it, a run's own tool too, so a slow caller gives it back. */
  add(grant: Grant): void {
    const caller = callerOf(grant.scopes);
    const kept = { ...grant, keptAt: this.clock.monotonic() };
    const others = this.#kept.get(caller);
    if (others) others.push(kept);
    else this.#kept.set(caller, [kept]);
    if (!this.#timed.has(caller)) void this.#freeLater(caller);
  }

  /** Frees what a caller has kept for too long. One timer for each caller. */
  async #freeLater(caller: string): Promise<void> {
    this.#timed.add(caller);
    for (let delayMs = AHEAD_MS; this.#kept.has(caller);) {
      await this.clock.sleep(delayMs);
      const kept = this.#kept.get(caller) ?? [];
      const until = this.clock.monotonic() - AHEAD_MS;
      const old = kept.filter(({ keptAt }) => keptAt <= until);
      const young = kept.filter(({ keptAt }) => keptAt > until);
      if (young.length > 0) this.#kept.set(caller, young);
      else this.#kept.delete(caller);
      if (old.length > 0) await this.free(old).catch(() => {}); // else their lease ends them
      // Others may have been kept or taken meanwhile; the first is the oldest.
      const oldest = this.#kept.get(caller)?.[0];
      delayMs = oldest ? Math.max(1, oldest.keptAt + AHEAD_MS - this.clock.monotonic()) : 0;
    }
    this.#timed.delete(caller);
  }

  /** Frees all of them, when the process ends. */
  async close(): Promise<void> {
    const all = [...this.#kept.keys()].flatMap((caller) => this.takeAll(caller));
    if (all.length > 0) await this.free(all).catch(() => {}); // else their lease ends them
  }
}

/**
 * Returns whether a time is in the windows of a reservation; false also for a clock that was set back, by whose windows more
 * may be spent.
 */
export function isInWindowsOf(reservedAt: number, at: number): boolean {
  return at >= reservedAt && at - reservedAt < LONGEST_KEPT_MS &&
    startOf("day", reservedAt) === startOf("day", at);
}
