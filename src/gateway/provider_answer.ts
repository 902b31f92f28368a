import type { IncomingMessage } from "node:http";

/** The answer of a provider: a `Response`, or what is like one. */
export interface ProviderAnswer extends Pick<Response, "type" | "status" | "ok" | "headers" | "body"> {
  /** Reads the body as a whole, faster than its stream does. Rejects when it breaks off, or with what `onPart` throws. */
  readWhole?(onPart: (part: Uint8Array<ArrayBuffer>) => void): Promise<void>;
}

/** The bytes of an answer that are read ahead of its reader. */
const UNREAD_BYTES = 64 * 1024;

/** Statuses without a body. */
const EMPTY = new Set([204, 205, 304]);

/** An answer over a kept connection. */
export class PooledAnswer implements ProviderAnswer {
  readonly type = "default";
  readonly status: number;
  readonly headers = new Headers();
  #incoming: IncomingMessage;
  #signal: AbortSignal | undefined;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | null | undefined;

  constructor(incoming: IncomingMessage, { method, signal }: { method: string; signal?: AbortSignal }) {
    this.status = incoming.statusCode!;
    if (!(this.status >= 200 && this.status <= 599)) throw new RangeError(`${this.status} is no status`);
    for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
      this.headers.append(incoming.rawHeaders[at]!, incoming.rawHeaders[at + 1]!);
    }
    this.#incoming = incoming;
    this.#signal = signal;
    incoming.on("error", () => {}); // it may break off before it is read
    if (method !== "HEAD" && !EMPTY.has(this.status)) return;
    incoming.resume();
    this.#body = null;
  }

  get ok(): boolean {
    return this.status < 300;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    if (this.#body === undefined) this.#body = streamOf((reader) => this.#read(reader), this.#incoming);
    return this.#body;
  }

  readWhole(onPart: (part: Uint8Array<ArrayBuffer>) => void): Promise<void> {
    if (this.#body === null) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onData = (part: Uint8Array<ArrayBuffer>) => {
        try {
          onPart(part);
        } catch (error) {
          reject(error);
          this.#incoming.destroy();
        }
      };
      this.#read({ onData, onEnd: resolve, onError: reject });
    });
  }

  #read({ onData, onEnd, onError }: Reader): void {
    const incoming = this.#incoming;
    const fail = (error: unknown) => onError(this.#signal?.aborted ? this.#signal.reason : error);
    if (incoming.destroyed) return fail(new TypeError("terminated"));
    incoming.on("data", ({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>) => {
      onData(new Uint8Array(buffer, byteOffset, length));
    });
    incoming.once("end", onEnd);
    incoming.once("error", fail);
    incoming.once("close", () => fail(new TypeError("terminated")));
  }
}

/** The receiver of a body: of its parts, and then of its end or an error. */
interface Reader {
  onData(part: Uint8Array<ArrayBuffer>): void;
  onEnd(): void;
  onError(error: unknown): void;
}

/** Returns a body as a stream, which is read only as fast as its reader does. */
function streamOf(
  read: (reader: Reader) => void,
  incoming: IncomingMessage,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let isOver = false;
  return new ReadableStream({
    start(controller) {
      const end = (how: () => void) => {
        if (isOver) return;
        isOver = true;
        how();
      };
      read({
        onData(part) {
          if (isOver) return;
          controller.enqueue(part);
          if (controller.desiredSize! <= 0) incoming.pause();
        },
        onEnd: () => end(() => controller.close()),
        onError: (error) => end(() => controller.error(error)),
      });
    },
    pull() {
      incoming.resume();
    },
    cancel() {
      isOver = true; // what was read before comes all the same
      incoming.destroy();
    },
  }, { highWaterMark: UNREAD_BYTES, size: ({ length }) => length });
}
