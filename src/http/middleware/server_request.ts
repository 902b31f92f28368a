import type { HeaderFields } from "../../kernel/header_fields.ts";

/** The body of a request, as a server has it before it is a stream. */
export interface ServerBody {
  /** Returns all of it if all of it has arrived and nothing of it was read; else undefined. */
  arrived(): Uint8Array | undefined;
  /** Reads it part by part. */
  chunks(): AsyncIterable<Uint8Array>;
}

/** The sending of an answer, as fast as its client reads. */
export interface Delivery {
  /** Since when nothing was read of what waits for the client, on the monotonic clock; undefined while nothing waits. */
  readonly stalledSince: number | undefined;
  /** Called with the buffer that begins to wait, and with undefined once it has been read. */
  onStall?: (buffer: ArrayBufferLike | undefined) => void;
  /** Calls back once the answer is read, or its connection closed. */
  onClose(listener: () => void): void;
  /** Closes the connection. */
  destroy(): void;
}

/** The parts of a request that the server of this process has beside the request itself. */
export interface ServerParts {
  /** Undefined for a request without a body. */
  body: ServerBody | undefined;
  /** Its headers, which take less time to read than those of a `Request`. */
  headers: HeaderFields;
  delivery: Delivery;
}
