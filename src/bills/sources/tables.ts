import { PurserError } from "../../kernel/errors.ts";
import { parseDecimal } from "../lines/decimal.ts";
import { CsvFault, readCsv } from "../../kernel/files/read_csv.ts";
import { Answer } from "./answer.ts";
import type { BillFile, BillPage } from "./bill_source.ts";

/** The lines of one page of a file. */
const PAGE_LINES = 500;

/** A row of a table, by the names of its columns; empty cells are left out. */
export type Row = Readonly<Record<string, string>>;

/**
 * Reads the rows of a CSV or Parquet file a page at a time. `begin` checks the columns, and returns the function that adds the lines of a row and
 * returns the account that it states. Throws `invalid` for a table that is cut off.
 */
export async function* readTable(
  file: BillFile,
  begin: (columns: readonly string[]) => (answer: Answer, row: Row) => string | undefined | void,
): AsyncGenerator<BillPage> {
  let columns: readonly string[] | undefined;
  let add: ReturnType<typeof begin> | undefined;
  let answer = new Answer();
  let account: string | undefined;
  let rows = 0;
  const refuse = (fault: string) => new PurserError("invalid", `Cannot import ${file.name}: ${fault}`);
  try {
    for await (const cells of file.rows?.() ?? readCsv(file.text())) {
      if (columns === undefined) add = begin(columns = cells.map((cell) => cell.trim()));
      else {
        rows++;
        const before = answer.lines.length;
        const named = columns.map((column, index) => [column, cells[index]!.trim()] as const);
        const stated = add!(
          answer,
          Object.fromEntries(named.filter(([, cell]) => cell !== "" && cell !== "NULL")),
        );
        for (const line of answer.lines.slice(before)) {
          for (const field of ["quantity", "amount", "listAmount"] as const) {
            if (line[field] !== undefined) parseDecimal(line[field], `the ${field} of row ${rows}`);
          }
        }
        if (stated !== undefined && account !== undefined && stated !== account) {
          throw refuse(`it has lines of the accounts ${account} and ${stated}; split it by account`);
        }
        account ??= stated ?? undefined;
        if (answer.lines.length >= PAGE_LINES) {
          yield answer.page({ account, next: String(rows) });
          answer = new Answer();
        }
      }
    }
  } catch (error) {
    throw error instanceof CsvFault ? refuse(`${error.message}; is it whole?`) : error;
  }
  if (columns === undefined) throw refuse("it is empty");
  yield answer.page({ account });
}
