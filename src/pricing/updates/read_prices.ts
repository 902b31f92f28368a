import { type Clock, toIso } from "../../kernel/clock.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { systemReason } from "../../kernel/system_errors.ts";

/** The published files have under 4 MB. */
export const MAX_PRICE_BYTES = 16 * 1024 * 1024;

/** The time for a whole download. */
export const DOWNLOAD_TIMEOUT_MS = 30_000;

/** A file of prices as it was read. */
export interface PriceText {
  text: string;
  /** The day of the prices, unless the file names another one. */
  date: string;
  /** The address it was downloaded from. */
  url?: string;
}

/** The parts of a process that reading prices needs. */
export interface ReadContext {
  clock: Clock;
  fetch: typeof globalThis.fetch;
  /** Ends a download. */
  signal?: AbortSignal;
}

/** Reads prices from a path or a URL, at most 16 MB. Throws `invalid`, `too_large` or `unavailable`. */
export async function readPriceText(ctx: ReadContext, from: string): Promise<PriceText> {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(from) ? await download(ctx, from) : await readFile(ctx, from);
}

function tooLarge(from: string): PurserError {
  return new PurserError(
    "too_large",
    `Cannot take the prices of ${from}: they have over ${MAX_PRICE_BYTES / 1024 / 1024} MB`,
  );
}

async function readFile({ clock }: ReadContext, path: string): Promise<PriceText> {
  const { open } = await import("node:fs/promises");
  try {
    await using file = await open(path, "r");
    const { size, mtimeMs } = await file.stat();
    if (size > MAX_PRICE_BYTES) throw tooLarge(path);
    // A pipe or a device has no size.
    const text = await readText(file.createReadStream({ autoClose: false }), path);
    return { text, date: toIso(Math.min(mtimeMs, clock.now())).slice(0, 10) };
  } catch (error) {
    if (error instanceof PurserError) throw error;
    throw new PurserError("invalid", `Cannot read the prices of ${path}: ${systemReason(error)}`, {
      cause: error,
    });
  }
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

function parseUrl(from: string): URL {
  const refuse = (reason: string) => new PurserError("invalid", `Cannot download prices: ${reason}`);
  if (!URL.canParse(from)) throw refuse("the address is no URL");
  const url = new URL(from);
  if (url.username !== "" || url.password !== "") throw refuse("the URL contains a password");
  if (url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname))) return url;
  throw refuse(`${url.protocol}// is not allowed; give an https:// URL, or http:// of this machine`);
}

async function download({ clock, fetch, signal }: ReadContext, from: string): Promise<PriceText> {
  const url = parseUrl(from);
  const done = new AbortController();
  const timedOut = new AbortController();
  void clock.sleep(DOWNLOAD_TIMEOUT_MS, done.signal).then(() => {
    if (!done.signal.aborted) timedOut.abort();
  });
  const fail = (reason: string, cause?: unknown) =>
    new PurserError("unavailable", `Cannot download ${url.href}: ${reason}`, { cause });
  try {
    const response = await fetch(url, {
      redirect: "manual",
      signal: signal ? AbortSignal.any([timedOut.signal, signal]) : timedOut.signal,
      headers: { accept: "application/json, text/plain" },
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      const target = response.headers.get("location");
      throw fail(
        target === null
          ? `the server answered ${response.status}`
          : `it redirects to ${target}, which is not followed; give the URL of the file itself`,
      );
    }
    const text = await readText(response.body ?? [], url.href);
    return { text, date: toIso(clock.now()).slice(0, 10), url: url.href };
  } catch (error) {
    if (timedOut.signal.aborted) throw fail(`it took longer than ${DOWNLOAD_TIMEOUT_MS / 1000} s`, error);
    throw error instanceof PurserError ? error : fail(messageOf(error), error);
  } finally {
    done.abort();
  }
}

/** Reads bytes as text, and stops reading where they are too many. */
async function readText(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  from: string,
): Promise<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the rest.
    if (bytes > MAX_PRICE_BYTES) throw tooLarge(from);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
