import type { IncomingMessage } from "node:http";
import { type ByteReader, toStream } from "../kernel/byte_reader.ts";
import { type HeaderFields, joinHeaders } from "../kernel/header_fields.ts";

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
        const part: Uint8Array<ArrayBuffer> | null = incoming.read();
        if (part) {
          const { buffer, byteOffset, length } = part;
          return { done: false, value: new Uint8Array(buffer, byteOffset, length) };
        }
        if (incoming.readableEnded) return { done: true, value: undefined };
        if (signal?.aborted) throw signal.reason;
        if (incoming.destroyed) throw incoming.errored ?? new TypeError("terminated");
        await new Promise<void>((resolve) => wake = resolve);
      }
    },
    cancel() {
      incoming.destroy(); // what was read before comes all the same
      return Promise.resolve();
    },
  };
}
