import { type Fields, isFields } from "../pricing/mod.ts";
import type { Clock } from "../kernel/clock.ts";
import type { AnswerReader } from "./answer_reader.ts";
import type { LiveCall } from "./live_calls.ts";
import { dataOf, type Splitter } from "./events.ts";
import type { Wire } from "./wires/wire.ts";

/** A streamed answer on its way from the provider to the client. */
export interface StreamedAnswer {
  provider: ReadableStream<Uint8Array>;
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
): ReadableStream<Uint8Array> {
  const { splitter, wire, reader, live } = answer;
  const source = answer.provider.getReader();
  /** An event that is the last one, unless another follows. */
  let held: Uint8Array | undefined;
  let booking: Promise<void> | undefined;
  let isOver = false;
  let hasLeft = false;
  let reading: Promise<void> | undefined;
  const book = (brokenBy?: unknown) => booking ??= answer.book(brokenBy);

  /** Reads the next chunk, and emits the complete events. Whatever ends the stream, the call is booked. */
  async function step(emit: (bytes: Uint8Array) => void): Promise<void> {
    try {
      await advance(emit);
    } catch (error) {
      isOver = true;
      void source.cancel(error).catch(() => {});
      await book(error);
      throw error;
    }
  }

  async function advance(emit: (bytes: Uint8Array) => void): Promise<void> {
    live.quietSince = clock.monotonic();
    const { done, value } = await source.read();
    live.quietSince = undefined;
    const run = new Run(emit);
    if (done) {
      isOver = true;
      const rest = splitter.rest();
      const event = parse(dataOf(rest)); // of an event that has no blank line at its end
      take(event);
      await book();
      if (held) run.add(held);
      if (!isHidden(event)) run.add(rest);
      run.flush();
      return;
    }
    for (const { bytes, data } of splitter.push(value)) {
      const event = parse(data);
      take(event);
      if (held) run.add(held);
      held = undefined;
      if (isHidden(event)) continue;
      const place = data === undefined ? "other" : wire.placeOf(event, data);
      if (place === "maybe_last") {
        held = bytes;
        continue;
      }
      if (place === "last") {
        run.flush();
        await book();
      }
      run.add(bytes);
    }
    run.flush();
  }

  function isHidden(event: Fields | undefined): boolean {
    return answer.hidesUsage && event !== undefined && wire.isUsageOnly?.(event) === true;
  }

  function take(event: Fields | undefined): void {
    if (event) reader.takeEvent(event);
  }

  /** Reads on without a client: to the end, or until the stream is aborted. */
  async function finish(): Promise<void> {
    await reading?.catch(() => {});
    while (!isOver) await step(() => {});
  }

  /** Ends the stream of a client that has left. */
  function leave(): void {
    if (hasLeft || isOver) return;
    hasLeft = true;
    if (answer.onDisconnect === "abort") live.cancel(CLIENT_LEFT);
    const finished = finish().catch(() => {}); // what could not be booked is logged
    keepAlive?.(finished);
  }

  // Not every platform cancels the stream of a request that is gone. Some abort each request that has ended.
  answer.signal?.addEventListener("abort", leave, { once: true });

  return new ReadableStream({
    async pull(controller) {
      let hasEmitted = false;
      const emit = (bytes: Uint8Array) => {
        if (hasLeft) return; // a chunk that was on its way is read to its end all the same
        hasEmitted = true;
        controller.enqueue(bytes);
      };
      // A chunk may hold no complete event.
      while (!hasEmitted && !isOver && !hasLeft) await (reading = step(emit));
      if (isOver && !hasLeft) controller.close();
    },
    cancel: leave,
  }, { highWaterMark: 0 });
}

/** Collects pieces that are next to each other in memory, so that they leave as the one chunk that they came as. */
class Run {
  #bytes: Uint8Array | undefined;

  constructor(private readonly emit: (bytes: Uint8Array) => void) {}

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const last = this.#bytes;
    if (last && last.buffer === bytes.buffer && last.byteOffset + last.length === bytes.byteOffset) {
      this.#bytes = new Uint8Array(last.buffer, last.byteOffset, last.length + bytes.length);
      return;
    }
    this.flush();
    this.#bytes = bytes;
  }

  flush(): void {
    if (this.#bytes) this.emit(this.#bytes);
    this.#bytes = undefined;
  }
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
