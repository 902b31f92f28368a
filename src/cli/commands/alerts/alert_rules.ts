import type { RuleTest } from "../../../alerts/mod.ts";
import type { AlertRule } from "../../../contract/alerts/alert_rules.ts";
import { DEFAULT_COOLDOWN_SECONDS, MAX_COOLDOWN_SECONDS } from "../../../contract/limits.ts";
import { REPEATS, SEVERITIES, THRESHOLD_TYPES } from "../../../contract/values.ts";
import { NAME_PATTERN } from "../../../kernel/ids.ts";
import { parseUsd, toUsd } from "../../../kernel/money.ts";
import { arg, type Command, type CommandContext, flag, option } from "../../command.ts";
import { chooseByName } from "../../parse/choose_by_name.ts";
import { checkId, idInPath } from "../../parse/command_id.ts";
import { checkExclusive, checkName } from "../../parse/given_fields.ts";
import type { Options } from "../../parse/options.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { describeUnknown } from "../../render/describe_budget.ts";
import { describeRule, describeWatch, formatCooldown } from "../../render/describe_rule.ts";
import { formatSpent, paintSeverity, paintSpent } from "../../render/format_spent.ts";
import { formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { type Column, putIdsBelow, renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import type { Style } from "../../terminal/style.ts";
import { textWidth } from "../../terminal/text_width.ts";
import { postTest } from "../channels/post_notification.ts";

/** The argument of a command on a rule: its id, or its name where one rule has it. */
const RULE_ARG = arg("RULE", { live: "rule" });

const RULE = { one: "an alert rule", many: "rules", list: "purser alerts list" };

/**
 * Returns the id of the rule that a command has as its argument. What begins with `rule_` is an id; anything else is looked
 * up as a name, exactly. The API knows rules by their ids alone.
 */
async function findRuleId(ctx: CommandContext): Promise<string> {
  const text = ctx.args[0]!;
  if (text.startsWith("rule_") && NAME_PATTERN.test(text)) return text;
  const { api } = await ctx.connect();
  const rules = await (await api.alerts.rules.$get({ query: {} })).json();
  const named = rules.map(({ rule_id, name }) => ({ id: rule_id, name }));
  return chooseByName(text, named, RULE, ctx.options.command);
}

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
  detail:
    "The test is sent once to every channel, regardless of its min_severity. Exit code 1 if any channel fails.",
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

/** The options for the fields of a rule. */
const RULE_OPTIONS = {
  name: option("NAME", "Name shown in notifications"),
  "threshold-usd": option("USD", "Threshold in USD"),
  "threshold-type": option("TYPE", "Window to measure", { oneOf: THRESHOLD_TYPES }),
  severity: option("SEVERITY", "Severity", { oneOf: SEVERITIES }),
  agent: option("NAME", "Only the spending of this agent", { live: "agent" }),
  cooldown: option("SECONDS", `Minimum time between two alerts (default ${DEFAULT_COOLDOWN_SECONDS})`),
  repeat: option("MODE", "cooldown (default), or once_per_window: once for each run, session, day, …", {
    oneOf: REPEATS,
  }),
  disabled: flag("Disable the rule"),
};

/** Returns the fields that are given, and undefined for the others. Throws a `UsageError`. */
function readRuleFields(options: Options) {
  return {
    name: options.read("name", checkName),
    threshold_usd: options.read("threshold-usd", readThreshold),
    threshold_type: options.oneOf("threshold-type", THRESHOLD_TYPES),
    severity: options.oneOf("severity", SEVERITIES),
    agent_id: options.read("agent", checkId),
    cooldown_seconds: options.wholeNumber("cooldown", { min: 0, max: MAX_COOLDOWN_SECONDS }),
    repeat: options.oneOf("repeat", REPEATS),
    enabled: options.has("disabled") ? false : undefined,
  };
}

function readThreshold(text: string): number {
  const threshold = parseUsd(text.replace(/^\$/, ""));
  if (threshold <= 0n) throw new Error(`${text} is not greater than 0`);
  return toUsd(threshold);
}

const REQUIRED = ["name", "threshold-usd", "threshold-type", "severity"] as const;

/** `purser alerts add …` */
export const alertsAdd: Command = {
  name: "alerts add",
  args: [],
  summary: "Add an alert rule",
  detail:
    "When spending reaches the threshold, an alert goes to every channel whose min_severity it reaches; see purser " +
    "channels list. While spending stays at or above it, the alert is repeated after each cooldown, unless --repeat says " +
    "otherwise. An hour is the last 60 minutes; days and months are in UTC.",
  options: { ...RULE_OPTIONS, disabled: flag("Add the rule disabled") },
  examples: [
    [
      'purser alerts add --name "Daily limit" --threshold-usd 10 --threshold-type per_day_usd --severity warning',
      "All agents together",
    ],
    [
      "purser alerts add --name Runaway --threshold-usd 0.50 --threshold-type per_run_usd --severity critical " +
      "--agent researcher --cooldown 0",
      "Alert on every call once a run has cost $0.50",
    ],
  ],
  run: addRule,
};

async function addRule(ctx: CommandContext): Promise<void> {
  const rule = readRule(ctx.options);
  const { api } = await ctx.connect();
  let unknown: string | undefined;
  await printAnswer(ctx, await api.alerts.rules.$post({ json: rule }), (added) => {
    unknown = describeUnknown(added.unknown);
    return escapeText(`Added rule ${added.rule_id} ${added.name}: ${describeRule(added)}`);
  });
  if (unknown) ctx.warn(escapeText(unknown));
}

function readRule(options: Options) {
  const missing = REQUIRED.filter((name) => !options.has(name)).map((name) => `--${name}`);
  if (missing.length > 0) {
    throw new UsageError(`Cannot add a rule without ${missing.join(", ")}`, options.command);
  }
  const { name, threshold_usd, threshold_type, severity, ...others } = readRuleFields(options);
  return {
    ...others,
    name: name!,
    threshold_usd: threshold_usd!,
    threshold_type: threshold_type!,
    severity: severity!,
  };
}

/** `purser alerts set RULE …` */
export const alertsSet: Command = {
  name: "alerts set",
  args: [RULE_ARG],
  summary: "Change an alert rule",
  detail:
    "Changes only the given fields. A new threshold, type, agent or repeat resets the windows in which the rule has fired.",
  options: {
    ...RULE_OPTIONS,
    "all-agents": flag("Undo --agent: the spending of all agents"),
    enabled: flag("Enable the rule"),
  },
  examples: [
    ['purser alerts set "Daily limit" --threshold-usd 25', ""],
    ["purser alerts set rule_42 --name Nightly --all-agents --cooldown 600", "By its id"],
  ],
  needsDatabase: true,
  run: setRule,
};

async function setRule(ctx: CommandContext): Promise<void> {
  const changes = readChanges(ctx);
  const ruleId = await findRuleId(ctx);
  const { api } = await ctx.connect();
  const answer = await api.alerts.rules[":rule_id"].$patch({
    param: { rule_id: idInPath(ruleId) },
    json: changes,
  });
  let unknown: string | undefined;
  await printAnswer(ctx, answer, (rule) => {
    unknown = describeUnknown(rule.unknown);
    return escapeText(`Changed rule ${rule.rule_id} ${rule.name}: ${describeRule(rule)}`);
  });
  if (unknown) ctx.warn(escapeText(unknown));
}

function readChanges({ options }: CommandContext) {
  checkExclusive(options, ["agent", "all-agents"], ["enabled", "disabled"]);
  const changes = {
    ...readRuleFields(options),
    ...(options.has("all-agents") && { agent_id: null }),
    ...(options.has("enabled") && { enabled: true }),
  };
  if (Object.values(changes).every((value) => value === undefined)) {
    throw new UsageError(
      "Cannot change a rule without an option, such as --threshold-usd or --cooldown",
      options.command,
    );
  }
  return changes;
}
