import { type HeaderFields, joinHeaders } from "../../kernel/header_fields.ts";

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

/** The parts of a request that a server has at hand, which take less time to read than the request itself. */
export interface ServerParts {
  /** The names and the values of its headers in turn, as they were sent. */
  sentHeaders: readonly string[];
  /** The same by their names, once they are read. */
  headers?: HeaderFields;
  /** Undefined for a request without a body. */
  body: ServerBody | undefined;
  delivery: Delivery;
}

/** The key of a request's {@link ServerParts}, where the server has them. */
export const SERVER_PARTS = Symbol("parts of the server");

/** A request that may come from a server with {@link ServerParts}. */
export interface ServerRequest extends Request {
  [SERVER_PARTS]?: ServerParts;
}

/** Returns the headers of a request, without making `Headers` of them where the server has them as they were sent. */
export function headersOf(request: ServerRequest): HeaderFields {
  const parts = request[SERVER_PARTS];
  return parts ? parts.headers ??= joinHeaders(parts.sentHeaders) : request.headers;
}
