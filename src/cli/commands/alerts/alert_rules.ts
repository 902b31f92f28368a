import type { RuleTest } from "../../../alerts/mod.ts";
import type { AlertRule } from "../../../contract/alert_rules.ts";
import type { Command, CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { describeWatch, formatCooldown } from "../../render/describe_rule.ts";
import { formatSpent, paintSeverity, paintSpent } from "../../render/format_spent.ts";
import { formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { type Column, putIdsBelow, renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import type { Style } from "../../terminal/style.ts";
import { textWidth } from "../../terminal/text_width.ts";
import { postTest } from "../channels/channels_try.ts";
import { findRuleId, RULE_ARG } from "./find_rule.ts";

const NONE = "No alert rules yet. Add one: " +
  'purser alerts add --name "Daily limit" --threshold-usd 10 --threshold-type per_day_usd --severity warning';

/** `purser alerts list` */
export const alertsList: Command = {
  name: "alerts list",
  args: [],
  summary: "List alert rules and their current spending",
  detail:
    "SPENT is the spending in the current hour, day or month. For a rule per run or session, it is the cost of the newest " +
    "run or session.",
  options: {},
  examples: [["purser alerts list", ""]],
  isReadOnly: true,
  run: listRules,
};

async function listRules(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  const { columns } = ctx.terminal.stdout;
  await printAnswer(
    ctx,
    await api.alerts.rules.$get({ query: {} }),
    (rules) =>
      rules.length === 0
        ? NONE
        : renderRules(rules, { columns, style: ctx.style, hasUnicode: ctx.terminal.hasUnicode }),
  );
}

const GAP = 2;

/** The minimum widths of NAME and WATCHES. NAME shrinks first: the id below identifies the rule too. */
const MIN_NAME_WIDTH = 12;
const MIN_WATCHES_WIDTH = 7;

/**
 * Renders rules as a table. Other commands need the whole id: where it leaves no room for WATCHES and SPENT, it goes to a
 * line of its own below each rule.
 */
function renderRules(
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

/** `purser alerts enable RULE` */
export const alertsEnable: Command = {
  name: "alerts enable",
  args: [RULE_ARG],
  summary: "Enable an alert rule",
  detail: "If the threshold is already reached, the rule fires when the next model call is booked.",
  options: {},
  examples: [['purser alerts enable "Daily limit"', ""]],
  needsDatabase: true,
  run: (ctx) => setRuleEnabled(ctx, true),
};

/** Enables or disables the rule that a command has as its argument. */
async function setRuleEnabled(ctx: CommandContext, enabled: boolean): Promise<void> {
  const ruleId = await findRuleId(ctx);
  const { api } = await ctx.connect();
  const answer = await api.alerts.rules[":rule_id"].$patch({
    param: { rule_id: idInPath(ruleId) },
    json: { enabled },
  });
  await printAnswer(
    ctx,
    answer,
    (rule) => escapeText(`${rule.enabled ? "Enabled" : "Disabled"} rule ${rule.rule_id} ${rule.name}`),
  );
}

/** `purser alerts disable RULE` */
export const alertsDisable: Command = {
  name: "alerts disable",
  args: [RULE_ARG],
  summary: "Disable an alert rule",
  options: {},
  examples: [["purser alerts disable rule_42", ""]],
  needsDatabase: true,
  run: (ctx) => setRuleEnabled(ctx, false),
};

/** `purser alerts remove RULE`. The API's response has no body, so `--json` prints nothing. */
export const alertsRemove: Command = {
  name: "alerts remove",
  args: [RULE_ARG],
  summary: "Remove an alert rule; its history stays",
  options: {},
  examples: [['purser alerts remove "Daily limit"', ""]],
  needsDatabase: true,
  run: removeRule,
};

async function removeRule(ctx: CommandContext): Promise<void> {
  const ruleId = await findRuleId(ctx);
  const { api } = await ctx.connect();
  await api.alerts.rules[":rule_id"].$delete({ param: { rule_id: idInPath(ruleId) } });
  if (!ctx.isJson) ctx.print(`Removed rule ${ruleId}; its history stays`);
}

/** `purser alerts test RULE` */
export const alertsTry: Command = {
  name: "alerts test",
  args: [RULE_ARG],
  summary: "Send a test alert of a rule through every channel",
  detail: "Sent once to every channel, whatever its min_severity. Exit code 1 if any channel fails.",
  options: {},
  examples: [['purser alerts test "Daily limit"', ""]],
  needsDatabase: true,
  run: tryRule,
};

async function tryRule(ctx: CommandContext): Promise<number> {
  const ruleId = await findRuleId(ctx);
  const connection = await ctx.connect();
  const url = connection.api.alerts.rules[":rule_id"].test.$url({ param: { rule_id: idInPath(ruleId) } });
  return await postTest<RuleTest>(ctx, connection, url, ({ results }) => results);
}
