import { PurserError } from "../../kernel/errors.ts";

/** The quotes and ends of statements, and what no dump has outside of its texts: it would reach other files. */
const MARKS = /'|\b(?:ATTACH|VACUUM)\b|;\n(INSERT INTO |CREATE TABLE )|;\n(CREATE (?!TABLE ))/gi;

/** The longest text that `MARKS` has to see at once. */
const LONGEST_MARK = 16;

const END = "COMMIT;";

/**
 * Executes the dump of a database (SQL, as of `sqlite3 .dump`) as its text arrives: rows by and by, so that the memory doesn't
 * grow with them, and the indexes, triggers and views, which come last, at its end.
 */
export class DumpReader {
  #text = "";
  /** The text before it is scanned. */
  #scanned = 0;
  #isInText = false;
  /** In the schema, which is not cut: a trigger has statements of its own. */
  #isInSchema = false;

  constructor(private readonly execute: (sql: string) => void) {}

  push(text: string): void {
    this.#text += text;
    const end = this.#scan(this.#text.length - LONGEST_MARK);
    if (end === 0) return;
    this.#execute(this.#text.slice(0, end));
    this.#text = this.#text.slice(end);
    this.#scanned -= end;
  }

  /**
   * Executes the rest.
   *
   * @throws {PurserError} `unavailable` if the dump is not complete
   */
  end(): void {
    this.#scan(this.#text.length);
    if (this.#isInText || !this.#text.trimEnd().endsWith(END)) {
      throw new PurserError(
        "unavailable",
        "Cannot back up the database: the server's dump of it is not complete; try again",
      );
    }
    this.#execute(this.#text);
  }

  /** Scans up to an offset; returns the end of the last statement that is complete. */
  #scan(limit: number): number {
    let end = 0;
    MARKS.lastIndex = this.#scanned;
    for (let found = MARKS.exec(this.#text); found && found.index < limit; found = MARKS.exec(this.#text)) {
      const { 0: mark, 1: isRow, 2: isSchema, index } = found;
      this.#scanned = MARKS.lastIndex = index + (isRow || isSchema ? 2 : mark.length);
      if (mark === "'") this.#isInText = !this.#isInText;
      else if (this.#isInText) continue;
      else if (isSchema) this.#isInSchema = true;
      else if (isRow && !this.#isInSchema) end = index + 2;
      else if (!isRow) {
        throw new PurserError("invalid", `Cannot back up the database: the server's dump has ${mark} in it`);
      }
    }
    this.#scanned = Math.max(this.#scanned, limit);
    return end;
  }

  /** SQL ends at a zero character, which a text may have. */
  #execute(sql: string): void {
    this.execute(sql.replaceAll("\0", "'||char(0)||'"));
  }
}
