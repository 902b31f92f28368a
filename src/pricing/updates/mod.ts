/** Newer prices than those of the release: read, checked against those in use, and kept in the user's data directory. */

import { type Clock, toIso } from "../../kernel/clock.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { holdResponse } from "../../kernel/single_send.ts";
import { files } from "../../kernel/files/files.ts";
import { readTextFile } from "../../kernel/files/read_text_file.ts";
import { replaceFile } from "../../kernel/files/replace_file.ts";
import { bundledPrices } from "../catalog/bundled_prices.ts";
import { countSkipped, parsePriceData } from "../catalog/parse_price_data.ts";
import { refuseWrongUnits } from "../catalog/wrong_units.ts";
import { entriesOf } from "./entries.ts";
import { type Accepted, type MergedPrices, mergePrices } from "./merge_prices.ts";
import { formatCopy, hasHead } from "./price_copy.ts";
import { pathOfPrices, type PriceSourceName, readUsedPrices } from "./used_prices.ts";
import { systemReason } from "../../kernel/system_errors.ts";

export type { RateChange } from "./entries.ts";
export { PRICE_SOURCES, updatedAt } from "./used_prices.ts";

/** The published file of each source. */
export const PRICE_URLS: Readonly<Record<PriceSourceName, string>> = {
  "genai-prices": "https://raw.githubusercontent.com/pydantic/genai-prices/main/prices/new_data/v2/data.json",
  litellm: "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json",
};

/** The license of both published files; `THIRD_PARTY_NOTICES.md` has their texts. */
const LICENSE = "MIT";

/** The parts of a process that an update needs. */
interface UpdateContext extends ReadContext {
  /** The folder of the user's updated prices. */
  folder: string;
  log: Log;
}

/** One update. */
export interface UpdateInput {
  /** A path or a URL. */
  from: string;
  accepted: Accepted;
  /** Writes nothing. */
  isDryRun: boolean;
}

/** The result of an update: the difference to the prices before it. */
export interface PriceUpdate extends Omit<MergedPrices, "data"> {
  source: PriceSourceName;
  from: string;
  /** The day of the new prices, and that of the previous ones. */
  date: string;
  previousDate: string;
  /** The file that they were written to; undefined of a dry run. */
  path: string | undefined;
  /** The number of models with prices. */
  models: number;
  /** The accepted names for which the update changes nothing. */
  unknown: string[];
  /** The number of published entries without a price for calls, by reason. */
  skipped: Readonly<Record<string, number>>;
}

/**
 * Takes published prices of one source into a checked copy in the folder of prices, from where every process of this user
 * reads them. See `mergePrices()` for the changes that are held back. The previous copy is kept beside it, as `.bak`.
 *
 * @throws {PurserError} `invalid`, `too_large` or `unavailable` files; the prices in use are unchanged
 */
export async function updatePrices(ctx: UpdateContext, input: UpdateInput): Promise<PriceUpdate> {
  const { text, ...origin } = await readPriceText(ctx, input.from);
  const head = hasHead(text) ? {} : { ...origin, ...(origin.url && { license: LICENSE }) };
  const parsed = parsePriceData(text, head);
  const used = await readUsedPrices(ctx.folder, ctx.log);
  const [present, other] = parsed.data.source === "litellm"
    ? [used.litellm, used.genai]
    : [used.genai, used.litellm];
  const pause = () => ctx.clock.sleep(0);
  await pause();
  const { data: next, skipped } = refuseWrongUnits(parsed, [other]);
  await pause();
  const { date: previousDate } = present;
  const refuse = (reason: string) =>
    new PurserError("invalid", `Cannot take the prices of ${input.from}: ${reason}`);
  if (next.date > toIso(ctx.clock.now()).slice(0, 10)) {
    throw refuse(`their date, ${next.date}, is in the future`);
  }
  if (next.date < previousDate) {
    throw refuse(`they are of ${next.date}, and those in use are newer, of ${previousDate}`);
  }
  const { data, ...difference } = await mergePrices(used, next, input.accepted, {
    now: ctx.clock.now(),
    release: used.updated.size === 0 ? undefined : await bundledPrices(),
    refused: new Map(skipped.map(({ entry, reason }) => [entry, reason])),
    pause,
  });
  const path = pathOfPrices(ctx.folder, next.source);
  if (!input.isDryRun) {
    await replaceFile(path, await formatCopy(data), { backup: `${path}.bak` });
  }
  return {
    source: next.source,
    from: input.from,
    date: next.date,
    previousDate,
    path: input.isDryRun ? undefined : path,
    models: entriesOf(data).size,
    ...difference,
    unknown: findUnknown(input.accepted, difference),
    skipped: countSkipped(skipped),
  };
}

/** Returns the accepted names for which the update changes nothing. */
function findUnknown(
  accepted: Accepted,
  { added, changed, removed, held }: Omit<MergedPrices, "data">,
): string[] {
  if (accepted === "all") return [];
  const known = new Set([...added, ...[...changed, ...removed, ...held].map(({ model }) => model)]);
  return [...accepted].filter((name) => !known.has(name));
}

/** The published files have under 4 MB. */
const MAX_PRICE_BYTES = 16 * 1024 * 1024;

/** The time for a whole download. */
export const DOWNLOAD_TIMEOUT_MS = 30_000;

/** A file of prices as it was read. */
interface PriceText {
  text: string;
  /** The day of the prices, unless the file names another one. */
  date: string;
  /** The address it was downloaded from. */
  url?: string;
}

/** The parts of a process that reading prices needs. */
interface ReadContext {
  clock: Clock;
  fetch: typeof globalThis.fetch;
  /** Ends a download. */
  signal?: AbortSignal;
}

/** Reads prices from a path or a URL, at most 16 MB. Throws `invalid`, `too_large` or `unavailable`. */
async function readPriceText(ctx: ReadContext, from: string): Promise<PriceText> {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(from) ? await download(ctx, from) : await readFile(ctx, from);
}

function tooLarge(from: string): PurserError {
  return new PurserError(
    "too_large",
    `Cannot take the prices of ${from}: they have over ${MAX_PRICE_BYTES / 1024 / 1024} MB`,
  );
}

async function readFile({ clock }: ReadContext, path: string): Promise<PriceText> {
  try {
    const text = await readTextFile(path, { maxBytes: MAX_PRICE_BYTES });
    const { modifiedAt = Infinity } = await files.stampOf(path) ?? {};
    return { text, date: toIso(Math.min(modifiedAt, clock.now())).slice(0, 10) };
  } catch (error) {
    if (error instanceof PurserError) throw tooLarge(path);
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
    const response = holdResponse(
      await fetch(url, {
        redirect: "manual",
        signal: signal ? AbortSignal.any([timedOut.signal, signal]) : timedOut.signal,
        headers: { accept: "application/json, text/plain" },
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
