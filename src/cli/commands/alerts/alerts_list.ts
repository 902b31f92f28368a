import type { CommandContext } from "../../command.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderRules } from "../../render/render_rules.ts";

const NONE = "No alert rules yet. Add one: " +
  'purser alerts add --name "Daily limit" --threshold-usd 10 --threshold-type per_day_usd --severity warning';

/** `purser alerts list` */
export async function alertsList(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  const { columns } = ctx.terminal.stdout;
  await printAnswer(
    ctx,
    await api.alerts.rules.$get(),
    (rules) =>
      rules.length === 0
        ? NONE
        : renderRules(rules, { columns, style: ctx.style, hasUnicode: ctx.terminal.hasUnicode }),
  );
}
