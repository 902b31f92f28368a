import type { OpenCall, UsageReport } from "../calls/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import type { AnswerIds, ModelCall } from "../ledger/mod.ts";
import type { AnswerReader } from "./answer_reader.ts";
import type { GatewayContext, GatewayRequest } from "./context.ts";
import { callTimesOf, type LiveCall } from "./live_calls.ts";
import type { ModelRequest } from "./wires/wire.ts";

/** A call of which the answer is read. */
export interface AnsweredCall {
  request: GatewayRequest;
  model: ModelRequest;
  open: OpenCall;
  reader: AnswerReader;
  /** True if a plan pays for it, as the headers of the answer say. */
  isPlan: boolean;
  /** The ids in the headers of the answer. */
  ids: AnswerIds;
  live: LiveCall;
  readAt: number;
}

/** Books a call by what its answer has reported. */
export async function settleAnswer(
  { gateway, clock }: GatewayContext,
  { request, open, reader, isPlan, ids, live: { sentAt }, readAt }: AnsweredCall,
  report: UsageReport,
): Promise<ModelCall> {
  const answeredAt = clock.monotonic();
  const made = await bookedFor(
    request,
    open.settle({ ...report, isPlan, ids }, {
      outputBytes: () => reader.outputBytes,
      textBytes: () => reader.textBytes,
    }),
  );
  if (sentAt !== undefined) {
    const times = callTimesOf(gateway, request.target.provider);
    times.before.add((sentAt - readAt) / 1000);
    times.provider.add((answeredAt - sentAt) / 1000);
    times.booking.add((clock.monotonic() - answeredAt) / 1000);
  }
  const { sessionId, costNanoUsd } = made;
  if (sessionId !== null && costNanoUsd !== null) gateway.lastCosts.set(sessionId, costNanoUsd);
  return made;
}

/** Returns the error for a call that can't be booked. It is not `unavailable`: clients would send the call again, and pay again. */
export async function bookedFor<T>(request: GatewayRequest, booking: Promise<T>): Promise<T> {
  try {
    return await booking;
  } catch (error) {
    const { cause } = error as Error;
    request.note?.({
      error_code: "internal",
      reason: `it could not be booked: ${messageOf(cause ?? error)}`,
    });
    const reason = error instanceof PurserError && error.code !== "internal" ? `: ${error.message}` : "";
    throw new PurserError("internal", `Cannot book a model call that was made${reason}`, { cause: error });
  }
}
