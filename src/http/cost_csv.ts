import { type CostRow, CostSums } from "../contract/costs.ts";
import { type CostFilter, keyColumnsOf } from "../ledger/mod.ts";
import { formatUsd, parseTotalUsd } from "../kernel/money.ts";

const SUMS = Object.keys(CostSums.shape) as (keyof CostSums)[];

/**
 * Returns rows of costs as CSV (RFC 4180) with a header: the columns that identify a group, the sums, and with a comparison
 * `previous_…` and `difference_usd`. An unknown cost is empty.
 */
export function toCostCsv(rows: readonly CostRow[], filter: CostFilter): string {
  const isCompared = filter.compare !== undefined;
  const keys = keyColumnsOf(filter);
  const header = [
    ...keys,
    ...SUMS,
    ...isCompared ? [...SUMS.map((name) => `previous_${name}`), "difference_usd"] : [],
  ];
  const lines = rows.map((row) => [
    ...keys.map((name) => textCell(row[name] ?? "")),
    ...sumCells(row),
    ...isCompared ? [...sumCells(row.previous!), usdCell(row.difference_usd!)] : [],
  ]);
  return [header, ...lines].map((cells) => cells.join(",") + "\r\n").join("");
}

const sumCells = (sums: CostSums) =>
  SUMS.map((name) => name === "cost_usd" ? usdCell(sums.cost_usd) : String(sums[name]));

/** An amount as a plain decimal: the text of a number may be `1e-9`. */
const usdCell = (usd: number | null) => usd === null ? "" : formatUsd(parseTotalUsd(usd));

/**
 * Returns a text as a cell. Spreadsheets run a text that begins like a formula, also a quoted one, so that it gets an
 * apostrophe before it, which they hide.
 */
function textCell(text: string): string {
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
