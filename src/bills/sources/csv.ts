import {
  BILL_CATEGORIES,
  BILL_LINE_DECIMALS,
  BILL_LINE_TEXTS,
  type BillCategory,
} from "../../contract/values.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { toCamelCase } from "../../kernel/text.ts";
import type { BillLine } from "../lines/bill_line.ts";
import { type Answer, dollarsOf, statedOf, timeOf } from "./answer.ts";
import { type BillFile, defineBillSource } from "./bill_source.ts";
import { readTable, type Row } from "./tables.ts";

/** The fields of lines that a column may have; those of a column that has no other name are found by these. */
const FIELDS = [
  ...["starts_at", "ends_at", "series", "category", ...BILL_LINE_TEXTS, ...BILL_LINE_DECIMALS],
  ...["amount_cents", "provider"],
];
/** Those that are taken as they are. */
const STATED = [...BILL_LINE_TEXTS, "quantity", "list_amount"] as const;

/** A table of any provider, whose columns are named by their fields. */
export default defineBillSource({
  name: "csv",
  title: "A table in CSV or Parquet",
  seen: "2026-11-27: its own",
  provider: null,
  delayMs: 2 * DAY_MS,
  finalAfterDays: 7,
  mapping: 1,
  holes: ["Only what its columns have"],
  series: ["cost"],
  areRowsDistinct: true,
  readFile: (file) => readTable(file, (columns) => readerOf(file, columns)),
});

function readerOf(file: BillFile, columns: readonly string[]) {
  const refuse = (fault: string) => new PurserError("invalid", `Cannot import ${file.name}: ${fault}`);
  const unknown = Object.keys(file.columns).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw refuse(`there is no field ${unknown}; known are ${FIELDS.join(", ")}`);
  const columnOf = new Map(
    FIELDS.map((field) =>
      [field, file.columns[field] ?? (columns.includes(field) ? field : undefined)] as const
    )
      .filter((pair): pair is readonly [string, string] => pair[1] !== undefined),
  );
  const missing = [...columnOf.values()].find((column) => !columns.includes(column));
  if (missing !== undefined) throw refuse(`it has no column ${missing}; it has ${columns.join(", ")}`);
  if (!columnOf.has("starts_at")) {
    throw refuse(
      `the column of starts_at is not named; give it as --columns "starts_at=…", of ${columns.join(", ")}`,
    );
  }
  for (const field of ["amount", "list_amount"]) {
    if (!/cent/i.test(columnOf.get(field) ?? "")) continue;
    throw refuse(
      `its column ${
        columnOf.get(field)
      } seems to be of cents, and ${field} is of dollars; name it amount_cents`,
    );
  }
  if (columnOf.has("amount") && columnOf.has("amount_cents")) {
    throw refuse("it names both amount and amount_cents");
  }
  const used = new Set(columnOf.values());
  const ignored = columns.filter((column) => !used.has(column));
  return (answer: Answer, row: Row) => {
    for (const column of ignored) if (row[column] !== undefined) answer.count(`column ${column}`);
    const of = (field: string) => columnOf.has(field) ? row[columnOf.get(field)!] : undefined;
    const startsAt = timeOf(of("starts_at"), "starts_at");
    const category = (of("category") ?? "usage").toLowerCase();
    const amount = dollarsOf(of("amount_cents")) ?? of("amount");
    answer.lines.push({
      series: (of("series") ?? "cost") as BillLine["series"],
      category: BILL_CATEGORIES.includes(category as BillCategory) ? category as BillCategory : "adjustment",
      startsAt,
      endsAt: of("ends_at") === undefined ? startsAt + DAY_MS : timeOf(of("ends_at"), "ends_at"),
      ...Object.fromEntries(STATED.map((field) => [toCamelCase(field), of(field)])),
      amount,
      currency: (amount ?? of("list_amount")) === undefined
        ? undefined
        : (of("currency") ?? "USD").toUpperCase(),
      other: statedOf({ provider: of("provider") }),
    });
  };
}
