import { type Fields, isFields } from "../pricing/mod.ts";
import type { ByteReader } from "../kernel/byte_reader.ts";
import type { Clock } from "../kernel/clock.ts";
import type { AnswerReader } from "./answer_reader.ts";
import type { LiveCall } from "./live_calls.ts";
import { dataOf, type Splitter } from "./events.ts";
import type { Wire } from "./wires/wire.ts";

/** A streamed answer on its way from the provider to the client. */
export interface StreamedAnswer {
  source: ByteReader;
  splitter: Splitter;
  wire: Wire;
  reader: AnswerReader;
  /** True if the client did not ask for the usage that the provider sends. */
  hidesUsage: boolean;
  live: LiveCall;
  onDisconnect: "abort" | "drain";
  /** Aborts when the client has left, where the platform says so. */
  signal?: AbortSignal | undefined;
  /** Books the call by what has been read, once; resolves when it is durable. `brokenBy`: the error that has ended the answer. */
  book(brokenBy?: unknown): Promise<void>;
}

/** The reason for which a stream ends whose client has left. */
export const CLIENT_LEFT = "its client has left";

/**
 * Passes a stream on byte for byte as it comes, and reads it beside. Only its last event waits, for the commit that books the
 * call: a client that has seen the end has been booked. An event is passed once it is complete. As fast as the client reads.
 */
export function passStream(
  { clock, keepAlive }: { clock: Pick<Clock, "monotonic">; keepAlive?(work: Promise<unknown>): void },
  answer: StreamedAnswer,
): ByteReader {
  const { source, splitter, wire, reader, live } = answer;
  /** An event that is the last one, unless another follows. */
  let held: Part | undefined;
  let booking: Promise<void> | undefined;
  /** True once its last event has passed. */
  let isComplete = false;
  let isOver = false;
  let hasLeft = false;
  const book = (brokenBy?: unknown) => booking ??= answer.book(brokenBy);
  const passed = pass();

  /** Yields what may pass. Whatever ends the stream, the call is booked. */
  async function* pass(): AsyncGenerator<Part, undefined> {
    try {
      for (;;) {
        live.quietSince = clock.monotonic();
        const { done, value } = await source.read();
        live.quietSince = undefined;
        if (done) break;
        const ready: Part[] = [];
        for (const { bytes, data } of splitter.push(value)) {
          const event = parse(data);
          take(event);
          if (isHidden(event)) continue;
          const place = data === undefined ? "other" : wire.placeOf(event, data);
          if (place === "last") {
            for (const part of ready.splice(0)) yield part;
            await book();
            isComplete = true;
          }
          if (held) append(ready, held);
          held = undefined;
          if (place === "maybe_last") held = bytes;
          else append(ready, bytes);
        }
        for (const part of ready) yield part;
        // Its client has left, and no one else waits for what a provider may still send after the end.
        if (isComplete && hasLeft) {
          isOver = true;
          void source.cancel(CLIENT_LEFT).catch(() => {});
          return;
        }
      }
      isOver = true;
      const rest = splitter.rest();
      const event = parse(dataOf(rest)); // of an event that has no blank line at its end
      take(event);
      await book();
      if (held) yield held;
      if (rest.length > 0 && !isHidden(event)) yield rest;
    } catch (error) {
      isOver = true;
      void source.cancel(error).catch(() => {});
      await book(error);
      throw error;
    }
  }

  function isHidden(event: Fields | undefined): boolean {
    return answer.hidesUsage && event !== undefined && wire.isUsageOnly?.(event) === true;
  }

  function take(event: Fields | undefined): void {
    if (event) reader.takeEvent(event);
  }

  /** Reads on without a client: to the end, or until the stream is aborted. */
  async function finish(): Promise<void> {
    while (!(await passed.next()).done);
  }

  /** Ends the stream of a client that has left. */
  function leave(): void {
    if (hasLeft || isOver) return;
    hasLeft = true;
    // It may have read the last event, and the provider keep the connection.
    if (isComplete) return void source.cancel(CLIENT_LEFT).catch(() => {});
    if (answer.onDisconnect === "abort") live.cancel(CLIENT_LEFT);
    const finished = finish().catch(() => {}); // what could not be booked is logged
    keepAlive?.(finished);
  }

  // Not every platform cancels the stream of a request that is gone. Some abort each request that has ended.
  if (answer.signal?.aborted) leave();
  else answer.signal?.addEventListener("abort", leave, { once: true });

  return {
    async read() {
      return hasLeft ? { done: true, value: undefined } : await passed.next();
    },
    cancel() {
      leave();
      return Promise.resolve();
    },
  };
}

type Part = Uint8Array<ArrayBuffer>;

/** Adds bytes to parts: to the last one where they are next to it in memory, so that they leave as the one chunk that they came as. */
function append(parts: Part[], bytes: Part): void {
  const last = parts.at(-1);
  if (last && last.buffer === bytes.buffer && last.byteOffset + last.length === bytes.byteOffset) {
    parts[parts.length - 1] = new Uint8Array(last.buffer, last.byteOffset, last.length + bytes.length);
  } else parts.push(bytes);
}

/** Returns the JSON object of an event; undefined for what is none. */
function parse(data: string | undefined): Fields | undefined {
  if (data === undefined || !data.trimStart().startsWith("{")) return undefined;
  try {
    const event: unknown = JSON.parse(data);
    return isFields(event) ? event : undefined;
  } catch {
    return undefined;
  }
}
