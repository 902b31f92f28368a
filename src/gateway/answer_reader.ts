import { Buffer } from "node:buffer";
import { contentOf, textsOf, type UsageReport } from "../calls/mod.ts";
import { type Asked, type Fields, isFields, type Statement, trackAnswerUsage } from "../pricing/usage/mod.ts";
import { errorKindOf, isError } from "./call_facts.ts";
import type { Wire } from "./wires/wire.ts";

/** The facts of one answer, read beside its bytes. */
export interface AnswerReader {
  /** Reads an event of a stream. */
  takeEvent(event: Fields): void;
  /** Reads a whole body of so many bytes; undefined for one that isn't JSON. */
  takeBody(body: unknown, bytes: number): void;
  /** Returns what the call is booked by. `brokenBy`: the error that has ended it. */
  report(brokenBy?: unknown): UsageReport;
  /** The bytes of text that have passed; of a whole answer without any, those of its body. */
  readonly outputBytes: number;
  /** The bytes that are known to be text. */
  readonly textBytes: number;
  /** Ends a stream that has come whole. Its counts are final, unless text came after them. */
  end(): void;
  /** Returns true once it has sent counts that are not all 0. */
  hasTokens(): boolean;
  /** The kind of the error that it has, such as `overloaded_error`, or `error`. */
  readonly errorKind: string | undefined;
}

/** An answer without a text is measured by its JSON where it is smaller, else by its bytes. */
const LARGE_BYTES = 256 * 1024;

/** Creates the reader of an answer by its wire, and by what its request asked for. The headers of the answer may state its cost. */
export function readAnswer(
  wire: Wire,
  provider: string,
  asked: () => Asked,
  answer: Pick<Statement, "headers" | "isStreamed">,
): AnswerReader {
  const usage = trackAnswerUsage(wire.api(provider), asked);
  let outputBytes = 0;
  /** The bytes of text that had passed when the last counts came. */
  let countedBytes = 0;
  /** Measures the text of a whole answer, which is needed only for an estimate. */
  let measure: (() => number) | undefined;
  let whole: unknown;
  let responseId: string | undefined;
  let errorKind: string | undefined;

  function take(part: Fields): void {
    usage.take(part);
    if (isError(part)) errorKind ??= errorKindOf(part) ?? "error";
    responseId ??= [part.response, part.message, part].flatMap((holder) =>
      isFields(holder) ? [holder.id, holder.responseId] : []
    ).find((id): id is string => typeof id === "string" && id.length <= 200);
  }

  function hasTokens(): boolean {
    const { inputTokens, outputTokens } = usage.usage() ?? { inputTokens: 0, outputTokens: 0 };
    return inputTokens + outputTokens > 0;
  }

  return {
    takeEvent(event) {
      const counted = usage.raw();
      take(event);
      outputBytes += lengthOf(() => wire.textOf(event)) ?? 0;
      if (usage.raw() !== counted) countedBytes = outputBytes;
    },
    takeBody(body, bytes) {
      const parts = Array.isArray(body) ? body.filter(isFields) : isFields(body) ? [body] : [];
      for (const part of parts) take(part);
      // Zeros beside an error count nothing: gateways send them with a refusal.
      const hasError = parts.some(({ error }) => isFields(error));
      if (parts.length > 0 && (!hasError || hasTokens())) usage.end();
      if (hasError && usage.usage() !== undefined) return; // its text is that of the error
      whole = body;
      // A large one isn't encoded again: its text has about as many bytes.
      const read = () => bytes < LARGE_BYTES ? contentOf(body) : textsOf(body);
      measure = () => (body === undefined ? undefined : lengthOf(read)) || bytes;
    },
    end() {
      if (outputBytes === countedBytes) usage.end();
    },
    report: (brokenBy) => ({
      counted: usage.isFinal() ? usage.usage() : undefined,
      partial: usage.usage(),
      raw: usage.raw(),
      served: usage.served(),
      statement: usage.isFinal() ? { ...usage.statement(), ...answer } : undefined,
      responseId,
      brokenBy,
    }),
    get outputBytes() {
      return measure?.() ?? outputBytes;
    },
    get textBytes() {
      return measure ? lengthOf(() => textsOf(whole)) ?? 0 : outputBytes;
    },
    hasTokens,
    get errorKind() {
      return errorKind;
    },
  };
}

/** Returns the bytes of a text; undefined where an answer is nested too deeply to be read. */
function lengthOf(read: () => string): number | undefined {
  try {
    return Buffer.byteLength(read());
  } catch {
    return undefined;
  }
}
