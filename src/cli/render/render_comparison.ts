import { type NanoUsd, parseTotalUsd } from "../../kernel/money.ts";
import { formatAmounts, formatChange } from "./format_cost.ts";
import { formatCount } from "./format_values.ts";
import { type CostGroups, type CostLayout, type CostRow, nameColumns } from "./render_costs.ts";
import { type Column, renderTable } from "./render_table.ts";

/** A row of costs with those of another span. */
export type ComparedRow = CostRow & {
  previous?: Pick<CostRow, "model_calls" | "cost_usd"> | undefined;
  difference_usd?: number | null | undefined;
};

/** Renders costs by group beside those of another span, with the difference, and the total of all groups. */
export function renderComparison(
  rows: readonly ComparedRow[],
  total: ComparedRow,
  groups: CostGroups,
  layout: CostLayout,
): string {
  const all = [...rows, total];
  const amounts = formatAmounts(all.flatMap((row) => [
    nanoOf(row.cost_usd),
    nanoOf(row.previous?.cost_usd),
    abs(nanoOf(row.difference_usd)),
  ]));
  const cell = (row: ComparedRow, usd: number | null | undefined, part: number) =>
    usd === null || usd === undefined ? "no price" : amounts[all.indexOf(row) * 3 + part]!;
  const [first, ...others] = nameColumns(all, groups, layout);
  const columns: Column<ComparedRow>[] = [
    { ...first!, cell: (row) => row === total ? "All" : first!.cell(row) },
    ...others.map((column) => ({
      ...column,
      cell: (row: ComparedRow) => row === total ? "" : column.cell(row),
    })),
    { title: "COST", align: "right", cell: (row) => cell(row, row.cost_usd, 0) },
    { title: "BEFORE", align: "right", cell: (row) => cell(row, row.previous?.cost_usd, 1) },
    {
      title: "DIFFERENCE",
      align: "right",
      cell: (row) =>
        row.difference_usd == null ? "" : signOf(row.difference_usd) + cell(row, row.difference_usd, 2),
      drop: 2,
    },
    {
      title: "CHANGE",
      align: "right",
      cell: changeOf,
      drop: 1,
    },
    { title: "CALLS", align: "right", cell: (row) => formatCount(row.model_calls), drop: 4 },
    { title: "BEFORE", align: "right", cell: (row) => formatCount(row.previous?.model_calls ?? 0), drop: 5 },
  ];
  return renderTable(all, columns, layout);
}

const nanoOf = (usd: number | null | undefined): NanoUsd => usd == null ? 0n : parseTotalUsd(usd);
const abs = (amount: NanoUsd) => amount < 0n ? -amount : amount;
const signOf = (usd: number) => usd < 0 ? "-" : usd > 0 ? "+" : "";

const changeOf = ({ cost_usd, previous }: ComparedRow) =>
  cost_usd === null ? "" : formatChange(nanoOf(previous?.cost_usd), nanoOf(cost_usd));
