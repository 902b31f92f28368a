import type { WhatIf } from "../../contract/costs.ts";
import type { Grouping } from "../../contract/values.ts";
import { type NanoUsd, parseTotalUsd } from "../../kernel/money.ts";
import { formatAmounts, formatCount } from "./format_values.ts";
import { type CostLayout, costOf, nameOf } from "./render_costs.ts";
import { renderTable } from "./render_table.ts";

interface Line {
  name: string;
  calls: number;
  actual: NanoUsd | null;
  other: NanoUsd | null;
}

/** Renders the cost of groups beside that of the same usage on another model. */
export function renderWhatIf({ rows, model }: WhatIf, groupBy: Grouping, layout: CostLayout): string {
  const lines = rows.map((row): Line => ({
    name: nameOf(row, groupBy),
    calls: row.model_calls,
    actual: row.cost_usd === null ? null : costOf(row),
    other: row.what_if_cost_usd === null ? null : parseTotalUsd(row.what_if_cost_usd),
  }));
  const all = lines.length === 1 ? lines : [...lines, totalOf(lines)];
  const amounts = formatAmounts(all.flatMap(({ actual, other }) => [actual ?? 0n, other ?? 0n]));
  const cell = (line: Line, which: "actual" | "other") =>
    line[which] === null ? "no price" : amounts[all.indexOf(line) * 2 + Number(which === "other")]!;
  return renderTable(all, [
    { title: groupBy.toUpperCase(), cell: ({ name }) => name, cutTo: 12 },
    { title: "CALLS", align: "right", cell: ({ calls }) => formatCount(calls), drop: 1 },
    { title: "COST", align: "right", cell: (line) => cell(line, "actual") },
    { title: `ON ${model}`, align: "right", cell: (line) => cell(line, "other") },
    { title: "CHANGE", align: "right", cell: changeOf, drop: 2 },
  ], layout);
}

function totalOf(lines: readonly Line[]): Line {
  const sum = (which: "actual" | "other") => {
    const known = lines.flatMap((line) => line[which] ?? []);
    return known.length === 0 ? null : known.reduce((a, b) => a + b, 0n);
  };
  const calls = lines.reduce((total, line) => total + line.calls, 0);
  return { name: "All", calls, actual: sum("actual"), other: sum("other") };
}

function changeOf({ actual, other }: Line): string {
  if (actual === null || other === null || actual === 0n) return "";
  const percent = Number((other - actual) * 1000n / actual) / 10;
  return `${percent > 0 ? "+" : ""}${Math.round(percent)}%`;
}
