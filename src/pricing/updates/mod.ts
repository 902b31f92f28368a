/** Newer prices than those of the release: read, checked against those in use, and kept in the user's data directory. */

import { toIso } from "../../kernel/clock.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { download, type DownloadContext } from "../../kernel/files/download.ts";
import { parseDownloadUrl } from "../../kernel/loopback_host.ts";
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
interface UpdateContext extends DownloadContext {
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

/** Reads prices from a path or a URL, at most 16 MB. Throws `invalid`, `too_large` or `unavailable`. */
async function readPriceText(ctx: DownloadContext, from: string): Promise<PriceText> {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(from) ? await downloadPrices(ctx, from) : await readFile(ctx, from);
}

function tooLarge(from: string): PurserError {
  return new PurserError(
    "too_large",
    `Cannot take the prices of ${from}: they have over ${MAX_PRICE_BYTES / 1024 / 1024} MB`,
  );
}

async function readFile({ clock }: DownloadContext, path: string): Promise<PriceText> {
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

async function downloadPrices(ctx: DownloadContext, from: string): Promise<PriceText> {
  const url = parseUrl(from);
  const text = await download(ctx, {
    url,
    accept: "application/json, text/plain",
    maxBytes: MAX_PRICE_BYTES,
    tooLarge: () => tooLarge(url.href),
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
  });
  return { text, date: toIso(ctx.clock.now()).slice(0, 10), url: url.href };
}

function parseUrl(from: string): URL {
  try {
    return parseDownloadUrl(from);
  } catch (error) {
    throw new PurserError("invalid", `Cannot download prices: ${messageOf(error)}`);
  }
}
