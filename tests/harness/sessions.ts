import { bookCall } from "../../src/calls/mod.ts";
import {
  listSessionEvents,
  newMessage,
  readMessages,
  type RunRef,
  type SessionContext,
  type SessionMessage,
} from "../../src/sessions/mod.ts";
import type { TestBooking } from "./booking.ts";
import { modelCall } from "./model_calls.ts";

/** The types of the events in a session's log. */
export const logOf = async (ctx: SessionContext, sessionId: string) =>
  (await listSessionEvents(ctx, { sessionId, after: 0, limit: 1_000 })).map((event) => event.type);

/** The contents of a session's messages. */
export const textsOf = async (ctx: SessionContext, sessionId: string) =>
  (await listMessages(ctx, sessionId)).map((message) => message.content);

/** Books a call of a run, 1,000 input and 500 output tokens, with an output to keep. */
export function bookAnswer(ctx: TestBooking, place: RunRef, text: string) {
  const at = ctx.clock.now();
  return bookCall(ctx, {
    run: place,
    call: modelCall({ callId: ctx.ids.next("call"), ...place, at }),
    progress: {
      events: [{ type: "model.called", at, payload: { text } }],
      messages: [newMessage(ctx.ids, at, { role: "assistant", content: text })],
    },
  });
}

/** Returns all messages of a session in order. */
export async function listMessages(
  ctx: Parameters<typeof readMessages>[0],
  sessionId: string,
): Promise<SessionMessage[]> {
  return (await readMessages(ctx, sessionId)).messages;
}
