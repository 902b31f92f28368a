import { bookCall, publishEvents, type RunBooking } from "../booking/mod.ts";
import type { Grant } from "../budgets/mod.ts";
import type { ModelCall } from "../ledger/mod.ts";
import { PurserError } from "../kernel/errors.ts";
import { toUsd } from "../kernel/money.ts";
import {
  endRun,
  type EventPlace,
  type NewEvent,
  type NewMessage,
  newMessage,
  type Progress,
  type RunEnd,
} from "../sessions/mod.ts";
import { ConstraintError } from "../store/mod.ts";
import type { Answer } from "./answer.ts";
import type { RunnerContext } from "./context.ts";

/**
 * What happens in one run, gathered until the next booking takes it along: tool events and messages cost
 * no commit of their own.
 */
export class RunLog {
  #events: NewEvent[] = [];
  #messages: NewMessage[] = [];
  #booked = 0;
  /** A booking whose outcome is not known, because the database went away. */
  #doubtful: RunBooking | undefined;
  /** What the latest call cost. */
  lastCostNanoUsd: bigint | null = null;

  constructor(
    private readonly ctx: RunnerContext,
    readonly place: EventPlace & { runId: string },
    /** Called after each commit, when the run has lost its session or somebody wants it to end. */
    private readonly onState: (state: { holdsSession: boolean; isCancelRequested: boolean }) => void,
  ) {}

  /** How many calls have been booked, which is the number of steps. */
  get steps(): number {
    return this.#booked;
  }

  add(type: NewEvent["type"], payload: Record<string, unknown>, at = this.ctx.clock.now()): void {
    this.#events.push({ type, at, payload });
  }

  /** Keeps the messages of a complete step: an answer together with the results of its tools. */
  addMessages(messages: readonly { role: string; content: unknown }[]): void {
    const createdAt = this.ctx.clock.now();
    for (const message of messages) this.#messages.push(newMessage(this.ctx.ids, createdAt, message));
  }

  /** Books a call together with all that was gathered. */
  async book(call: ModelCall, answer: Answer, grant: Grant | undefined): Promise<void> {
    this.add("model.called", calledPayload(call, answer), call.at);
    const booking = { place: this.place, call, progress: this.#take(), grant };
    try {
      const state = await bookCall(this.ctx, booking);
      this.#booked++;
      this.lastCostNanoUsd = call.costNanoUsd;
      this.onState(state);
    } catch (error) {
      if (error instanceof ConstraintError) this.#putBack(booking.progress); // refused: nothing of it is there
      else this.#doubtful = booking;
      throw error;
    }
  }

  /** Ends the run with what is left. Gives the end as it was written: one that lost its session is cancelled. */
  async end(end: RunEnd): Promise<RunEnd> {
    await this.#settleDoubt();
    const progress = this.#take();
    const steps = { ...end, steps: this.#booked };
    const gate = this.ctx.gate.endRun(this.place.runId);
    const { end: written, lastSeq } = await endRun(this.ctx, this.place, steps, progress, gate);
    publishEvents(
      this.ctx,
      this.place,
      [...progress.events, { ...written.event, at: written.endedAt }],
      lastSeq,
    );
    return written;
  }

  /**
   * Books once more what may or may not have been booked. It is one unit with the key of its call, so it is in
   * the ledger once, whatever became of the first try.
   */
  async #settleDoubt(): Promise<void> {
    if (!this.#doubtful) return;
    const { call, progress } = this.#doubtful;
    try {
      await bookCall(this.ctx, { ...this.#doubtful, grant: undefined });
      this.#booked++;
    } catch (error) {
      // Still not known: the run is left to recovery, which adds nothing that may be there already.
      if (error instanceof PurserError && error.code === "unavailable") throw error;
      if (error instanceof ConstraintError) this.#booked++;
      else {
        // The run has to end all the same, or its session stays busy; the log has the call.
        this.ctx.log.error("A call could not be booked at the end of its run either", {
          call_id: call.callId,
        });
        this.#putBack(progress);
      }
    }
    this.#doubtful = undefined;
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
