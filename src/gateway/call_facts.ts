import type { ErrorCode } from "../kernel/errors.ts";
import { type Fields, isFields } from "../pricing/usage/mod.ts";
import type { AnswerReader } from "./answer_reader.ts";
import type { GatewayRequest } from "./context.ts";
import { CLIENT_LEFT } from "./pass_stream.ts";
import type { ProviderAnswer } from "./provider_answer.ts";

/** The facts of a call that the line of its request in the log has; never a text of the request or of the answer. */
export type CallFacts = {
  model?: string;
  call_id?: string;
  error_code?: ErrorCode;
  /** The reason why it was refused or has failed. */
  reason?: string;
};

/** Kinds of errors, as providers name them: none holds a text. */
const KIND = /^[A-Za-z][\w.-]{0,63}$/;

/**
 * Returns the kind of an error that a provider has sent, such as `rate_limit_error`; undefined where it names none. Never its
 * message, which may repeat what was asked.
 */
export function errorKindOf(body: unknown): string | undefined {
  const first = Array.isArray(body) ? body[0] : body;
  if (!isFields(first)) return undefined;
  const { error, response } = first;
  const holders = [error, isFields(response) ? response.error : undefined, first].filter(isFields);
  return holders.flatMap(({ code, status, type }) => [code, status, type])
    .find((kind): kind is string => typeof kind === "string" && kind !== "error" && KIND.test(kind));
}

/** Returns whether an event of a stream, or an answer, is an error. */
export function isError({ type, error }: Fields): boolean {
  return type === "error" || type === "response.failed" || isFields(error);
}

/** Notes the status by which a provider has refused a call. */
export function noteStatus(
  { note, target: { provider } }: GatewayRequest,
  { status }: ProviderAnswer,
  kind: string | undefined,
): void {
  const reason = `${provider} answered ${status}${kind === undefined ? "" : `: ${kind}`}`;
  note?.({ error_code: "provider_error", reason });
}

/** Notes the error by which an answer has ended: that in it, or the one that has broken it. */
export function noteEnd(
  { note, target: { provider } }: GatewayRequest,
  { errorKind }: AnswerReader,
  brokenBy: string | undefined,
): void {
  if (brokenBy === CLIENT_LEFT) return note?.({ reason: brokenBy });
  const reason = errorKind === undefined ? brokenBy : `it ended with ${errorKind}`;
  if (reason !== undefined) note?.({ error_code: "provider_error", reason: `${provider}: ${reason}` });
}
