import type { IncomingMessage } from "node:http";
import { type ByteReader, readArrived, toStream } from "../kernel/byte_reader.ts";
import type { Clock } from "../kernel/clock.ts";
import { type HeaderFields, joinHeaders } from "../kernel/header_fields.ts";
import { type MemoryShare, SMALL_PART_BYTES, spendInParts, type Turns } from "../kernel/turns.ts";
import type { LiveCall } from "./live_calls.ts";

/** The answer of a provider: a `Response`, or what is like one. */
export interface ProviderAnswer extends Pick<Response, "type" | "status" | "ok" | "body"> {
  headers: HeaderFields;
  /** Returns a reader of the body, which is faster than that of its stream; null where it has none. */
  reader?(): ByteReader | null;
}

/** Statuses without a body. */
const EMPTY = new Set([204, 205, 304]);

/** An answer over a kept connection. */
export class PooledAnswer implements ProviderAnswer {
  readonly type = "default";
  readonly status: number;
  readonly headers: HeaderFields;
  readonly #reader: ByteReader | null;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;

  constructor(incoming: IncomingMessage, { method, signal }: { method: string; signal?: AbortSignal }) {
    this.status = incoming.statusCode!;
    if (!(this.status >= 200 && this.status <= 599)) throw new RangeError(`${this.status} is no status`);
    this.headers = joinHeaders(incoming.rawHeaders);
    incoming.on("error", () => {}); // it may break off before it is read
    const isEmpty = method === "HEAD" || EMPTY.has(this.status);
    this.#reader = isEmpty ? null : readerOf(incoming, signal);
    if (isEmpty) incoming.resume();
  }

  get ok(): boolean {
    return this.status < 300;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.#reader && (this.#body ??= toStream(this.#reader));
  }

  reader(): ByteReader | null {
    return this.#reader;
  }
}

/** Returns a reader of a body, only as fast as it is read; all that has arrived is one part. */
function readerOf(incoming: IncomingMessage, signal: AbortSignal | undefined): ByteReader {
  let wake = () => {};
  for (const event of ["readable", "end", "error", "close"]) incoming.on(event, () => wake());
  return {
    async read() {
      for (;;) {
        const part = readArrived(incoming, SMALL_PART_BYTES);
        if (part) return { done: false, value: part };
        if (incoming.readableEnded) return { done: true, value: undefined };
        if (signal?.aborted) throw signal.reason;
        if (incoming.destroyed) throw incoming.errored ?? new TypeError("terminated");
        await new Promise<void>((resolve) => wake = resolve);
      }
    },
    cancel() {
      incoming.destroy(); // the parts that were read before still come
      return Promise.resolve();
    },
  };
}

/** The largest answer that is read as a whole. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;

/** The names of encodings, and of the platform's for them. */
const ENCODINGS: Readonly<Record<string, string>> = {
  "gzip": "gzip",
  "x-gzip": "gzip",
  "deflate": "deflate",
  "br": "brotli",
};

/** Returns a reader of an answer. A compressed one is decoded, although the request accepts none; undefined if it can't be decoded. */
export function decoded(answer: ProviderAnswer): ByteReader | null | undefined {
  const encoding = encodingOf(answer);
  if (encoding === "identity" && answer.reader) return answer.reader();
  const { body } = answer;
  if (!body) return null;
  try {
    const format = ENCODINGS[encoding] as CompressionFormat;
    return (encoding === "identity" ? body : body.pipeThrough(new DecompressionStream(format))).getReader();
  } catch {
    return undefined; // unknown, here or everywhere
  }
}

function encodingOf({ headers }: ProviderAnswer): string {
  return headers.get("content-encoding")?.trim().toLowerCase() || "identity";
}

/** Reads an answer as a whole, as far as the memory has room; `onPart` gets the length of each part. */
export async function readWhole(
  { clock, turns }: { clock: Pick<Clock, "monotonic">; turns: Turns },
  response: ProviderAnswer,
  live: LiveCall,
  memory: MemoryShare | undefined,
  onPart?: (length: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  let turnsOf: Turns["spend"] | undefined;
  live.quietSince = clock.monotonic();
  const source = decoded(response);
  if (source === undefined) {
    await response.body?.cancel();
    throw new Error("its answer is compressed, though the request takes none");
  }
  try {
    for (let part = await source?.read(); part && !part.done; part = await source!.read()) {
      const { length } = part.value;
      parts.push(part.value);
      size += length;
      onPart?.(length);
      if (size > MAX_ANSWER_BYTES) throw new Error(`the answer is over ${MAX_ANSWER_BYTES} bytes`);
      if (size > SMALL_PART_BYTES) {
        live.quietSince = undefined; // the provider is not to blame
        await memory?.grow(size);
        const turn = (turnsOf ??= spendInParts(turns))(length);
        if (turn) await turn;
      }
      live.quietSince = clock.monotonic();
    }
  } catch (error) {
    memory?.hold(0);
    void source?.cancel(error).catch(() => {});
    throw error;
  }
  if (size > SMALL_PART_BYTES) memory?.hold(size);
  if (parts.length === 1) return parts[0]!;
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
