import { PurserError } from "../../kernel/errors.ts";
import { sha256Hex } from "../../kernel/encoding.ts";
import { VERSION } from "../../kernel/version.ts";
import { parsePriceData } from "../catalog/parse_price_data.ts";
import type { PriceData } from "../catalog/price_data.ts";

/** The first field of a copy: the version that has checked the prices, and the SHA-256 of all that follows. */
const CHECKED = /^\{"checked":"(\S+) ([0-9a-f]{64})",/;

/** Returns the text of a copy of checked prices, which is a file of prices too. */
export async function formatCopy(data: PriceData): Promise<string> {
  const rest = JSON.stringify(data).slice(1);
  return `{"checked":"${VERSION} ${await sha256Hex(rest)}",${rest}`;
}

/** Returns whether a file names the day of its prices, as copies do; published ones don't. */
export function hasHead(text: string): boolean {
  return /^\s*\{\s*"(?:checked|source)"\s*:/.test(text);
}

/**
 * Reads a copy. The check of every price takes ten times as long as to read them, so it is repeated only for a copy of another
 * version. Throws `invalid` for one that is damaged.
 */
export async function parseCopy(text: string): Promise<PriceData> {
  const [field, version, hash] = CHECKED.exec(text) ?? [];
  const damaged = (reason: string) => new PurserError("invalid", `the copy is damaged: ${reason}`);
  if (field === undefined) throw damaged("it doesn't begin with its checksum");
  if (await sha256Hex(text.slice(field.length)) !== hash) throw damaged("its checksum is another one");
  if (version === VERSION) return JSON.parse(`{${text.slice(field.length)}`);
  const { data, skipped: [fault] } = parsePriceData(text);
  if (fault === undefined) return data;
  throw damaged(`${fault.entry}: ${fault.reason}`);
}
