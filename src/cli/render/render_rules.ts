import type { AlertRule } from "../../alerts/mod.ts";
import { describeWatch, formatCooldown, formatSpent, paintSeverity, paintSpent } from "./describe_rule.ts";
import { escapeText } from "../terminal/escape_text.ts";
import { formatTime } from "./format_values.ts";
import { putIdsBelow } from "./put_ids_below.ts";
import { type Column, renderTable } from "./render_table.ts";
import type { Style } from "../terminal/style.ts";
import { textWidth } from "../terminal/text_width.ts";

const GAP = 2;

/** How narrow a rule's name and what it watches may get; the name first, since the id below says it too. */
const MIN_NAME_WIDTH = 12;
const MIN_WATCHES_WIDTH = 7;

/**
 * Rules as a table. An id is needed whole for other commands: where it leaves no room for what a rule watches and
 * what is spent, it goes to a line of its own below each rule.
 */
export function renderRules(
  rules: readonly AlertRule[],
  options: { columns: number | undefined; style: Style; hasUnicode: boolean },
): string {
  const { columns = Infinity, style } = options;
  const cells = {
    name: (rule: AlertRule) => rule.name,
    id: (rule: AlertRule) => rule.rule_id,
    watches: describeWatch,
    spent: (rule: AlertRule) => formatSpent(rule.value_usd, rule.threshold_usd),
    enabled: (rule: AlertRule) => rule.enabled ? "yes" : "no",
  };
  const widthOf = (title: string, cell: (rule: AlertRule) => string) =>
    Math.max(title.length, ...rules.map((rule) => textWidth(escapeText(cell(rule)))));
  const widths = Object.entries(cells).map(([title, cell]) => widthOf(title, cell));
  const isBeside = widths.reduce((sum, width) => sum + width + GAP, -GAP) <= columns;
  const roomToWatch = columns - MIN_NAME_WIDTH - widthOf("SPENT", cells.spent) - 2 * GAP;

  const id: Column<AlertRule> = { title: "ID", cell: cells.id };
  const enabled: Column<AlertRule> = {
    title: "ENABLED",
    cell: cells.enabled,
    paint: (rule) => rule.enabled ? undefined : style.yellow,
  };
  const table = renderTable(rules, [
    { title: "NAME", cell: cells.name, paint: () => style.bold, cutTo: MIN_NAME_WIDTH },
    ...(isBeside ? [id] : []),
    {
      title: "WATCHES",
      cell: cells.watches,
      cutTo: Math.max(MIN_WATCHES_WIDTH, Math.min(roomToWatch, widthOf("WATCHES", cells.watches))),
    },
    { title: "SPENT", cell: cells.spent, paint: paintSpent },
    { title: "SEVERITY", cell: (rule) => rule.severity, paint: paintSeverity, drop: 1 },
    { title: "COOLDOWN", cell: formatCooldown, drop: 3 },
    ...(isBeside ? [enabled] : []),
    {
      title: "LAST FIRED (UTC)",
      cell: (rule) => rule.last_fired_at === null ? "never" : formatTime(rule.last_fired_at).slice(0, 16),
      drop: 2,
    },
  ], options);
  if (isBeside) return table;
  const idLine = (rule: AlertRule) =>
    `${style.dim(escapeText(rule.rule_id))}${rule.enabled ? "" : `  ${style.yellow("disabled")}`}`;
  return putIdsBelow(table, rules.map(idLine));
}
