import { Buffer } from "node:buffer";
import { bookCall, giveUpClaim, keepCall, type KeptCall, type RunBooking } from "../calls/mod.ts";
import type { Grant } from "../budgets/reservations/mod.ts";
import type { ModelCall } from "../ledger/mod.ts";
import { PurserError } from "../kernel/errors.ts";
import { toUsd } from "../kernel/money.ts";
import {
  commitProgress,
  endRun,
  type NewEvent,
  type NewMessage,
  newMessage,
  type Progress,
  type RunEnd,
  type RunRef,
  type RunState,
} from "../sessions/mod.ts";
import { ConstraintError } from "../store/mod.ts";
import type { Answer } from "./answer.ts";
import type { RunnerContext } from "./context.ts";

/**
 * Records one run: buffers its events and messages until the next booking commits them, so that they cost no commit of
 * their own.
 */
export class RunRecorder {
  #events: NewEvent[] = [];
  #messages: NewMessage[] = [];
  #booked = 0;
  /** A commit by `flush()` in progress. */
  #flushing: Promise<void> | undefined;
  /** A booking with an unknown outcome, because the database became unavailable, and its call in the spool, if there is one. */
  #uncertain: { booking: RunBooking; kept: KeptCall | undefined } | undefined;
  /** The cost of the latest call. */
  lastCostNanoUsd: bigint | null = null;

  constructor(
    private readonly ctx: RunnerContext,
    readonly run: RunRef,
    /** Called after each commit with the state of the run. */
    private readonly onState: (state: RunState) => void,
  ) {}

  /** The number of booked calls, which is the number of steps. */
  get steps(): number {
    return this.#booked;
  }

  add(type: NewEvent["type"], payload: Record<string, unknown>, at = this.ctx.clock.now()): void {
    this.addEvent({ type, payload }, at);
  }

  addEvent(event: Omit<NewEvent, "at">, at = this.ctx.clock.now()): void {
    this.#events.push({ ...event, at });
  }

  /** Adds the messages of a complete step: an answer and the results of its tools. Returns the bytes of the answer as JSON. */
  addMessages(messages: readonly { role: string; content: unknown }[]): number {
    const createdAt = this.ctx.clock.now();
    let bytes = 0;
    for (const message of messages) {
      const added = newMessage(this.ctx.ids, createdAt, message);
      this.#messages.push(added);
      if (message.role === "assistant") bytes += Buffer.byteLength(added.text);
    }
    return bytes;
  }

  /**
   * Commits the buffered events and messages now, before what follows them is streamed: a listener gets an event after its
   * commit, which would otherwise be that of the next call.
   */
  async flush(): Promise<void> {
    if (this.#events.length === 0) return;
    this.#flushing = commitProgress(this.ctx, this.run, this.#take());
    await this.#flushing;
  }

  /** Books a call together with the buffered events and messages. */
  async book(call: ModelCall, answer: Answer, grant: Grant | undefined): Promise<void> {
    await this.#flushing?.catch(() => {}); // events are published in the order of the log
    this.add("model.called", calledPayload(call, answer), call.at);
    const booking = { run: this.run, call, progress: this.#take(), grant };
    try {
      const state = await bookCall(this.ctx, booking);
      this.#booked++;
      this.lastCostNanoUsd = call.costNanoUsd;
      this.onState(state);
    } catch (error) {
      const isRefused = error instanceof ConstraintError; // nothing was committed
      if (isRefused) this.#putBack(booking.progress);
      // Without its messages the run can't continue; but its call is booked in any case.
      const keeping = keepCall(this.ctx, { call, grant }, error, { isClaimed: !isRefused });
      const kept = await keeping.catch(() => undefined); // it has logged why
      if (!isRefused) this.#uncertain = { booking, kept };
      throw error;
    }
  }

  /**
   * Ends the run with the rest of the buffer. Returns the end as stored: a run that has lost its session is cancelled.
   *
   * @throws {PurserError} the end could not be written
   */
  async end(end: Omit<RunEnd, "steps">): Promise<RunEnd> {
    try {
      await this.#settleUncertain();
      const freed = this.ctx.gate.endRun(this.run.runId);
      const steps = this.#booked;
      return (await endRun(this.ctx, this.run, { ...end, steps }, this.#take(), freed)).end;
    } catch (error) {
      if (error instanceof PurserError) throw error;
      throw new PurserError("internal", `Cannot write the end of run ${this.run.runId}`, { cause: error });
    }
  }

  /**
   * Books a call again whose first booking may or may not have been committed. The ledger has a call id once, so the call
   * is not counted twice. If that fails, too, the spool has it: its call is booked later, without its messages.
   */
  async #settleUncertain(): Promise<void> {
    if (!this.#uncertain) return;
    const { booking, kept } = this.#uncertain;
    this.#uncertain = undefined;
    try {
      await bookCall(this.ctx, booking);
      this.#booked++;
    } catch (error) {
      const hasAnswered = error instanceof ConstraintError;
      // The ledger has the call already, or the spool books it.
      if (kept) await giveUpClaim(this.ctx, kept, { hasAnswered });
      if (!hasAnswered) {
        // Still unknown: the run is left to recovery.
        if (error instanceof PurserError && error.code === "unavailable") throw error;
        return this.#putBack(booking.progress); // the run must end, or its session stays busy
      }
      this.#booked++;
      if (booking.grant && !kept) this.ctx.gate.booked(booking.grant);
      return;
    }
    await kept?.done().catch(() => {}); // else it is found in the ledger
  }

  #putBack({ events, messages }: Progress): void {
    this.#events = [...events, ...this.#events];
    this.#messages = [...messages, ...this.#messages];
  }

  #take(): { events: NewEvent[]; messages: NewMessage[] } {
    const taken = { events: this.#events, messages: this.#messages };
    this.#events = [];
    this.#messages = [];
    return taken;
  }
}

function calledPayload(call: ModelCall, answer: Answer): Record<string, unknown> {
  const { usage } = call;
  return {
    step: call.step,
    call_id: call.callId,
    provider: call.provider,
    model: call.model,
    ...answer,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cost_usd: call.costNanoUsd === null ? null : toUsd(call.costNanoUsd),
    duration_ms: call.durationMs === null ? null : Math.round(call.durationMs),
    estimated: call.isEstimated,
  };
}
