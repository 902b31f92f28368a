import type { Repricing } from "../../contract/repricings.ts";
import { formatCost } from "./format_cost.ts";
import { countOf, formatCount, formatTime } from "./format_values.ts";
import { type Column, type Layout, renderTable } from "./render_table.ts";

type Sums = Repricing["models"][number];

/** Renders what a repricing changes, by model. */
export function renderRepricing(repricing: Repricing, layout: Layout): string {
  const { models, calls, changed_calls, status, repricing_id } = repricing;
  if (calls === 0) return "No calls match";
  const isUndone = status === "undone" || status === "undoing";
  const all = models.length === 1 ? models : [...models, { ...repricing, provider: "", model: "" }];
  // An undone repricing has led from its result back to what was before.
  const rows = isUndone ? all.map(reverse) : all;
  const difference = isUndone ? -repricing.difference_usd : repricing.difference_usd;
  const verb = isUndone
    ? changed_calls === 1 ? "is back at its cost before" : "are back at their costs before"
    : status === "dry_run"
    ? "would change"
    : "have changed";
  const summary = `${countOf(changed_calls, "call")} of ${formatCount(calls)} ${verb}, by ${
    formatDifference(difference)
  } in all`;
  const shown = isUndone ? reverse(repricing) : repricing;
  const unpriced = [
    countUnless0(shown.unpriced_calls_after, "still without a known price"),
    countUnless0(shown.partly_priced_calls_after, "only partly priced"),
  ].filter(Boolean).join(", ");
  return [
    renderTable(rows, COLUMNS, layout),
    "",
    `${summary}${unpriced && `; ${unpriced}`}`,
    ...repricing_id === null ? [] : [
      `${repricing_id} is ${status}` +
      (status === "applied" ? `; purser reprice undo ${repricing_id} takes it back` : ""),
    ],
  ].join("\n");
}

/** Exchanges the sums before and after. */
function reverse<Of extends Omit<Sums, "provider" | "model">>(sums: Of): Of {
  return {
    ...sums,
    cost_usd_before: sums.cost_usd_after,
    cost_usd_after: sums.cost_usd_before,
    unpriced_calls_before: sums.unpriced_calls_after,
    unpriced_calls_after: sums.unpriced_calls_before,
    partly_priced_calls_before: sums.partly_priced_calls_after,
    partly_priced_calls_after: sums.partly_priced_calls_before,
  };
}

const COLUMNS: readonly Column<Sums>[] = [
  {
    title: "MODEL",
    cell: ({ provider, model }) => provider === "" ? "All" : `${provider}:${model}`,
    cutTo: 12,
  },
  { title: "CALLS", align: "right", cell: ({ calls }) => formatCount(calls), drop: 1 },
  { title: "CHANGED", align: "right", cell: ({ changed_calls }) => formatCount(changed_calls), drop: 2 },
  { title: "BEFORE", align: "right", cell: ({ cost_usd_before }) => formatCost(cost_usd_before) },
  { title: "AFTER", align: "right", cell: ({ cost_usd_after }) => formatCost(cost_usd_after) },
  {
    title: "UNPRICED",
    align: "right",
    cell: (row) => `${formatCount(row.unpriced_calls_before)} > ${formatCount(row.unpriced_calls_after)}`,
    drop: 3,
  },
];

const countUnless0 = (count: number, what: string) => count === 0 ? "" : `${formatCount(count)} ${what}`;

const formatDifference = (usd: number) => `${usd < 0 ? "-" : "+"}${formatCost(Math.abs(usd))}`;

/** Renders a list of repricings. */
export function renderRepricings(rows: readonly Repricing[], layout: Layout): string {
  return renderTable(rows, [
    { title: "REPRICING", cell: ({ repricing_id }) => repricing_id! },
    { title: "STATUS", cell: ({ status }) => status },
    { title: "WHEN (UTC)", cell: ({ created_at }) => formatTime(created_at).slice(0, 16), drop: 2 },
    { title: "CHANGED", align: "right", cell: ({ changed_calls }) => formatCount(changed_calls), drop: 1 },
    { title: "DIFFERENCE", align: "right", cell: ({ difference_usd }) => formatDifference(difference_usd) },
  ], layout);
}
