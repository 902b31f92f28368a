import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { nextTick } from "node:process";
import { readArrived } from "../../kernel/byte_reader.ts";
import { PurserError } from "../../kernel/errors.ts";
import { isStreamed, readerOf, wholeOf } from "../middleware/served_body.ts";
import type { Delivery, ServerBody } from "../middleware/server_request.ts";
import type { Exchange } from "./connections.ts";

/** The largest piece that is written at once, so that a slow reader can be distinguished from one that doesn't read. */
const PIECE_BYTES = 64 * 1024;

/** Answers of up to this size are written in one piece, and not counted while they wait. */
const SMALL_BYTES = 16 * 1024;

/** The body of a request. */
export interface RequestBody extends ServerBody {
  /** Reads it, only as fast as it is iterated. */
  chunks(): AsyncGenerator<Uint8Array>;
  /** Ends it with an error. */
  break(): void;
  /** Returns the bytes that were read. */
  received(): number;
}

/** Returns the body of a request; undefined where it has none. */
export function bodyOf(incoming: IncomingMessage): RequestBody | undefined {
  const { method, headers } = incoming;
  if (method === "GET" || method === "HEAD") return undefined;
  if (headers["transfer-encoding"] === undefined && !(Number(headers["content-length"]) > 0)) {
    return undefined;
  }
  let isBroken = false;
  let received = 0;
  let wake = () => {};
  return {
    arrived() {
      if (!incoming.complete || isBroken || received > 0) return undefined;
      const bytes = readArrived(incoming);
      received += bytes?.length ?? 0;
      return bytes;
    },
    async *chunks() {
      for (const event of ["readable", "end", "error", "close"]) incoming.on(event, () => wake());
      for (;;) {
        const bytes: Uint8Array | null = isBroken ? null : incoming.read();
        received += bytes?.length ?? 0;
        if (bytes) yield bytes;
        else if (incoming.readableEnded) return;
        else if (isBroken || incoming.destroyed) throw brokenOff();
        else await new Promise<void>((resolve) => wake = resolve);
      }
    },
    break() {
      isBroken = true;
      wake();
    },
    received: () => received,
  };
}

/** Reads the rest of a body that no route reads; returns false where it breaks off. */
export async function passBody(exchange: Pick<Exchange, "incoming" | "breakBody">): Promise<boolean> {
  const { incoming } = exchange;
  if (!incoming.complete && !incoming.destroyed) {
    await new Promise<void>((resolve) => {
      exchange.breakBody = resolve;
      for (const event of ["end", "error", "close"]) incoming.once(event, () => resolve());
      incoming.resume();
    });
  }
  return incoming.complete;
}

/** Returns the chunks of a body as a stream. */
export function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return(undefined);
    },
  }, { highWaterMark: 0 });
}

function brokenOff(): PurserError {
  return new PurserError(
    "invalid",
    "Cannot read the body: it broke off, or its chunks are malformed; nothing was changed",
  );
}

/** Sends the answer to one request, and knows since when its client reads nothing. */
export class ResponseWriter implements Delivery {
  stalledSince: number | undefined;
  onStall?: (buffer: ArrayBufferLike | undefined) => void;

  constructor(private readonly outgoing: ServerResponse, private readonly now: () => number) {}

  onClose(listener: () => void): void {
    this.outgoing.once("close", listener);
  }

  destroy(): void {
    this.outgoing.req.socket.destroy();
  }

  /**
   * Writes a response as fast as its client reads, and resolves when all of it is written or the client has gone. What is
   * marked as whole is written in one piece with its headers, all else while it is made.
   */
  async send(response: Response): Promise<void> {
    const { outgoing } = this;
    const { status, headers } = response;
    const fields: Record<string, string | number> = {};
    headers.forEach((value, name) => fields[name] = value);
    if (outgoing.destroyed) return void await readerOf(response)?.cancel();
    if (status === 204 || status === 304) return void outgoing.writeHead(status, fields).end();
    const whole = wholeOf(response) ?? (isStreamed(response) ? undefined : "");
    if (whole !== undefined) {
      // The response to HEAD has no body, and doesn't know the length of that to GET.
      if (outgoing.req.method !== "HEAD") fields["content-length"] ??= Buffer.byteLength(whole);
      outgoing.writeHead(status, fields);
      if (whole.length <= SMALL_BYTES) return void outgoing.end(whole);
      if (typeof whole === "string") await this.#writeText(whole);
      else await this.#writeFirst(whole);
      return void outgoing.end();
    }
    outgoing.writeHead(status, fields);
    // The headers leave with the first part of the body, if that is there at once.
    let hasBegun = false;
    nextTick(() => {
      if (hasBegun || outgoing.destroyed || outgoing.writableEnded) return;
      outgoing.write(EMPTY); // not flushHeaders(), which encodes them as UTF-8: on the wire they are bytes
    });
    const reader = readerOf(response);
    const cancel = () => void reader?.cancel().catch(() => {});
    outgoing.once("close", cancel);
    /** Reads and writes a part; false at the end. A function of its own, so that none is kept while the next one is awaited. */
    const pass = async () => {
      const part = await reader?.read();
      if (!part || part.done) return false;
      if (part.value.length === 0) return true;
      const written = hasBegun ? this.#write(part.value) : this.#writeFirst(part.value);
      hasBegun = true;
      await written;
      return true;
    };
    try {
      while (await pass());
      outgoing.end();
    } catch {
      outgoing.destroy(); // so that no client takes the response for complete
    } finally {
      outgoing.off("close", cancel);
    }
  }

  /** Writes the first part of a body at once, in one piece with the headers. */
  #writeFirst(bytes: Uint8Array): Promise<void> {
    const { socket } = this.outgoing;
    socket?.cork();
    const written = this.#write(bytes);
    socket?.uncork();
    return written;
  }

  /** Writes a text, of which only one piece is encoded at a time. */
  async #writeText(text: string): Promise<void> {
    for (let start = 0; start < text.length && !this.outgoing.destroyed;) {
      let end = Math.min(text.length, start + PIECE_BYTES);
      if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end--; // not between two surrogates
      const bytes = Buffer.from(text.slice(start, end));
      await (start === 0 ? this.#writeFirst(bytes) : this.#write(bytes));
      start = end;
    }
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const { outgoing } = this;
    let hasWaited = false;
    for (let start = 0; start < bytes.length && !outgoing.destroyed; start += PIECE_BYTES) {
      const hasRoom = outgoing.write(bytes.subarray(start, start + PIECE_BYTES));
      if (hasRoom || outgoing.destroyed) continue;
      this.stalledSince = this.now();
      if (!hasWaited) this.onStall?.(bytes.buffer);
      hasWaited = true;
      await drained(outgoing);
    }
    this.stalledSince = undefined;
    if (hasWaited) this.onStall?.(undefined);
  }
}

const EMPTY = new Uint8Array(0);

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.on("drain", done);
    outgoing.on("close", done);
  });
}
