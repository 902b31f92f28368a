/**
 * Calls of a run that are under way. The AI SDK ends a cancelled stream without waiting for them, and what they cost
 * has to be booked before the run has ended.
 */
export class CallsInFlight {
  readonly #calls = new Set<Promise<unknown>>();

  /** Hands the call on, and knows of it until it has ended. */
  track<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call);
    const leave = () => void this.#calls.delete(call);
    call.then(leave, leave);
    return call;
  }

  /** Resolves when none is left. How they ended is their callers' to hear. */
  async settle(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
  }
}
