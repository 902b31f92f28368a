import { createHash } from "node:crypto";
import {
  BILL_CATEGORIES,
  BILL_LINE_DECIMALS,
  BILL_LINE_TEXTS,
  BILL_SERIES,
  type BillLineState,
} from "../../contract/values.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { toCanonicalText } from "../../kernel/json/canonical_json.ts";
import { roundUsd } from "../../kernel/money.ts";
import { withoutUndefined } from "../../kernel/records.ts";
import { toCamelCase } from "../../kernel/text.ts";
import { type SqlValue, type Store, toObjects } from "../../store/mod.ts";
import type { BillLine } from "./bill_line.ts";
import { formatDecimal, parseDecimal } from "./decimal.ts";

/* The rows of the lines of bills. */

const TEXT_COLUMNS = [...BILL_LINE_TEXTS, ...BILL_LINE_DECIMALS];
const DECIMALS = BILL_LINE_DECIMALS.map(toCamelCase);
const TEXTS = [...BILL_LINE_TEXTS.map(toCamelCase), ...DECIMALS];
/** The fields that a revision may change: lines of one source and account are told apart by all others. */
const CONTENT: readonly string[] = [...DECIMALS, "unit"];

/** The columns of a line that are integers. */
export const LINE_INTEGERS = [
  "starts_at",
  "ends_at",
  "is_batch",
  "amount_nano_usd",
  "list_nano_usd",
  "is_equivalent",
];
/** All columns of a line, in the order of the values that `toRow()` returns. */
export const LINE_COLUMNS = [
  ...["natural_key", "content", "month", "series", "category", "other"],
  ...LINE_INTEGERS,
  ...TEXT_COLUMNS,
];

/** The longest text of a line, in characters. */
const MAX_TEXT = 1_000;

/**
 * Returns the row of a line. Decimal numbers lose their exponents and trailing zeros, and no digit.
 *
 * @throws {PurserError} `invalid` for a line that can't be kept
 */
export function toRow(line: BillLine): SqlValue[] {
  const checked = checkLine(line);
  const isUsd = checked.currency === "USD";
  const nano = (amount: string | undefined) => amount === undefined || !isUsd ? null : roundUsd(amount);
  return [
    hashOf(checked, (field) => !CONTENT.includes(field)),
    hashOf(checked, (field) => CONTENT.includes(field)),
    toIso(checked.startsAt).slice(0, 7),
    ...[checked.series, checked.category],
    checked.other === undefined ? null : toCanonicalText(checked.other),
    ...[checked.startsAt, checked.endsAt, checked.isBatch === undefined ? null : Number(checked.isBatch)],
    ...[nano(checked.amount), nano(checked.listAmount), Number(checked.isEquivalent ?? false)],
    ...TEXTS.map((field) => checked[field] ?? null),
  ];
}

/** Returns 128 bits: two lines of one source never have the same by chance. */
function hashOf(line: BillLine, has: (field: string) => boolean): string {
  const picked = Object.fromEntries(Object.entries(line).filter(([field]) => has(field)));
  return createHash("sha256").update(toCanonicalText(picked)).digest("hex").slice(0, 32);
}

function checkLine(given: BillLine): BillLine {
  const line = withoutUndefined(given) as BillLine;
  const refuse = (fault: string) => new PurserError("invalid", `Cannot keep a line of a bill: ${fault}`);
  if (!BILL_SERIES.includes(line.series)) throw refuse(`it has the series ${line.series}`);
  if (!BILL_CATEGORIES.includes(line.category)) throw refuse(`it has the category ${line.category}`);
  const isTime = (at: number) => Number.isSafeInteger(at) && at > 0 && at < 253_402_300_800_000;
  if (!isTime(line.startsAt) || !isTime(line.endsAt) || line.endsAt < line.startsAt) {
    throw refuse("its time is missing, or ends before it starts");
  }
  if ((line.amount ?? line.listAmount) !== undefined && !/^[A-Z]{3}$/.test(line.currency ?? "")) {
    throw refuse("it has an amount without a currency of three capital letters");
  }
  const texts = TEXTS.filter((field) => line[field] !== undefined);
  const isText = (text: unknown) =>
    typeof text === "string" && text.length <= MAX_TEXT && !text.includes("\0");
  const other = Object.entries(line.other ?? {}).flat();
  if (!texts.every((field) => isText(line[field])) || !other.every(isText) || other.length > 100) {
    throw refuse(`a text of it has more than ${MAX_TEXT} characters, or a NUL`);
  }
  for (const field of DECIMALS) {
    const text = line[field];
    if (text !== undefined) {
      line[field] = formatDecimal(parseDecimal(text, `the ${field} of a line of a bill`));
    }
  }
  if (line.other && Object.keys(line.other).length === 0) delete line.other;
  return line;
}

/** A line as it is kept. */
export interface KeptLine extends BillLine {
  position: number;
  source: string;
  account: string;
  importId: string;
  state: BillLineState;
  /** 1, and one more for each change. */
  revision: number;
  /** The import that has replaced it. */
  replacedBy?: string;
  /** The period that it belongs to. */
  month: string;
  /** The amount in nano-USD, rounded half to even; undefined in another currency. */
  amountNanoUsd?: bigint;
}

/** SQL for the states of the lines that count in their month. */
export const COUNTED = "'current', 'closed', 'reversal'";

/** The lines to read. */
export interface LineFilter {
  source?: string | undefined;
  account?: string | undefined;
  month?: string | undefined;
  /** Of their start, in milliseconds since the epoch: [from, to). */
  from?: number | undefined;
  to?: number | undefined;
  /** Default: `current`; of a month, those that count in it. */
  state?: KeptLine["state"] | undefined;
}

const READ_COLUMNS = [
  ...["position", "source", "account", "import_id", "state", "revision", "replaced_by"],
  ...LINE_COLUMNS,
];

/** Reads at most `limit` lines after a position, in the order in which they came. */
export async function readBillLines(
  { store }: { store: Pick<Store, "read"> },
  { source, account, month, from, to, state }: LineFilter,
  { after = 0, limit }: { after?: number | undefined; limit: number },
): Promise<KeptLine[]> {
  const conditions: (readonly [string, SqlValue | undefined])[] = [
    ["source = ?", source],
    ["account = ?", account],
    ["month = ?", month],
    ["starts_at >= ?", from],
    ["starts_at < ?", to],
    ["position > ?", after],
  ];
  const given = conditions.filter(([, value]) => value !== undefined);
  const counted = state ? `'${state}'` : month === undefined ? "'current'" : COUNTED;
  const where = [`state IN (${counted})`, ...given.map(([sql]) => sql)];
  const result = await store.read({
    sql: `SELECT ${READ_COLUMNS.join(", ")} FROM bill_lines WHERE ${
      where.join(" AND ")
    } ORDER BY position LIMIT ?`,
    args: [...given.map(([, value]) => value!), limit],
  });
  return toObjects(result).map(fromRow);
}

function fromRow(row: Record<string, SqlValue>): KeptLine {
  const text = (column: string) => row[column] as string | null ?? undefined;
  return withoutUndefined({
    position: Number(row.position),
    source: row.source,
    account: row.account,
    importId: row.import_id,
    state: row.state,
    revision: Number(row.revision),
    replacedBy: text("replaced_by"),
    month: row.month,
    series: row.series,
    category: row.category,
    startsAt: Number(row.starts_at),
    endsAt: Number(row.ends_at),
    isBatch: row.is_batch === null ? undefined : Number(row.is_batch) !== 0,
    other: row.other === null ? undefined : JSON.parse(row.other as string),
    isEquivalent: Number(row.is_equivalent) !== 0 || undefined,
    amountNanoUsd: row.amount_nano_usd === null ? undefined : BigInt(row.amount_nano_usd as bigint),
    ...Object.fromEntries(TEXT_COLUMNS.map((column) => [toCamelCase(column), text(column)])),
  }) as unknown as KeptLine;
}
