import type { Context } from "hono";
import { messageOf } from "../../kernel/errors.ts";
import { createKeyCheck, isAuthRequired } from "../../keys/mod.ts";
import type { Core } from "../../service/mod.ts";
import { type ApiEnv, leaseOf, principalOf } from "./principal.ts";

const HEARTBEAT_MS = 15_000;
const HEARTBEAT = new TextEncoder().encode(": still here\n\n");
const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/**
 * Answers with a stream that ends with the client, with the process, when its key is no longer valid and, without a key,
 * when the first one is created. `encode` returns the bytes for an item; undefined where the client needs none.
 */
export function streamItems<Item>(c: Context<ApiEnv>, core: Core, { follow, encode }: {
  follow(signal: AbortSignal): AsyncGenerator<Item>;
  encode(item: Item): Uint8Array<ArrayBuffer> | undefined;
}) {
  // The body of a HEAD response is not read, so nothing would ever end the stream.
  if (c.req.method === "HEAD") return c.body("", 200, HEADERS);
  const lease = leaseOf(c);
  lease?.begin("streams");
  const end = lease?.keep();
  const gone = new AbortController();
  const stopped = AbortSignal.any([gone.signal, core.stopping]);
  const items = follow(stopped);
  const isStillAllowed = accessCheckOf(c, core);
  let lastSentAt = core.clock.now();
  /** Returns the next bytes to send; undefined at the end of the stream. */
  const next = async (): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    for (;;) {
      const { done, value: item } = await items.next();
      // A key that is no longer valid gets nothing that followed.
      if (done || !await isStillAllowed()) return undefined;
      const bytes = encode(item);
      const now = core.clock.now();
      if (!bytes && now - lastSentAt < HEARTBEAT_MS) continue;
      lastSentAt = now;
      return bytes ?? HEARTBEAT;
    }
  };
  const close = async () => {
    end?.();
    await items.return(undefined);
  };
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const bytes = await next().catch((error) => {
        // The response has begun and can only be ended. The client reconnects.
        if (!stopped.aborted) logOnce(core, error);
      });
      if (gone.signal.aborted) return;
      if (bytes) return controller.enqueue(bytes);
      controller.close();
      await close();
    },
    async cancel() {
      gone.abort();
      await close();
    },
  }, { highWaterMark: 0 });
  return c.body(body, 200, HEADERS);
}

/** Returns the chunks of an answer as a stream, which are made only as fast as the client reads. */
export function streamChunks(
  chunks: AsyncGenerator<Uint8Array<ArrayBuffer>>,
  { onError, onEnd }: { onError: (error: unknown) => void; onEnd?: () => void },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let hasLeft = false;
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (hasLeft) return;
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        if (hasLeft) return;
        onError(error);
        throw error; // breaks the connection, so that no client takes the answer for complete
      }
    },
    async cancel() {
      hasLeft = true;
      await chunks.return(undefined);
      onEnd?.();
    },
  }, { highWaterMark: 0 });
}

/** Returns a check that fails once the stream's key is no longer valid or, without one, once there is a key. */
function accessCheckOf(c: Context<ApiEnv>, core: Core): () => Promise<boolean> {
  const principal = principalOf(c);
  if (principal) return createKeyCheck(core, principal);
  return async () => !c.env?.isKeyless || !await isAuthRequired(core);
}

/** An error that ends many streams at once is logged for the first of them. */
const logged = new WeakSet<object>();

/** Logs the error of a stream, unless it has ended another one before. */
function logOnce({ log }: Pick<Core, "log">, error: unknown): void {
  if (error instanceof Error && logged.has(error)) return;
  if (error instanceof Error) logged.add(error);
  log.error("The event stream broke", { reason: messageOf(error) });
}
