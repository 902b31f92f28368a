import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { hrefWith, useRoute } from "../hooks/route.ts";
import { download, MAX_DOWNLOADED, type Source } from "../hooks/download.ts";
import type { RequestError } from "../hooks/request.ts";
import { decimalsOf } from "../format/money.ts";
import { count } from "../format/number.ts";
import { escapeText } from "../../kernel/text.ts";
import { Link } from "./link.tsx";
import { DecimalsContext } from "./money.tsx";
import { useToast } from "./toast.tsx";

/** A column of a table. */
export interface Column<Row> {
  /** The name in the URL's `sort`, and the column's key. */
  id: string;
  title: string;
  cell(row: Row): ComponentChildren;
  /** Numbers stand at the right, in tabular figures. */
  isNumber?: boolean;
  /** Amounts are numbers that `sortBy` returns; all of a column have as many decimals. */
  isMoney?: boolean;
  /** The value that rows are sorted by, or true for the field `id`; a column without it doesn't sort. Amounts of the API may be used as they are. */
  sortBy?: true | ((row: Row) => Sortable);
}

type Sortable = number | string | null | undefined;

/** Returns what a column is sorted by. */
function sortOf<Row>(column: Column<Row> | undefined): ((row: Row) => Sortable) | undefined {
  const by = column?.sortBy;
  return by === true ? (row) => row[column!.id as keyof Row] as Sortable : by;
}

/** The most rows that are drawn at once: the time to draw them grows with their number. */
const MAX_DRAWN = 1_000;

/**
 * A table: it sorts by the URL's `sort` (`cost_usd`, descending `-cost_usd`), which is the same for all tables of a view
 * unless `sortParam` names another one, shows more rows by `more`, draws 1,000 of them at a time, and downloads the
 * whole list of `source`, or its rows, as CSV and JSON.
 */
export function Table<Row>(
  { caption, columns, rows, keyOf, source, more, defaultSort, sortParam = "sort", foot }: {
    /** The content of the table in a few words; read to screen readers, and the name of its region. */
    caption: string;
    columns: readonly Column<Row>[];
    rows: readonly Row[];
    keyOf(row: Row): string;
    source: Source;
    /** Reads the next page; undefined on the last one. */
    more?: () => void;
    /** The order without `sort` in the URL; undefined: as the API has it. */
    defaultSort?: string;
    sortParam?: string;
    /** A note below, such as "Top 10 of 240". */
    foot?: ComponentChildren;
  },
) {
  const { query } = useRoute();
  const sort = query.get(sortParam) ?? defaultSort;
  const { box, isStacked } = useStacked();
  const [drawn, setDrawn] = useState({ from: 0, sort });
  const from = drawn.sort === sort && drawn.from < rows.length ? drawn.from : 0;
  const to = Math.min(from + MAX_DRAWN, rows.length);
  const draw = (from: number) => () => setDrawn({ from, sort });
  const decimals = columns.map((column) => {
    const amountOf = column.isMoney && sortOf(column);
    return amountOf ? decimalsOf(rows.map(amountOf) as (number | null | undefined)[]) : undefined;
  });
  return (
    <div class="table-box">
      <div
        ref={box}
        class={isStacked ? "table-scroll stacked" : "table-scroll"}
        tabIndex={0}
        role="region"
        aria-label={caption}
      >
        <table>
          <caption class="hidden">{caption}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <Head key={column.id} column={column} sort={sort} sortParam={sortParam} />
              ))}
            </tr>
          </thead>
          <tbody>
            {sortRows(rows, columns, sort).slice(from, to).map((row) => (
              <tr key={keyOf(row)}>
                {columns.map((column, index) => (
                  <td
                    key={column.id}
                    class={isNumber(column) ? "number" : undefined}
                    data-title={column.title}
                  >
                    <DecimalsContext.Provider value={decimals[index]}>
                      <div class="cell">{column.cell(row)}</div>
                    </DecimalsContext.Provider>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="table-foot">
        {rows.length > MAX_DRAWN && (
          <>
            <button type="button" class="small" disabled={from === 0} onClick={draw(from - MAX_DRAWN)}>
              Previous
            </button>
            <button type="button" class="small" disabled={to === rows.length} onClick={draw(to)}>
              Next
            </button>
            <span class="muted">Rows {count(from + 1)} to {count(to)} of {count(rows.length)}</span>
          </>
        )}
        {more && to === rows.length && <button type="button" class="small" onClick={more}>Show more</button>}
        {foot && <span class="muted">{foot}</span>}
        <Downloads source={source} caption={caption} />
      </div>
    </div>
  );
}

const NARROW = "(max-width: 40rem)";

/** Returns whether each row of a table is a block of named lines: on narrow screens, and where its columns have no room. */
function useStacked() {
  const box = useRef<HTMLDivElement>(null);
  const [isStacked, setStacked] = useState(false);
  const neededWidth = useRef(0);
  const fit = useCallback(() => {
    if (!box.current) return;
    const { classList, clientWidth, scrollWidth } = box.current;
    if (!classList.contains("stacked")) neededWidth.current = scrollWidth;
    setStacked(clientWidth < neededWidth.current || matchMedia(NARROW).matches);
  }, []);
  useLayoutEffect(fit);
  useEffect(() => {
    const observer = new ResizeObserver(fit);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return { box, isStacked };
}

function isNumber<Row>({ isNumber, isMoney }: Column<Row>): boolean | undefined {
  return isNumber || isMoney;
}

function Head<Row>(
  { column, sort, sortParam }: { column: Column<Row>; sort: string | undefined; sortParam: string },
) {
  const { id, title, sortBy } = column;
  const isOfNumbers = isNumber(column);
  const isSorted = sort === id ? "ascending" : sort === `-${id}` ? "descending" : undefined;
  const next = isSorted === "descending" || (isSorted === undefined && !isOfNumbers) ? id : `-${id}`;
  return (
    <th scope="col" class={isOfNumbers ? "number" : undefined} aria-sort={isSorted}>
      {sortBy
        ? (
          <Link href={hrefWith({ [sortParam]: next })} class="sort">
            {title}
            <span class="sort-mark" aria-hidden="true">
              {isSorted ? (isSorted === "ascending" ? "↑" : "↓") : "↕"}
            </span>
          </Link>
        )
        : title}
    </th>
  );
}

/** Sorts rows by the column of a `sort`; rows without a value are last. */
function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: string | undefined,
): readonly Row[] {
  const direction = sort?.startsWith("-") ? -1 : 1;
  const valueOf = sortOf(columns.find(({ id }) => id === sort?.replace(/^-/, "")));
  if (!valueOf) return rows;
  return rows.toSorted((a, b) => {
    const [x, y] = [valueOf(a) ?? null, valueOf(b) ?? null];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    return direction * (x < y ? -1 : x > y ? 1 : 0);
  });
}

function Downloads({ source, caption }: { source: Source; caption: string }) {
  const { name } = source;
  const href = "path" in source ? source.path : "#";
  const toast = useToast();
  const [isBusy, setBusy] = useState(false);
  const start = (type: "csv" | "json") => (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    download(source, type).then(
      (hasMore) =>
        hasMore &&
        toast(
          `The list has more than ${count(MAX_DOWNLOADED)} entries; the file is of the first of them`,
          "warning",
        ),
      (error: RequestError) => toast(escapeText(error.message), "bad"),
    ).finally(() => setBusy(false));
  };
  return (
    <span class="downloads">
      <a
        href={href}
        download={`${name}.csv`}
        aria-label={`Download as CSV: ${caption}`}
        onClick={start("csv")}
      >
        CSV
      </a>
      <a
        href={href}
        download={`${name}.json`}
        aria-label={`Download as JSON: ${caption}`}
        onClick={start("json")}
      >
        JSON
      </a>
    </span>
  );
}
