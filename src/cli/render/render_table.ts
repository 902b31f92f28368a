import { escapeText } from "../terminal/escape_text.ts";
import { createStyle, type Paint, type Style } from "../terminal/style.ts";
import { cutText, textWidth } from "../terminal/text_width.ts";

/** A column of a table. */
export interface Column<Row> {
  title: string;
  /** Returns the text of a cell. Control characters in it are escaped. */
  cell: (row: Row) => string;
  align?: "right";
  /** The minimum width where there is room, so that tables below each other line up. */
  atLeast?: number;
  paint?: (row: Row, style: Style) => Paint | undefined;
  /**
   * Drops the column if there is no room: the highest value first, one below 1 only where cutting texts is not
   * enough.
   */
  drop?: number;
  /** The minimum width to which texts may be cut. */
  cutTo?: number;
  /** A column that takes the remaining width, within limits; its cells are drawn to that width. */
  stretch?: { min: number; max: number; draw: (row: Row, width: number) => string };
}

/** The form of a table. */
export interface Layout {
  /** The width; undefined where nothing is cut or dropped. */
  columns: number | undefined;
  style: Style;
  hasUnicode?: boolean;
}

const GAP = "  ";

/** Renders rows under a header, aligned. Without a width, nothing is cut or dropped. */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { columns: width, style, hasUnicode = true }: Layout,
): string {
  const laid = layOut(rows, columns, width ?? Infinity);
  const ellipsis = hasUnicode ? "…" : "~";
  const line = (texts: string[], paints: (Paint | undefined)[]) =>
    laid.map(({ column, width }, index) => {
      const text = cutText(texts[index]!, width, ellipsis);
      const space = " ".repeat(width - textWidth(text));
      const painted = paints[index]?.(text) ?? text;
      if (column.align === "right") return space + painted;
      return index === laid.length - 1 ? painted : painted + space;
    }).join(GAP).trimEnd();
  return [
    line(laid.map(({ column }) => column.title), laid.map(() => style.dim)),
    ...rows.map((row, index) =>
      line(
        laid.map(({ column, width, cells }) =>
          column.stretch ? column.stretch.draw(row, width) : cells[index]!
        ),
        laid.map(({ column }) => column.paint?.(row, style)),
      )
    ),
  ].join("\n");
}

interface LaidColumn<Row> {
  column: Column<Row>;
  cells: string[];
  /** The width of the texts. */
  natural: number;
  width: number;
}

function layOut<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  total: number,
): LaidColumn<Row>[] {
  // A title may have text that a server has sent, such as the name of a model.
  let laid: LaidColumn<Row>[] = columns.map(({ title, ...rest }) => {
    const column = { ...rest, title: escapeText(title) };
    const cells = column.stretch ? [] : rows.map((row) => escapeText(column.cell(row)));
    const natural = Math.max(textWidth(column.title), column.stretch?.min ?? 0, ...cells.map(textWidth));
    return { column, cells, natural, width: Math.max(natural, column.atLeast ?? 0) };
  });
  const gaps = () => GAP.length * (laid.length - 1);
  const excess = () => laid.reduce((sum, { width }) => sum + width, gaps()) - total;
  const excessWhenCut = () =>
    laid.reduce((sum, { column, width }) => sum + Math.min(width, column.cutTo ?? width), gaps()) - total;
  const dropWhile = (hasNoRoom: () => boolean, least: number) => {
    while (hasNoRoom()) {
      const going = laid.filter(({ column }) => (column.drop ?? -1) >= least)
        .sort((a, b) => b.column.drop! - a.column.drop!)[0];
      if (!going) return;
      laid = laid.filter((each) => each !== going);
    }
  };
  dropWhile(() => excess() > 0, 1);
  for (const each of laid) each.width = Math.max(each.natural, Math.min(each.width, each.width - excess()));
  dropWhile(() => excessWhenCut() > 0, 0);
  while (excess() > 0) {
    // The widest column shrinks first, so that columns end up about equally narrow.
    const widest = laid.filter(({ column, width }) => column.cutTo !== undefined && width > column.cutTo)
      .sort((a, b) => b.width - a.width)[0];
    if (!widest) break;
    widest.width--;
  }
  for (const each of laid) {
    const { stretch } = each.column;
    if (stretch) each.width = Math.max(each.width, Math.min(stretch.max, each.width - excess()));
  }
  return laid;
}

/** A table of things that other commands may name by their ids. */
interface Identified<Row> {
  id: (row: Row) => string;
  name: Column<Row>;
  /** The columns for which the id makes room: where it would cut one, it goes to a line of its own below its row. */
  needed: readonly Column<Row>[];
  /** All columns but the name and the id. */
  columns: (isBeside: boolean) => readonly Column<Row>[];
  /** The title of the column that says what is disabled; without it in the table, the line of the id does. */
  state: string;
}

/** Renders a table of things with their whole ids. */
export function renderWithIds<Row extends { enabled: boolean }>(
  rows: readonly Row[],
  { id, name, needed, columns, state }: Identified<Row>,
  layout: Layout,
): string {
  const { style } = layout;
  const idColumn = { title: "ID", cell: id };
  const plain = renderTable(rows, [name, idColumn, ...needed], {
    columns: undefined,
    style: createStyle(false),
  });
  const isBeside = Math.max(...plain.split("\n").map(textWidth)) <= (layout.columns ?? Infinity);
  const table = renderTable(rows, [name, ...isBeside ? [idColumn] : [], ...columns(isBeside)], layout);
  if (isBeside) return table;
  const hasState = table.split("\n")[0]!.includes(state);
  return putIdsBelow(
    table,
    rows.map((row) =>
      style.dim(escapeText(id(row))) + (row.enabled || hasState ? "" : `  ${style.yellow("disabled")}`)
    ),
  );
}

/** Puts each id on a line of its own below its row, for tables without room for a column of ids. */
export function putIdsBelow(table: string, idLines: readonly string[]): string {
  const [header, ...rows] = table.split("\n");
  return [header, ...rows.flatMap((row, index) => [row, `  ${idLines[index]}`])].join("\n");
}
