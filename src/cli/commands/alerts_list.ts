import type { CommandContext } from "../command.ts";
import { describeWatch, formatCooldown, formatSpent, paintSeverity, paintSpent } from "../describe_rule.ts";
import { formatTime } from "../format_values.ts";
import { printAnswer } from "../print_answer.ts";
import { renderTable } from "../render_table.ts";

const NONE = "No alert rules yet. Add one: " +
  'purser alerts add --name "Daily limit" --threshold-usd 10 --threshold-type per_day_usd --severity warning';

/** `purser alerts list` */
export async function alertsList(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  await printAnswer(ctx, await api.alerts.rules.$get(), (rules) => {
    if (rules.length === 0) return NONE;
    return renderTable(rules, [
      { title: "NAME", cell: (rule) => rule.name, paint: (_, style) => style.bold, cutTo: 8 },
      { title: "ID", cell: (rule) => rule.rule_id },
      { title: "WATCHES", cell: describeWatch, cutTo: 8 },
      { title: "SPENT", cell: (rule) => formatSpent(rule.value_usd, rule.threshold_usd), paint: paintSpent },
      { title: "SEVERITY", cell: (rule) => rule.severity, paint: paintSeverity, drop: 1 },
      { title: "COOLDOWN", cell: formatCooldown, drop: 3 },
      {
        title: "ENABLED",
        cell: (rule) => rule.enabled ? "yes" : "no",
        paint: (rule, style) => rule.enabled ? undefined : style.yellow,
      },
      {
        title: "LAST FIRED (UTC)",
        cell: (rule) => rule.last_fired_at === null ? "never" : formatTime(rule.last_fired_at).slice(0, 16),
        drop: 2,
      },
    ], { columns: ctx.terminal.stdout.columns, style: ctx.style, hasUnicode: ctx.terminal.hasUnicode });
  });
}
