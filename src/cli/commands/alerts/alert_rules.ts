import type { RuleTest } from "../../../alerts/mod.ts";
import type { AlertRule, RuleChanges, RuleInput } from "../../../contract/alerts/alert_rules.ts";
import { DEFAULT_COOLDOWN_SECONDS, LABEL_SCHEMA, MAX_COOLDOWN_SECONDS } from "../../../contract/limits.ts";
import { PLAN_THRESHOLD, REPEATS, RULE_THRESHOLDS, SEVERITIES } from "../../../contract/values.ts";
import { nameOfValue } from "../../../contract/costs/dimensions.ts";
import { NAME_PATTERN } from "../../../kernel/ids.ts";
import { parseUsd, toUsd } from "../../../kernel/money.ts";
import { arg, type Command, type CommandContext, earlierFlag, option } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { CALENDAR_OPTIONS, readMonths } from "../../parse/calendar_options.ts";
import { checkExclusive, checkName, readEither } from "../../parse/given_fields.ts";
import { readSubjects, SUBJECT_NAMES, SUBJECT_OPTIONS } from "../../parse/subject_options.ts";
import type { Options } from "../../parse/options.ts";
import { describePace, describeUnknown } from "../../render/describe_budget.ts";
import {
  describeRule,
  describeThreshold,
  describeWatch,
  formatCooldown,
} from "../../render/describe_rule.ts";
import { formatMeasured, paintSeverity, paintSpent } from "../../render/format_spent.ts";
import { formatMinute, formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderFields } from "../../render/render_fields.ts";
import { type Column, type Layout, renderWithIds } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { textWidth } from "../../terminal/text_width.ts";
import { type EditableKind, editCommands, findId } from "../authored_commands.ts";

/** The short forms of a threshold and its type. */
const WINDOWS = { hour: "per_hour_usd", day: "per_day_usd", month: "per_month_usd" } as const;
const WINDOW_NAMES = Object.keys(WINDOWS) as (keyof typeof WINDOWS)[];
const WINDOW_OPTIONS = Object.fromEntries(
  WINDOW_NAMES.map((
    name,
  ) => [name, option("USD", `Short for --threshold-type ${WINDOWS[name]} --threshold-usd USD`)]),
);

/** The fields of a rule that an author sets, as the options of `alerts add` and `alerts set`. */
const FIELDS = {
  name: option("NAME", "Name shown in notifications"),
  "threshold-usd": option("USD", "Threshold in USD"),
  "threshold-pct": option(
    "PERCENT",
    `Threshold of ${PLAN_THRESHOLD}: the share of a plan's window that is used`,
  ),
  "threshold-type": option("TYPE", "Window to measure", { oneOf: RULE_THRESHOLDS }),
  severity: option("SEVERITY", "Severity", { oneOf: SEVERITIES }),
  ...WINDOW_OPTIONS,
  ...SUBJECT_OPTIONS,
  "time-zone": CALENDAR_OPTIONS["time-zone"],
  "month-start-day": CALENDAR_OPTIONS["month-start-day"],
  cooldown: option("SECONDS", `Minimum time between two alerts (default ${DEFAULT_COOLDOWN_SECONDS})`),
  repeat: option("MODE", "cooldown (default), or once_per_window: once for each run, session, day, …", {
    oneOf: REPEATS,
  }),
};

/** Reads the given fields of a rule. Throws a `UsageError` that names the option. */
function readFields(options: Options): RuleChanges {
  const short = WINDOW_NAMES.find((name) => options.has(name));
  const others = [...WINDOW_NAMES, "threshold-type", "threshold-usd"].filter((name) => name !== short);
  checkExclusive(
    options,
    ["agent", "all-agents"],
    ...(short ? others.map((other) => [short, other] as const) : []),
  );
  return {
    name: options.read("name", checkName),
    threshold_usd: options.read(short ?? "threshold-usd", readThreshold),
    threshold_pct: options.read("threshold-pct", readPercent),
    threshold_type: short ? WINDOWS[short] : options.oneOf("threshold-type", RULE_THRESHOLDS),
    severity: options.oneOf("severity", SEVERITIES),
    ...readSubjects(options),
    ...(options.has("all-agents") && { agent_id: null }),
    ...readMonths(options),
    cooldown_seconds: options.wholeNumber("cooldown", { min: 0, max: MAX_COOLDOWN_SECONDS }),
    repeat: options.oneOf("repeat", REPEATS),
    enabled: readEither(options, "enabled", "disabled"),
  };
}

const isShort = (options: Options) => WINDOW_NAMES.some((name) => options.has(name));

/** Names a rule in short form by what it measures: `$50 in a day of each tag:customer`. */
const nameOf = (
  { threshold_usd = null, each = null, time_zone, month_start_day, ...rule }: RuleInput,
) =>
  describeThreshold({
    ...rule,
    ...{ each, threshold_usd, threshold_pct: rule.threshold_pct ?? undefined },
    ...(time_zone && { time_zone }),
    ...(month_start_day && { month_start_day }),
  }).slice(0, LABEL_SCHEMA.maxLength);

function readThreshold(text: string): number {
  const threshold = parseUsd(text.replace(/^\$/, ""));
  if (threshold <= 0n) throw new Error(`${text} is not greater than 0`);
  return toUsd(threshold);
}

function readPercent(text: string): number {
  const percent = /^\d+(\.\d{1,2})?%?$/.test(text) ? parseFloat(text) : 0;
  if (percent > 0 && percent <= 1_000) return percent;
  throw new Error(`${text} is not a percentage above 0, such as 80`);
}

/** Rules, as their commands know them. The API knows rules by their ids alone. */
const RULES: EditableKind<AlertRule, RuleInput> = {
  group: "alerts",
  noun: "rule",
  one: "an alert rule",
  arg: arg("RULE", { live: "rule" }),
  isId: (text) => text.startsWith("rule_") && NAME_PATTERN.test(text),
  async listNamed(api) {
    const rules = await (await api.alerts.rules.$get({ query: {} })).json();
    return rules.map(({ rule_id, name }) => ({ id: rule_id, name }));
  },
  fields: FIELDS,
  undo: { "all-agents": earlierFlag("--agent none") },
  required: (options) =>
    isShort(options) ? [] : [
      "name",
      options.text("threshold-type") === PLAN_THRESHOLD ? "threshold-pct" : "threshold-usd",
      "threshold-type",
      "severity",
    ],
  suchAs: "--threshold-usd or --cooldown",
  readFields,
  add: (api, json) => {
    const { name = nameOf(json), severity = "warning" } = json;
    return api.alerts.rules.$post({ json: { ...json, name, severity } });
  },
  change: (api, id, json) => api.alerts.rules[":rule_id"].$patch({ param: { rule_id: idInPath(id) }, json }),
  remove: (api, id) => api.alerts.rules[":rule_id"].$delete({ param: { rule_id: idInPath(id) } }),
  idOf: ({ rule_id }) => rule_id,
  describe: describeRule,
};

const NAMED_BY = "A rule is named by its id, or by its name if no other rule has it.";

const NONE = "No alert rules yet. Add one: " +
  'purser alerts add --name "Daily limit" --threshold-usd 10 --threshold-type per_day_usd --severity warning';

/** `purser alerts list` */
const alertsList: Command = {
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
  await printAnswer(
    ctx,
    await api.alerts.rules.$get({ query: {} }),
    (rules) => rules.length === 0 ? NONE : renderRules(rules, ctx.layout),
  );
}

const GAP = 2;

/** The minimum widths of NAME and WATCHES. NAME shrinks first: the id below identifies the rule too. */
const MIN_NAME_WIDTH = 12;
const MIN_WATCHES_WIDTH = 7;

function renderRules(rules: readonly AlertRule[], layout: Layout): string {
  const { columns = Infinity, style } = layout;
  const spentOf = formatMeasured<AlertRule>;
  const widest = (title: string, cell: (rule: AlertRule) => string) =>
    Math.max(title.length, ...rules.map((rule) => textWidth(escapeText(cell(rule)))));
  const roomToWatch = columns - MIN_NAME_WIDTH - widest("SPENT", spentOf) - 2 * GAP;
  const measured: Column<AlertRule>[] = [
    {
      title: "WATCHES",
      cell: describeWatch,
      cutTo: Math.max(MIN_WATCHES_WIDTH, Math.min(roomToWatch, widest("WATCHES", describeWatch))),
    },
    { title: "SPENT", cell: spentOf, paint: paintSpent },
  ];
  const enabled: Column<AlertRule> = {
    title: "ENABLED",
    cell: (rule) => rule.enabled ? "yes" : "no",
    paint: (rule) => rule.enabled ? undefined : style.yellow,
  };
  return renderWithIds(rules, {
    id: ({ rule_id }) => rule_id,
    name: { title: "NAME", cell: ({ name }) => name, paint: () => style.bold, cutTo: MIN_NAME_WIDTH },
    needed: [...measured, enabled],
    columns: (isBeside) => [
      ...measured,
      { title: "SEVERITY", cell: (rule) => rule.severity, paint: paintSeverity, drop: 1 },
      { title: "COOLDOWN", cell: formatCooldown, drop: 3 },
      ...isBeside ? [enabled] : [],
      {
        title: "LAST FIRED (UTC)",
        cell: (rule) => rule.last_fired_at === null ? "never" : formatTime(rule.last_fired_at).slice(0, 16),
        drop: 2,
      },
    ],
    state: "ENABLED",
  }, layout);
}

/** `purser alerts show RULE` */
const alertsShow: Command = {
  name: "alerts show",
  args: [RULES.arg],
  summary: "Show an alert rule and its current spending",
  detail: NAMED_BY,
  options: {},
  examples: [['purser alerts show "Daily limit"', ""]],
  isReadOnly: true,
  run: showRule,
};

async function showRule(ctx: CommandContext): Promise<void> {
  const param = { rule_id: idInPath(await findId(ctx, RULES)) };
  const { api } = await ctx.connect();
  let unknown: string | undefined;
  await printAnswer(ctx, await api.alerts.rules[":rule_id"].$get({ param }), (rule) => {
    unknown = describeUnknown(rule);
    return renderFields({
      "Rule": rule.name,
      "Id": rule.rule_id,
      "Fires": describeRule(rule),
      [rule.threshold_usd === null ? "Used" : "Spent"]: formatMeasured(rule),
      "Counter": rule.counter
        ? `${rule.counter.kind} ${nameOfValue(rule.counter, rule)}, the ${rule.each ? "largest" : "newest"}`
        : undefined,
      "Pace": rule.usd_per_hour ? describePace(rule) : undefined,
      "Since": rule.window_start === null ? undefined : formatMinute(rule.window_start, rule.time_zone),
      "Last fired": rule.last_fired_at === null ? "never" : `${formatTime(rule.last_fired_at)} UTC`,
      "Created": `${formatTime(rule.created_at)} UTC`,
      "Updated": `${formatTime(rule.updated_at)} UTC`,
    }, ctx.layout);
  });
  if (unknown) ctx.warn(escapeText(unknown));
}

/** `purser alerts test RULE` */
const alertsTry: Command = {
  name: "alerts test",
  args: [RULES.arg],
  summary: "Send a test alert of a rule through every channel",
  detail:
    "The test is sent once to every channel, regardless of its min_severity. Exit code 1 if any channel fails.",
  options: {},
  examples: [['purser alerts test "Daily limit"', ""]],
  needsDatabase: true,
  run: tryRule,
};

async function tryRule(ctx: CommandContext): Promise<number> {
  const ruleId = await findId(ctx, RULES);
  const connection = await ctx.connect();
  const url = connection.api.alerts.rules[":rule_id"].test.$url({ param: { rule_id: idInPath(ruleId) } });
  const { postTest } = await import("../channels/post_notification.ts");
  return await postTest<RuleTest>(ctx, connection, url, ({ results }) => results);
}

const EDIT_COMMANDS = editCommands(RULES, {
  add: {
    detail:
      "When spending reaches the threshold, an alert goes to every channel whose min_severity it reaches; see purser " +
      "channels list. While spending stays at or above it, the alert is repeated after each cooldown, unless --repeat says " +
      "otherwise. An hour is the last 60 minutes; days and months are in UTC. Without " +
      `${SUBJECT_NAMES} all calls count; of several, a call must be of all.`,
    examples: [
      [
        'purser alerts add --name "Daily limit" --threshold-usd 10 --threshold-type per_day_usd --severity warning',
        "All agents together",
      ],
      [
        "purser alerts add --each tag:customer --day 50",
        "Each customer, with a name and a severity by default",
      ],
      [
        "purser alerts add --name Runaway --threshold-usd 0.50 --threshold-type per_run_usd --severity critical " +
        "--agent researcher --cooldown 0",
        "Alert on every call once a run has cost $0.50",
      ],
    ],
  },
  set: {
    detail: `Changes only the given fields. ${NAMED_BY} ` +
      "A new threshold, type, subject or repeat resets the windows in which the rule has fired.",
    examples: [
      ['purser alerts set "Daily limit" --threshold-usd 25', ""],
      ["purser alerts set rule_42 --name Nightly --agent none --cooldown 600", "By its id"],
    ],
  },
  enable: {
    detail: "If the threshold is already reached, the rule fires when the next model call is booked.",
    examples: [['purser alerts enable "Daily limit"', ""]],
  },
  disable: {
    detail: NAMED_BY,
    examples: [["purser alerts disable rule_42", ""]],
  },
  remove: {
    summary: "Remove an alert rule; its history stays",
    done: "its history stays",
    examples: [['purser alerts remove "Daily limit"', ""]],
  },
});

/** The commands of alert rules, in the order of the help. */
export const RULE_COMMANDS: readonly Command[] = [
  alertsList,
  alertsShow,
  ...EDIT_COMMANDS,
  alertsTry,
];
