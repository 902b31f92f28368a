import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { replaceFile } from "../../kernel/replace_file.ts";
import { countSkipped, parsePriceData } from "../catalog/parse_price_data.ts";
import { entriesOf } from "./entries.ts";
import { type Accepted, type MergedPrices, mergePrices } from "./merge_prices.ts";
import { formatCopy, hasHead } from "./price_copy.ts";
import { type ReadContext, readPriceText } from "./read_prices.ts";
import { pathOfPrices, type PriceSourceName, readUsedPrices } from "./used_prices.ts";

/** The published file of each source. */
export const PRICE_URLS: Readonly<Record<PriceSourceName, string>> = {
  "genai-prices": "https://raw.githubusercontent.com/pydantic/genai-prices/main/prices/new_data/v2/data.json",
  litellm: "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json",
};

/** The license of both published files; `src/pricing/catalog/data/LICENSES.md` has its text. */
const LICENSE = "MIT";

/** The parts of a process that an update needs. */
export interface UpdateContext extends ReadContext {
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
  /** The accepted names of which the update changes nothing. */
  unknown: string[];
  /** The number of published entries without a price for calls, by reason. */
  skipped: Readonly<Record<string, number>>;
}

/**
 * Takes published prices of one source into a checked copy in the folder of prices, from where every process of this user
 * reads them. See `mergePrices()` for what is held back. The previous copy is kept beside it, as `.bak`.
 *
 * @throws {PurserError} `invalid`, `too_large` or `unavailable` files; the prices in use are unchanged
 */
export async function updatePrices(ctx: UpdateContext, input: UpdateInput): Promise<PriceUpdate> {
  const { text, ...origin } = await readPriceText(ctx, input.from);
  const head = hasHead(text) ? {} : { ...origin, ...(origin.url && { license: LICENSE }) };
  const { data: next, skipped } = parsePriceData(text, head);
  const used = await readUsedPrices(ctx.folder, ctx.log);
  const { date: previousDate } = next.source === "litellm" ? used.litellm : used.genai;
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
    pause: () => ctx.clock.sleep(0),
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

/** Returns the accepted names of which the update changes nothing. */
function findUnknown(
  accepted: Accepted,
  { added, changed, removed, held }: Omit<MergedPrices, "data">,
): string[] {
  if (accepted === "all") return [];
  const known = new Set([...added, ...[...changed, ...removed, ...held].map(({ model }) => model)]);
  return [...accepted].filter((name) => !known.has(name));
}
