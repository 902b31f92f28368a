import type { Clock } from "../clock.ts";
import { messageOf, PurserError } from "../errors.ts";
import { holdResponse } from "../single_send.ts";

/** The parts of a process that a download needs. */
export interface DownloadContext {
  clock: Clock;
  fetch: typeof globalThis.fetch;
  /** Ends a download. */
  signal?: AbortSignal;
}

/** One download. */
export interface Download {
  url: URL;
  /** The media types that it asks for. */
  accept: string;
  /** The most that it may have; the error if it has more. */
  maxBytes: number;
  tooLarge(): Error;
  /** The time for all of it. */
  timeoutMs: number;
}

/** Downloads a text, without following redirects. Throws `unavailable` if that fails, and what `tooLarge()` returns. */
export async function download(
  { clock, fetch, signal }: DownloadContext,
  { url, accept, maxBytes, tooLarge, timeoutMs }: Download,
): Promise<string> {
  const done = new AbortController();
  const timedOut = new AbortController();
  void clock.sleep(timeoutMs, done.signal).then(() => {
    if (!done.signal.aborted) timedOut.abort();
  });
  const fail = (reason: string, cause?: unknown) =>
    new PurserError("unavailable", `Cannot download ${url.href}: ${reason}`, { cause });
  try {
    const response = holdResponse(
      await fetch(url, {
        redirect: "manual",
        signal: signal ? AbortSignal.any([timedOut.signal, signal]) : timedOut.signal,
        headers: { accept },
      }),
    );
    if (response.status !== 200) {
      await response.body?.cancel();
      const target = response.headers.get("location");
      throw fail(
        target === null
          ? `the server answered ${response.status}`
          : `it redirects to ${target}, which is not followed; give the URL of the file itself`,
      );
    }
    return await readText(response.body ?? [], maxBytes, tooLarge);
  } catch (error) {
    if (timedOut.signal.aborted) throw fail(`it took longer than ${timeoutMs / 1000} s`, error);
    throw error instanceof PurserError ? error : fail(messageOf(error), error);
  } finally {
    done.abort();
  }
}

/** Reads bytes as text, and stops reading where they are too many. */
export async function readText(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the rest.
    if (bytes > maxBytes) throw tooLarge();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
