import type { PriceUpdate, RateChange } from "../../pricing/updates/mod.ts";
import { escapeText } from "../terminal/escape_text.ts";
import type { Paint, Style } from "../terminal/style.ts";
import { formatCount } from "./format_values.ts";
import { renderTable } from "./render_table.ts";

/** Number of rows of each kind; --json has all. */
const MAX_ROWS = 50;

const PAINTS = {
  added: "green",
  changed: "cyan",
  removed: "red",
  "held back": "yellow",
} as const satisfies Record<string, keyof Style>;

interface Row {
  change: keyof typeof PAINTS;
  model: string;
  rate?: RateChange;
  reason?: string;
}

/** Renders the difference of an update: what is added, changed, removed and held back. */
export function renderUpdate(
  update: PriceUpdate,
  layout: { columns: number | undefined; style: Style; hasUnicode: boolean },
): string {
  const kinds: [name: keyof typeof PAINTS, rows: Row[], count: number][] = [
    ["added", update.added.map((model) => ({ change: "added", model })), update.added.length],
    ["changed", update.changed.flatMap((one) => rowsOf("changed", one)), update.changed.length],
    ["removed", update.removed.map(({ model }) => ({ change: "removed", model })), update.removed.length],
    [
      "held back",
      update.held.flatMap((one) => [
        { change: "held back" as const, model: one.model, reason: `${one.change}: ${one.reason}` },
        ...one.change === "changed" ? rowsOf("held back", one) : [],
      ]),
      update.held.length,
    ],
  ];
  const { style } = layout;
  const counts = kinds.map(([name, , count]) => `${formatCount(count)} ${name}`).join(", ");
  const dates = update.previousDate === update.date
    ? update.date
    : `${update.previousDate} -> ${update.date}`;
  const title = `${style.bold(update.source)} ${dates}, ${formatCount(update.models)} models: ${counts}`;
  const shown = kinds.flatMap(([, rows]) => rows.slice(0, MAX_ROWS));
  if (shown.length === 0) return title;
  const table = renderTable(shown, [
    {
      title: "CHANGE",
      cell: ({ change }) => change,
      paint: ({ change }, style) => style[PAINTS[change]] as Paint,
    },
    { title: "MODEL", cell: ({ model }) => model, cutTo: 20 },
    { title: "RATE (USD)", cell: ({ rate, reason }) => rate?.rate ?? reason ?? "", cutTo: 14 },
    { title: "BEFORE", align: "right", cell: ({ rate }) => rate ? textOf(rate.before) : "" },
    { title: "AFTER", align: "right", cell: ({ rate }) => rate ? textOf(rate.after) : "" },
  ], layout);
  const more = kinds.filter(([, rows]) => rows.length > MAX_ROWS)
    .map(([name, rows]) => `and ${formatCount(rows.length - MAX_ROWS)} more rows ${name}: --json has all`);
  return [title, table, ...more.map((line) => style.dim(escapeText(line)))].join("\n");
}

function rowsOf(
  change: Row["change"],
  { model, rates }: { model: string; rates: readonly RateChange[] },
): Row[] {
  return rates.map((rate) => ({ change, model, rate }));
}

const textOf = (usd: number | null) => usd === null ? "none" : String(usd);
