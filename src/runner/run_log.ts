import { bookCall, publishEvents } from "../booking/mod.ts";
import type { Grant } from "../budget/mod.ts";
import type { ModelCall } from "../ledger/mod.ts";
import { toUsd } from "../money.ts";
import {
  endRun,
  type EventPlace,
  type NewEvent,
  type NewMessage,
  newMessage,
  type RunEnd,
} from "../sessions/mod.ts";
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
    const progress = this.#take();
    let state;
    try {
      state = await bookCall(this.ctx, { place: this.place, call, progress, grant });
    } catch (error) {
      this.#putBack(progress);
      throw error;
    }
    this.#booked++;
    this.lastCostNanoUsd = call.costNanoUsd;
    this.onState(state);
  }

  /** Ends the run with what is left. */
  async end(end: RunEnd): Promise<void> {
    const progress = this.#take();
    const state = await endRun(this.ctx, this.place, end, progress, this.ctx.gate.leave(this.place.runId));
    publishEvents(this.ctx, this.place, progress.events, state.eventCount);
  }

  #take(): { events: NewEvent[]; messages: NewMessage[] } {
    const taken = { events: this.#events, messages: this.#messages };
    this.#events = [];
    this.#messages = [];
    return taken;
  }

  #putBack(progress: { events: NewEvent[]; messages: NewMessage[] }): void {
    this.#events = [...progress.events, ...this.#events];
    this.#messages = [...progress.messages, ...this.#messages];
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
