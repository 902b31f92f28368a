import type { Clock } from "../../../kernel/clock.ts";
import { decodeKeys } from "./decode_keys.ts";

/** How long the rest of a sequence may take; after that, Esc was the key Esc. */
const PATIENCE_MS = 100;

/**
 * Reads keys from a terminal in raw mode until its end, or the signal. `read` gives the next bytes, null at
 * the end; one read may stay unanswered.
 */
export async function* readKeys(
  read: () => Promise<Uint8Array | null>,
  { clock, signal }: { clock: Pick<Clock, "sleep">; signal: AbortSignal },
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const aborted = Promise.withResolvers<null>();
  const onAbort = () => aborted.resolve(null);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    let rest = "";
    let reading = read();
    while (true) {
      const came = await Promise.race([
        reading,
        aborted.promise,
        ...(rest ? [waitedFor(reading, clock)] : []),
      ]);
      if (came === null) break;
      const text = came === "waited" ? "" : decoder.decode(came, { stream: true });
      const decoded = decodeKeys(rest + text, { isAll: came === "waited" });
      rest = decoded.rest;
      yield* decoded.keys;
      if (came !== "waited") reading = read();
    }
    if (!signal.aborted) yield* decodeKeys(rest, { isAll: true }).keys;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Resolves when nothing has come in time. */
async function waitedFor(reading: Promise<unknown>, clock: Pick<Clock, "sleep">): Promise<"waited"> {
  const done = new AbortController();
  reading.finally(() => done.abort()).catch(() => {});
  await clock.sleep(PATIENCE_MS, done.signal);
  return "waited";
}
