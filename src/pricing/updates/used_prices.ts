import { PurserError } from "../../kernel/errors.ts";
import { files } from "../../kernel/files/files.ts";
import { readTextFile } from "../../kernel/files/read_text_file.ts";
import type { Log } from "../../kernel/log.ts";
import { systemCodeOf, systemReason } from "../../kernel/system_errors.ts";
import { bundledPrices } from "../catalog/bundled_prices.ts";
import type { GenaiPrices, LitellmPrices, PriceData } from "../catalog/price_data.ts";
import { parseCopy } from "./price_copy.ts";

/** The sources of prices; the first wins where both know a model. */
export const PRICE_SOURCES = ["genai-prices", "litellm"] as const;
export type PriceSourceName = typeof PRICE_SOURCES[number];

/** The prices that calls are priced by: of each source the newest, of this release or of an update. */
export interface UsedPrices {
  genai: GenaiPrices;
  litellm: LitellmPrices;
  /** The sources whose prices are those of an update. */
  updated: ReadonlySet<PriceSourceName>;
}

const FILE_NAMES: Readonly<Record<PriceSourceName, string>> = {
  "genai-prices": "genai_prices.json",
  litellm: "litellm.json",
};

/** Returns the path of a source's updated prices in the folder of prices. */
export function pathOfPrices(folder: string, source: PriceSourceName): string {
  const separator = folder.includes("\\") ? "\\" : "/";
  return `${folder.replace(/[\\/]$/, "")}${separator}${FILE_NAMES[source]}`;
}

/** Reads the prices in use. Without a folder, or where a copy in it is damaged, they are those of this release. */
export async function readUsedPrices(folder: string | undefined, log: Log): Promise<UsedPrices> {
  const { genai, litellm } = await bundledPrices();
  const used = { genai, litellm, updated: new Set<PriceSourceName>() };
  if (folder === undefined) return used;
  for (const source of PRICE_SOURCES) {
    const copy = await readCopy(folder, source, log);
    if (copy?.source === "genai-prices" && copy.date >= used.genai.date) used.genai = copy;
    else if (copy?.source === "litellm" && copy.date >= used.litellm.date) used.litellm = copy;
    else continue;
    used.updated.add(source);
  }
  return used;
}

/** Returns a text that changes when the prices in a folder do. */
export async function stampOfPrices(folder: string): Promise<string> {
  const stamps = await Promise.all(
    PRICE_SOURCES.map((source) => files.stampOf(pathOfPrices(folder, source))),
  );
  return JSON.stringify(stamps);
}

/** Returns when the prices of a source were written, in milliseconds since the epoch; undefined before the first update. */
export async function updatedAt(folder: string, source: PriceSourceName): Promise<number | undefined> {
  return (await files.stampOf(pathOfPrices(folder, source)))?.modifiedAt;
}

/** The most bytes of a copy: it has fewer than the prices that it was made of. */
const MAX_COPY_BYTES = 64 * 1024 * 1024;

/** Reads the copy of an update, unless it is damaged. */
async function readCopy(folder: string, source: PriceSourceName, log: Log): Promise<PriceData | undefined> {
  const path = pathOfPrices(folder, source);
  try {
    const data = await parseCopy(await readTextFile(path, { maxBytes: MAX_COPY_BYTES }));
    if (data.source === source) return data;
    throw new PurserError("invalid", `the copy has the prices of ${data.source}`);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return undefined;
    log.warn("Updated prices cannot be used, those of this release are; run purser prices update", {
      path,
      reason: systemReason(error),
    });
    return undefined;
  }
}
