import { cellOf, toLines } from "../../kernel/csv.ts";
import { nextOf, send } from "./request.ts";

/** The source of a download: a list of the API, or the rows that the page has. */
export type Source = ListSource | RowSource;

interface ListSource {
  path: string;
  /** The name of the file. */
  name: string;
  /** The field with the list of an answer that is an object. */
  field?: string;
  /** Values of fields that the page filters by; null and undefined are any. */
  keep?: Readonly<Record<string, string | null | undefined>>;
}

interface RowSource {
  name: string;
  /** Rows with the fields of the API, as its JSON has them. */
  rows: readonly Entry[];
}

/** The most entries of a list that a download reads. */
export const MAX_DOWNLOADED = 10_000;

/** The entries of a page for a download; no list has less at most. */
const PAGE = 500;

/** The cells of a line by their column, as they stand in the CSV, or an entry of a JSON list. */
type Entry = Record<string, unknown>;

/**
 * Saves a source as CSV or JSON: rows as they are, and a list as the API's own answers, page by page, as one. Returns
 * whether the list continues after the entries that were read.
 */
export async function download(source: Source, type: "csv" | "json"): Promise<boolean> {
  const accept = type === "csv" ? "text/csv" : "application/json";
  const file = `${source.name}.${type}`;
  if ("rows" in source) {
    save(type === "csv" ? rowsToCsv(source.rows) : JSON.stringify(source.rows), accept, file);
    return false;
  }
  const entries: Entry[] = [];
  const columns = new Set<string>();
  let next: string | undefined = source.path.replace(
    /([?&]limit=)(\d+)/,
    (_, name, limit) => name + Math.max(PAGE, limit),
  );
  while (next !== undefined && entries.length < MAX_DOWNLOADED) {
    const response = await send(next, { headers: { accept } });
    const text = await response.text();
    entries.push(...type === "csv" ? readCsv(text, columns) : readJson(text, source));
    next = nextOf(response.headers.get("link"));
  }
  const kept = entries.slice(0, MAX_DOWNLOADED).filter((entry) => isKept(entry, source));
  save(type === "csv" ? toCsv(kept, columns) : JSON.stringify(kept), accept, file);
  return next !== undefined || entries.length > MAX_DOWNLOADED;
}

function readJson(text: string, { field }: ListSource): Entry[] {
  const answer = JSON.parse(text);
  return field === undefined ? answer : answer[field];
}

/** Reads the lines of a page; a page has columns of its own where optional fields are in some pages only. */
function readCsv(text: string, columns: Set<string>): Entry[] {
  const lines: string[][] = [[]];
  for (const [, cell, end] of text.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/g)) {
    lines.at(-1)!.push(cell!);
    if (end !== ",") lines.push([]);
  }
  const [head = [], ...rows] = lines.slice(0, -1);
  for (const name of head) columns.add(name);
  return rows.map((cells) => Object.fromEntries(head.map((name, index) => [name, cells[index]])));
}

function toCsv(entries: readonly Entry[], columns: ReadonlySet<string>): string {
  const names = [...columns];
  return toLines([names, ...entries.map((entry) => names.map((name) => entry[name] as string ?? ""))]);
}

function rowsToCsv(rows: readonly Entry[]): string {
  const names = [...new Set(rows.flatMap(Object.keys))];
  return toLines([names, ...rows.map((row) => names.map((name) => cellOf(name, row[name])))]);
}

function isKept(entry: Entry, { keep = {} }: ListSource): boolean {
  return Object.entries(keep).every(([name, value]) => !value || entry[name] === value);
}

function save(text: string, type: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
