import { BILL_LINE_DECIMALS, BILL_LINE_TEXTS } from "../../contract/values.ts";
import { toCamelCase } from "../../kernel/text.ts";
import type { Store } from "../../store/mod.ts";
import type { NumberedLine } from "./cells.ts";
import { CURRENT_LINES } from "./open_month.ts";

/** The texts of a line that are compared. */
const TEXTS = ["series", "category", ...BILL_LINE_TEXTS, ...BILL_LINE_DECIMALS].filter((column) =>
  column !== "actor" && column !== "unit"
);
const FIELDS = TEXTS.map(toCamelCase);

/** Reads the lines of a bill that start in [from, to): of a day there may be many, so only what is compared. */
export async function readDayLines(
  store: Pick<Store, "read">,
  { source, account, from, to }: { source: string; account: string | undefined; from: number; to: number },
): Promise<NumberedLine[]> {
  const { rows } = await store.read({
    sql: `SELECT position, starts_at, ends_at, is_batch, is_equivalent, ${TEXTS.join(", ")} FROM bill_lines
WHERE ${CURRENT_LINES}`,
    args: [source, from, to, account ?? ""],
  });
  // Most texts repeat, and each row has copies of its own.
  const once = new Map<string, string>();
  const onceOf = (text: string) => {
    const known = once.get(text);
    if (known === undefined) once.set(text, text);
    return known ?? text;
  };
  return rows.map(([position, startsAt, endsAt, isBatch, isEquivalent, ...texts]) => {
    const line: Record<string, unknown> = {
      position: Number(position),
      startsAt: Number(startsAt),
      endsAt: Number(endsAt),
    };
    if (isBatch !== null) line.isBatch = Number(isBatch) !== 0;
    if (Number(isEquivalent) !== 0) line.isEquivalent = true;
    texts.forEach((text, index) => {
      if (text !== null) line[FIELDS[index]!] = onceOf(text as string);
    });
    return line as unknown as NumberedLine;
  });
}
