import { type Fields, isFields } from "../pricing/usage/mod.ts";
import type { ByteReader } from "../kernel/byte_reader.ts";
import type { Clock } from "../kernel/clock.ts";
import type { AnswerReader } from "./answer_reader.ts";
import type { HiddenSecrets } from "./hidden_secrets.ts";
import type { LiveCall } from "./live_calls.ts";
import { parseInTurns } from "../kernel/json/parse_in_turns.ts";
import { type MemoryShare, SMALL_PART_BYTES, spendInParts, type Turns } from "../kernel/turns.ts";
import { type Piece, type Splitter, toPiece } from "./events.ts";
import type { Wire } from "./wires/wire.ts";

/** A streamed answer on its way from the provider to the client. */
export interface StreamedAnswer {
  source: ByteReader;
  splitter: Splitter;
  wire: Wire;
  reader: AnswerReader;
  /** True if the client did not ask for the usage that the provider sends. */
  hidesUsage: boolean;
  /** Hides credentials in the events, each of which is in one part. */
  hidden: HiddenSecrets;
  live: LiveCall;
  /** The memory of the answer. */
  memory?: MemoryShare | undefined;
  onDisconnect: "abort" | "drain";
  /** Aborts when the client has left, where the platform says so. */
  signal?: AbortSignal | undefined;
  /** Books the call by what has been read, once; resolves when it is durable. `brokenBy`: the error that has ended the answer. */
  book(brokenBy?: unknown): Promise<void>;
}

/** The reason for which a stream ends whose client has left. */
export const CLIENT_LEFT = "its client has left";

/** The time for which an error waits for what may follow it: the usage, or the end. */
const AFTER_ERROR_MS = 1_000;

/**
 * Passes a stream on byte for byte, as fast as the client reads, and reads its events. Each event is passed on once it is
 * complete. Only the last one waits, for the commit that books the call: then a client that has seen the end has been booked.
 */
export function passStream(
  { clock, turns, keepAlive }: {
    clock: Pick<Clock, "monotonic" | "sleep">;
    turns: Turns;
    keepAlive?(work: Promise<unknown>): void;
  },
  answer: StreamedAnswer,
): ByteReader {
  const { source, splitter, wire, reader, live, memory } = answer;
  /** An event that is the last one, unless another follows; or an error with what has followed it. */
  const held: Part[] = [];
  /** Set after an error in the stream: resolves when the time is over in which something may follow it. */
  let waited: Promise<void> | undefined;
  let reading: ReturnType<ByteReader["read"]> | undefined;
  let booking: Promise<void> | undefined;
  let isOver = false;
  let isGrowing = false;
  let hasLeft = false;
  let over: AbortController | undefined;
  // A provider may send faster than events are read here: many such streams would leave no turn to others.
  const turnsOf = spendInParts(turns);
  const book = (brokenBy?: unknown) => booking ??= answer.book(brokenBy);
  const passed = pass();

  /** Yields what may pass. Whatever ends the stream, the call is booked. */
  async function* pass(): AsyncGenerator<Part, undefined> {
    try {
      for (;;) {
        if (isGrowing || splitter.rest().length > SMALL_PART_BYTES) await waitForRoom();
        const part = await nextPart();
        if (part?.done) break;
        const turn = part && turnsOf(part.value.length);
        if (turn) await turn;
        const ready: Part[] = [];
        if (part === undefined) {
          await book();
          ready.push(...held.splice(0));
        }
        for (const { bytes, data, large } of part ? splitter.push(part.value) : []) {
          const event = large ? await parseLarge(large, turns) : parse(data);
          take(event);
          if (isHidden(event)) continue;
          const place = data === undefined ? "other" : wire.placeOf(event, data);
          if (place === "last") {
            for (const each of ready.splice(0)) yield each;
            if (event === undefined && !waited) reader.end();
            await book();
          }
          if (place === "error") {
            waited ??= clock.sleep(AFTER_ERROR_MS, (over = new AbortController()).signal);
          }
          const isAfterError = waited !== undefined && !booking;
          if (!isAfterError) { for (const each of held.splice(0)) append(ready, each); }
          if (isAfterError || (place === "maybe_last" && !booking)) held.push(bytes);
          else append(ready, bytes);
        }
        for (const each of ready) yield each;
        // Its client has left, and no one else waits for the rest.
        if (booking && hasLeft) {
          isOver = true;
          void source.cancel(CLIENT_LEFT).catch(() => {});
          return;
        }
      }
      isOver = true;
      const rest = splitter.rest();
      const { data, large }: Piece = toPiece(rest); // of an event that has no blank line at its end
      const event = large ? await parseLarge(large, turns) : parse(data);
      take(event);
      await book();
      yield* held.splice(0);
      if (rest.length > 0 && !isHidden(event)) yield rest;
    } catch (error) {
      isOver = true;
      void source.cancel(error).catch(() => {});
      await book(error);
      yield* held.splice(0);
      throw error;
    } finally {
      over?.abort();
      if (isGrowing) memory?.hold(0);
    }
  }

  /** Waits for memory for an event that is large already, and is not complete yet. */
  async function waitForRoom(): Promise<void> {
    const { length } = splitter.rest();
    if (length > SMALL_PART_BYTES) await memory?.grow(length);
    else if (isGrowing) memory?.hold(0);
    isGrowing = length > SMALL_PART_BYTES;
  }

  /** Reads the next part; undefined if none has come within the time that an error waits. */
  async function nextPart(): Promise<Awaited<ReturnType<ByteReader["read"]>> | undefined> {
    live.quietSince = clock.monotonic();
    reading ??= source.read();
    if (waited && !booking) {
      reading.catch(() => {}); // it may be read later, or never
      const part = await Promise.race([reading, waited]);
      if (!part) return undefined;
    }
    const part = await reading;
    reading = undefined;
    live.quietSince = undefined;
    return part;
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
    // The client may have read the last event, while the provider keeps the connection open.
    if (booking) return void source.cancel(CLIENT_LEFT).catch(() => {});
    if (answer.onDisconnect === "abort") live.cancel(CLIENT_LEFT);
    const finished = finish().catch(() => {}); // what could not be booked is logged
    keepAlive?.(finished);
  }

  // Not every platform cancels the stream of a request that is gone. Some abort each request that has ended.
  if (answer.signal?.aborted) leave();
  else answer.signal?.addEventListener("abort", leave, { once: true });

  return {
    async read() {
      if (hasLeft) return { done: true, value: undefined };
      const part = await passed.next();
      return part.done ? part : { done: false, value: answer.hidden.inBytes(part.value) };
    },
    cancel() {
      leave();
      return Promise.resolve();
    },
  };
}

type Part = Uint8Array<ArrayBuffer>;

/** Adds bytes to parts. Bytes that follow the last part in memory extend it, so that a chunk of the provider stays one chunk. */
function append(parts: Part[], bytes: Part): void {
  const last = parts.at(-1);
  if (last && last.buffer === bytes.buffer && last.byteOffset + last.length === bytes.byteOffset) {
    parts[parts.length - 1] = new Uint8Array(last.buffer, last.byteOffset, last.length + bytes.length);
  } else parts.push(bytes);
}

async function parseLarge(bytes: Uint8Array, turns: Turns): Promise<Fields | undefined> {
  const event = await parseInTurns(bytes, turns).catch(() => undefined);
  return isFields(event) ? event : undefined;
}

/** Returns the JSON object of an event; undefined if it isn't one. */
function parse(data: string | undefined): Fields | undefined {
  if (data === undefined || !data.trimStart().startsWith("{")) return undefined;
  try {
    const event: unknown = JSON.parse(data);
    return isFields(event) ? event : undefined;
  } catch {
    return undefined;
  }
}
